// Writes given records with given times through the recorder's encoder and block writer. Serves the
// simulator, benchmarks and tests: what they make is what a recording of the same events would be.
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clock.hpp"
#include "cupti/rows.hpp"
#include "drops.hpp"
#include "segment_writer.hpp"
#include "strings.hpp"

namespace tracemill {

// Values of `columns` columns one after the other, `rows` each.
struct ReplayBatch {
  const std::int64_t* values;
  std::size_t columns;
  std::size_t rows;
  std::int64_t at(std::size_t column, std::size_t row) const { return values[column * rows + row]; }
};

class Replay {
 public:
  // `clock` stands for the machine's clocks until `set_clock`; same calls, same bytes.
  Replay(std::string folder, std::string meta_members, std::int64_t rotate_bytes,
         const ClockReading& clock);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void set_clock(const ClockReading& clock) { clock_ = clock; }
  // Id of a name, 0 if it is refused.
  std::uint32_t name(std::string_view text) { return strings_.intern(text); }
  // Id of a kernel launch; `shape` is grid, block (three each), registers, static and dynamic
  // shared memory.
  std::uint32_t signature(const std::string& name, const std::array<std::uint32_t, 9>& shape);
  // Takes rows of a kind. Empty text if that is possible, else what is wrong.
  std::string add(std::string_view kind, const ReplayBatch& batch);
  // Writes what was added; false if something could not be written.
  bool flush();
  // Writes the last clock reading and the last meta block, and closes the segment.
  bool finish(const std::string& members);
  std::uint64_t written_bytes() const { return writer_.written_bytes(); }
  std::uint32_t segments() const { return writer_.next_segment(); }

 private:
  // Rows of a kind that is written column by column as it is declared.
  struct Table {
    Columns columns;
    const schema::Encoding* encodings;
    schema::Kind kind;
    int string_column;
    std::size_t time_column;
  };
  static constexpr std::size_t kRecordBytes = 256;

  bool write_table(Table& table);

  StringTable strings_;
  DropCounters drops_;
  ClockReading clock_;
  SegmentWriter writer_;
  cupti::Rows rows_;
  std::set<std::string> kernel_names_;  // the signature table keeps the places of names
  Table annotations_;
  Table samples_;
};

}  // namespace tracemill
