#include "replay.hpp"

#include <algorithm>
#include <cstring>

#include "cupti/records.hpp"

namespace tracemill {

namespace {

WriterOptions writer_options(std::string folder, std::string meta_members,
                             std::int64_t rotate_bytes, const ClockReading* clock) {
  WriterOptions options;
  options.folder = std::move(folder);
  options.meta_members = std::move(meta_members);
  options.rotate_bytes = rotate_bytes;
  options.replayed_clock = clock;
  return options;
}

struct Shape {
  std::string_view kind;
  std::size_t columns;
};

// Columns of the kinds that `cupti::Rows` puts into blocks.
constexpr Shape kKernels{"kernels", 8};   // device context stream start end correlation signature node
constexpr Shape kCopies{"memcpys", 11};   // device … correlation, kind, source, target, peer, bytes
constexpr Shape kSets{"memsets", 9};      // device … correlation, memory kind, value, bytes
constexpr Shape kCalls{"api_calls", 6};   // thread start end correlation name api
constexpr Shape kSyncs{"gpu_syncs", 6};   // type context stream correlation start end

template <typename Value>
Value as(std::int64_t value) {
  return static_cast<Value>(value);
}

}  // namespace

Replay::Replay(std::string folder, std::string meta_members, std::int64_t rotate_bytes,
               const ClockReading& clock)
    : clock_(clock),
      writer_(strings_, drops_,
              writer_options(std::move(folder), std::move(meta_members), rotate_bytes, &clock_)),
      rows_(strings_),
      annotations_{Columns(schema::kAnnotationsColumns), schema::kAnnotationsEncodings,
                   schema::Kind::kAnnotations, 1, 4},
      samples_{Columns(schema::kSamplesColumns), schema::kSamplesEncodings,
               schema::Kind::kSamples, -1, 2} {}

std::uint32_t Replay::signature(const std::string& name,
                                const std::array<std::uint32_t, 9>& shape) {
  using namespace cupti::kernel;
  std::array<std::uint8_t, kRecordBytes> record{};
  const auto put = [&record](std::size_t offset, const auto& value) {
    std::memcpy(record.data() + offset, &value, sizeof value);
  };
  const char* text = kernel_names_.insert(name).first->c_str();
  put(kName.offset, text);
  for (std::size_t i = 0; i < 6; ++i) put(kGridAndBlock + 4 * i, shape[i]);
  put(kRegisters.offset, static_cast<std::uint16_t>(shape[6]));
  put(kStaticShared.offset, shape[7]);
  put(kDynamicShared.offset, shape[8]);
  return rows_.signatures.intern(record.data());
}

std::string Replay::add(std::string_view kind, const ReplayBatch& b) {
  const auto wants = [&](const Shape& shape) { return kind == shape.kind && b.columns == shape.columns; };
  const auto track = [&](std::size_t row) {
    return rows_.track(as<std::uint32_t>(b.at(0, row)), as<std::uint32_t>(b.at(1, row)),
                       as<std::uint32_t>(b.at(2, row)));
  };
  for (Table* table : {&annotations_, &samples_}) {
    const bool is_it = kind == (table == &annotations_ ? "annotations" : "samples");
    if (!is_it || b.columns != table->columns.values.size()) continue;
    for (std::size_t c = 0; c < b.columns; ++c) {
      auto& column = table->columns.values[c];
      for (std::size_t row = 0; row < b.rows; ++row) {
        column.push_back(static_cast<std::uint64_t>(b.at(c, row)));
      }
    }
    return "";
  }
  if (wants(kKernels)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      rows_.add(rows_.kernels, track(i),
                cupti::KernelRow{b.at(3, i), b.at(4, i), as<std::uint32_t>(b.at(5, i)),
                                 as<std::uint32_t>(b.at(6, i)), as<std::uint64_t>(b.at(7, i))});
    }
  } else if (wants(kCopies)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      rows_.add(rows_.copies, track(i),
                cupti::CopyRow{b.at(3, i), b.at(4, i), as<std::uint32_t>(b.at(5, i)),
                               as<std::uint8_t>(b.at(6, i)), as<std::uint8_t>(b.at(7, i)),
                               as<std::uint8_t>(b.at(8, i)), as<std::uint32_t>(b.at(9, i)),
                               as<std::uint64_t>(b.at(10, i))});
    }
  } else if (wants(kSets)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      rows_.add(rows_.sets, track(i),
                cupti::SetRow{b.at(3, i), b.at(4, i), as<std::uint32_t>(b.at(5, i)),
                              as<std::uint32_t>(b.at(6, i)), as<std::uint32_t>(b.at(7, i)),
                              as<std::uint64_t>(b.at(8, i))});
    }
  } else if (wants(kCalls)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      rows_.add(rows_.calls, rows_.thread(as<std::uint32_t>(b.at(0, i))),
                cupti::CallRow{b.at(1, i), b.at(2, i), as<std::uint32_t>(b.at(3, i)),
                               as<std::uint32_t>(b.at(4, i)), as<std::uint32_t>(b.at(5, i))});
    }
  } else if (wants(kSyncs)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      rows_.add(cupti::SyncRow{b.at(4, i), b.at(5, i), as<std::uint32_t>(b.at(3, i)),
                               as<std::uint32_t>(b.at(0, i)), as<std::uint32_t>(b.at(1, i)),
                               as<std::uint32_t>(b.at(2, i))});
    }
  } else {
    return "no kind " + std::string(kind) + " with " + std::to_string(b.columns) + " columns";
  }
  return "";
}

bool Replay::write_table(Table& table) {
  bool written = true;
  const std::size_t rows = table.columns.rows();
  Columns block(table.columns.values.size());
  for (std::size_t first = 0; first < rows; first += schema::kMaxBlockRows) {
    const std::size_t end = std::min<std::size_t>(rows, first + schema::kMaxBlockRows);
    for (std::size_t c = 0; c < block.values.size(); ++c) {
      const auto& values = table.columns.values[c];
      block.values[c].assign(values.begin() + static_cast<std::ptrdiff_t>(first),
                             values.begin() + static_cast<std::ptrdiff_t>(end));
    }
    const auto& times = block.values[table.time_column];
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    BlockSpec spec{table.kind, table.encodings, static_cast<std::int64_t>(*low),
                   static_cast<std::int64_t>(*high)};
    spec.string_column = table.string_column;
    spec.rows_are_events = true;
    written = writer_.write_columns(spec, block) && written;
  }
  table.columns.clear();
  return written;
}

bool Replay::flush() {
  writer_.rotate_if_due();
  const bool tables_written = write_table(annotations_) && write_table(samples_);
  rows_.write(writer_);
  std::uint64_t lost = 0;
  for (unsigned i = 0; i < kDropWords.size(); ++i) lost += drops_.count(i);
  return tables_written && lost == 0;
}

bool Replay::finish(const std::string& members) {
  const bool flushed = flush();
  const bool ended = writer_.ensure_open() && writer_.write_clock() && writer_.write_meta(members);
  writer_.close();
  return flushed && ended;
}

}  // namespace tracemill
