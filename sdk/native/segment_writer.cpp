#include "segment_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "clock.hpp"
#include "codec.hpp"
#include "notices.hpp"

namespace tracemill {

namespace {

// Kept free below the budget for the blocks that say how the recording ended.
constexpr std::int64_t kReserveBytes = 16 * 1024;

std::string segment_name(const std::string& folder, std::uint32_t segment) {
  char name[32];
  std::snprintf(name, sizeof name, "/%06u.tmraw", segment);
  return folder + name;
}

}  // namespace

SegmentWriter::SegmentWriter(StringTable& strings, DropCounters& drops, WriterOptions options)
    : strings_(strings),
      drops_(drops),
      options_(std::move(options)),
      next_segment_(options_.first_segment),
      string_written_(kMaxNames + 1, false) {
  for (unsigned i = 0; i < kDropWords.size(); ++i) drops_written_[i] = drops_.count(i);
}

SegmentWriter::~SegmentWriter() { close(); }

void SegmentWriter::set_payload(const std::string& json) {
  payload_.clear();
  payload_.bytes.assign(json.begin(), json.end());
}

bool SegmentWriter::make_folder() {
  for (std::size_t end = options_.folder.find('/', 1);; end = options_.folder.find('/', end + 1)) {
    const std::string part = options_.folder.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST && errno != EISDIR) {
      // A parent may exist where making folders is not allowed; only the last one decides.
      const int error = errno;
      struct stat info {};
      if (stat(part.c_str(), &info) != 0) {
        errno = error;
        return false;
      }
    }
    if (end == std::string::npos) return true;
  }
}

bool SegmentWriter::ensure_open() {
  if (refused_ && monotonic_ns() < retry_at_ns_) return false;
  if (file_.load() < 0) {
    if (!make_folder()) {
      refuse(errno);
      return false;
    }
    int file = -1;
    do {
      const std::string name = segment_name(options_.folder, next_segment_);
      file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EEXIST && ++next_segment_ != 0);
    if (file < 0) {
      refuse(errno);
      return false;
    }
    file_.store(file);
    ++next_segment_;
    opened_ns_ = monotonic_ns();
    segment_bytes_ = 0;
    sequence_ = 0;
    header_written_ = false;
    string_written_.assign(string_written_.size(), false);
  }
  return header_written_ || write_header();
}

bool SegmentWriter::write_header() {
  char head[160];
  std::snprintf(head, sizeof head, "{\"format_version\":%u,\"segment\":%u,\"codec\":\"%s\",",
                schema::kRawFormatVersion, next_segment_ - 1,
                available_codec() == schema::Codec::kZstd ? "zstd" : "none");
  const std::string json = head + options_.meta_members + "}";
  set_payload(json);
  const std::int64_t now = now_ns();
  if (!write_block(schema::Kind::kMeta, 1, now, now, true)) return false;
  header_written_ = true;
  return write_clock();
}

void SegmentWriter::rotate_if_due() {
  if (file_.load() < 0 || !header_written_ || budget_used_up_) return;
  const bool too_big = options_.rotate_bytes > 0 && segment_bytes_ >= options_.rotate_bytes;
  const bool too_old =
      options_.rotate_ns > 0 && monotonic_ns() - opened_ns_ >= options_.rotate_ns;
  if (too_big || too_old) close();
}

bool SegmentWriter::write_strings(const std::vector<std::uint64_t>& ids, bool within_reserve) {
  std::vector<std::uint64_t> missing;
  payload_.clear();
  for (const std::uint64_t id : ids) {
    if (id >= string_written_.size() || string_written_[id]) continue;
    string_written_[id] = true;
    missing.push_back(id);
    const std::string_view text = strings_.text(static_cast<std::uint32_t>(id));
    append_le(payload_.bytes, static_cast<std::uint32_t>(id));
    append_le(payload_.bytes, static_cast<std::uint32_t>(text.size()));
    payload_.bytes.insert(payload_.bytes.end(), text.begin(), text.end());
  }
  if (missing.empty()) return true;
  const std::int64_t now = now_ns();
  const bool written = write_block(schema::Kind::kStrings, static_cast<std::uint32_t>(missing.size()),
                                   now, now, within_reserve);
  if (!written) {
    for (const std::uint64_t id : missing) string_written_[id] = false;
  }
  return written;
}

