#include "proc_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tracemill {

namespace {

constexpr std::size_t kFirstBytes = 16 * 1024;
constexpr std::size_t kMaxBytes = 4u << 20;
constexpr std::uint64_t kSectorBytes = 512;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    line = {};
    return {};
  }
  line.remove_prefix(first);
  const std::size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

bool to_number(std::string_view word, std::uint64_t& number) {
  if (word.empty()) return false;
  number = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool value_of(std::string_view text, std::string_view key, std::uint64_t& value) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!starts_with(line, key) || line.size() == key.size() || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    return to_number(next_word(line), value);
  }
  return false;
}

}  // namespace

bool ProcFile::open(const char* path) {
  close();
  file_.store(::open(path, O_RDONLY | O_CLOEXEC));
  return is_open();
}

void ProcFile::close() {
  const int file = file_.exchange(-1);
  if (file >= 0) ::close(file);
}

std::string_view ProcFile::read() {
  if (!is_open()) return {};
  if (text_.empty()) text_.resize(kFirstBytes);
  std::size_t length = 0;
  for (;;) {
    if (length == text_.size()) {
      if (text_.size() >= kMaxBytes) break;
      text_.resize(text_.size() * 2);
    }
    const ssize_t count = pread(file_.load(std::memory_order_relaxed), text_.data() + length,
                                text_.size() - length, static_cast<off_t>(length));
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  return {text_.data(), length};
}

void parse_stat(std::string_view text, std::vector<CpuTimes>& cores) {
  cores.clear();
  while (starts_with(text, "cpu")) {
    std::string_view line = next_line(text);
    std::string_view name = next_word(line);
    name.remove_prefix(3);
    std::uint64_t core = 0;
    if (!to_number(name, core)) continue;  // the sum over all cores
    // user nice system idle iowait irq softirq steal; guest times are part of user and nice
    CpuTimes times;
    times.core = static_cast<std::int64_t>(core);
    for (int field = 0; field < 8; ++field) {
      std::uint64_t value = 0;
      if (!to_number(next_word(line), value)) break;
      times.total += value;
      if (field == 3) times.idle = value;
      if (field == 4) times.iowait = value;
    }
    cores.push_back(times);
  }
}

bool parse_meminfo(std::string_view text, std::string_view key, std::uint64_t& bytes) {
  if (!value_of(text, key, bytes)) return false;
  bytes *= 1024;
  return true;
}

ByteCounts parse_diskstats(std::string_view text,
                           const std::function<bool(std::string_view name)>& is_disk) {
  ByteCounts sum;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    next_word(line);
    next_word(line);
    const std::string_view name = next_word(line);
    std::uint64_t fields[7] = {};
    bool complete = !name.empty();
    for (std::uint64_t& field : fields) complete = complete && to_number(next_word(line), field);
    if (!complete || !is_disk(name)) continue;
    sum.in += fields[2] * kSectorBytes;
    sum.out += fields[6] * kSectorBytes;
  }
  return sum;
}

ByteCounts parse_net_dev(std::string_view text) {
  ByteCounts sum;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view before = line.substr(0, colon);
    if (next_word(before) == "lo") continue;
    line.remove_prefix(colon + 1);
    std::uint64_t fields[9] = {};
    bool complete = true;
    for (std::uint64_t& field : fields) complete = complete && to_number(next_word(line), field);
    if (!complete) continue;
    sum.in += fields[0];
    sum.out += fields[8];
  }
  return sum;
}

bool parse_threads(std::string_view text, std::uint64_t& threads) {
  const std::size_t name_end = text.rfind(')');  // the name may itself hold ")" and spaces
  if (name_end == std::string_view::npos) return false;
  text.remove_prefix(name_end + 1);
  for (int skipped = 0; skipped < 17; ++skipped) next_word(text);
  return to_number(next_word(text), threads);
}

bool parse_resident_pages(std::string_view text, std::uint64_t& pages) {
  next_word(text);
  return to_number(next_word(text), pages);
}

bool parse_io(std::string_view text, std::string_view key, std::uint64_t& value) {
  return value_of(text, key, value);
}

bool parse_pressure(std::string_view text, std::uint64_t& waited_us) {
  constexpr std::string_view kTotal = "total=";
  std::string_view line = next_line(text);
  if (!starts_with(line, "some")) return false;
  const std::size_t at = line.find(kTotal);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + kTotal.size());
  return to_number(next_word(line), waited_us);
}

bool WholeDisks::contains(std::string_view name) {
  // Stacked and virtual devices would count the same bytes again.
  for (const std::string_view prefix : {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"}) {
    if (starts_with(name, prefix)) return false;
  }
  const std::string key(name);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  std::string path = key;
  std::replace(path.begin(), path.end(), '/', '!');
  const bool whole = access(("/sys/block/" + path).c_str(), F_OK) == 0;
  known_.emplace(key, whole);
  return whole;
}

}  // namespace tracemill