bool SegmentWriter::write_columns(const BlockSpec& spec, const Columns& columns) {
  bool written = ensure_open();
  if (written && spec.string_column >= 0) {
    const auto& ids = columns.values[static_cast<std::size_t>(spec.string_column)];
    written = write_strings(ids, spec.within_reserve);
  }
  if (written) {
    payload_.clear();
    encode_columns(columns, spec.encodings, payload_);
    written = write_block(spec.kind, static_cast<std::uint32_t>(columns.rows()), spec.first_ns,
                          spec.last_ns, spec.within_reserve);
  }
  if (!written && spec.rows_are_events) {
    drops_.add(budget_used_up_ ? Drop::kByteBudget : Drop::kDiskFull, columns.rows());
  }
  return written;
}

bool SegmentWriter::write_meta(const std::string& members) {
  if (!ensure_open()) return false;
  const std::string json = "{" + members + "}";
  set_payload(json);
  const std::int64_t now = now_ns();
  return write_block(schema::Kind::kMeta, 1, now, now, true);
}

std::int64_t SegmentWriter::now_ns() const {
  return options_.replayed_clock != nullptr ? options_.replayed_clock->monotonic_ns
                                            : monotonic_ns();
}

ClockReading SegmentWriter::clock() const {
  return options_.replayed_clock != nullptr ? *options_.replayed_clock : read_clocks();
}

bool SegmentWriter::write_clock() {
  const ClockReading reading = clock();
  Columns row(schema::kClockColumns);
  row.add(reading.monotonic_ns, reading.realtime_ns, g_use_tsc ? reading.ticks : 0);
  payload_.clear();
  encode_columns(row, schema::kClockEncodings, payload_);
  return write_block(schema::Kind::kClock, 1, reading.monotonic_ns, reading.monotonic_ns, true);
}

void SegmentWriter::write_drops() {
  Columns rows(schema::kDropsColumns);
  auto now_written = drops_written_;
  for (unsigned i = 0; i < kDropWords.size(); ++i) {
    const std::uint64_t count = drops_.count(i);
    if (count == drops_written_[i]) continue;
    const std::uint32_t id = strings_.intern(kDropWords[i]);
    rows.add(id, count - drops_written_[i]);
    now_written[i] = count;
  }
  if (rows.rows() == 0) return;
  const std::int64_t now = now_ns();
  BlockSpec spec{schema::Kind::kDrops, schema::kDropsEncodings, now, now};
  spec.string_column = 0;
  spec.within_reserve = true;
  if (write_columns(spec, rows)) drops_written_ = now_written;
}

bool SegmentWriter::fits_budget(std::size_t bytes, bool within_reserve) {
  if (options_.budget_bytes <= 0) return true;
  const std::int64_t reserve = within_reserve ? 0 : kReserveBytes;
  const auto written = static_cast<std::int64_t>(written_bytes());
  if (written + static_cast<std::int64_t>(bytes) <= options_.budget_bytes - reserve) return true;
  budget_used_up_ = true;
  return false;
}

bool SegmentWriter::write_block(schema::Kind kind, std::uint32_t rows, std::int64_t first_ns,
                                std::int64_t last_ns, bool within_reserve) {
  seal_block({kind, rows, sequence_, first_ns, last_ns}, payload_, block_);
  if (budget_used_up_ && !within_reserve) return false;
  if (!fits_budget(block_.size(), within_reserve) || !put(block_)) return false;
  ++sequence_;
  return true;
}

bool SegmentWriter::put(const std::vector<std::uint8_t>& block) {
  std::size_t done = 0;
  int error = 0;
  while (done < block.size()) {
    const ssize_t count = ::write(file_.load(), block.data() + done, block.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      error = count == 0 ? EIO : errno;
      break;
    }
  }
  if (done == block.size()) {
    refused_ = false;
    segment_bytes_ += static_cast<std::int64_t>(done);
    written_bytes_.fetch_add(done, std::memory_order_relaxed);
    return true;
  }
  // A cut block would hide everything behind it: take it back, or go on in a new segment.
  if (done > 0 && ftruncate(file_.load(), segment_bytes_) != 0) close();
  refuse(error);
  return false;
}

void SegmentWriter::refuse(int error) {
  refused_ = true;
  retry_at_ns_ = monotonic_ns() + options_.retry_ns;
  notices().add("cannot write to " + options_.folder + ": " + std::strerror(error) +
                    "; events are counted as dropped until it works again",
                true);
}

void SegmentWriter::close() {
  const int file = file_.exchange(-1);
  if (file >= 0) ::close(file);
}

void SegmentWriter::abandon() { close(); }

}  // namespace tracemill
