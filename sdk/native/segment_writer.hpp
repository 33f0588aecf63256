// Writes blocks to the segment files of one session: strings before their first use, rotation, byte
// budget, and what happens when the disk refuses.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "clock.hpp"
#include "drops.hpp"
#include "strings.hpp"

namespace tracemill {

struct WriterOptions {
  std::string folder;        // the process's folder; made if it is missing
  std::string meta_members;  // members of the first JSON object, without braces
  std::uint32_t first_segment = 0;
  std::int64_t rotate_bytes = 0;
  std::int64_t rotate_ns = 0;
  std::int64_t budget_bytes = 0;  // what this session may still write; 0 for no limit
  std::int64_t retry_ns = 0;      // how long to wait after the disk refused
  // Stands for the machine's clocks in what is written (`Replay`).
  const ClockReading* replayed_clock = nullptr;
};

struct BlockSpec {
  schema::Kind kind;
  const schema::Encoding* encodings;
  std::int64_t first_ns;
  std::int64_t last_ns;
  int string_column = -1;        // the column of string ids, -1 without one
  bool rows_are_events = false;  // count the rows as dropped if the block cannot be written
  bool within_reserve = false;   // a small block of the recorder itself: may use the reserve
};

class SegmentWriter {
 public:
  SegmentWriter(StringTable& strings, DropCounters& drops, WriterOptions options);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Opens the segment if none is open. False if it cannot be written now.
  bool ensure_open();
  // Closes the segment if it is due; the next write opens the next one.
  void rotate_if_due();
  // Writes a columnar block, and before it the names it uses unless they already stand in the
  // segment. False if it could not be written; events are then counted as dropped.
  bool write_columns(const BlockSpec& spec, const Columns& columns);
  bool write_meta(const std::string& members);
  bool write_clock();
  // Writes what was counted since the last successful call.
  void write_drops();
  // Tries again at once although the disk refused a moment ago (at the end of a recording).
  void retry_now() { retry_at_ns_ = 0; }
  void close();
  // Closes the inherited descriptor in a forked child.
  void abandon();

  bool budget_used_up() const { return budget_used_up_; }
  std::uint64_t written_bytes() const { return written_bytes_.load(std::memory_order_relaxed); }
  std::uint32_t next_segment() const { return next_segment_.load(std::memory_order_relaxed); }

 private:
  bool make_folder();
  void set_payload(const std::string& json);
  bool write_header();
  bool write_block(schema::Kind kind, std::uint32_t rows, std::int64_t first_ns,
                   std::int64_t last_ns, bool within_reserve);
  bool write_strings(const std::vector<std::uint64_t>& ids, bool within_reserve);
  std::int64_t now_ns() const;
  ClockReading clock() const;
  bool fits_budget(std::size_t bytes, bool within_reserve);
  bool put(const std::vector<std::uint8_t>& block);
  void refuse(int error);

  StringTable& strings_;
  DropCounters& drops_;
  WriterOptions options_;
  std::atomic<int> file_{-1};
  bool header_written_ = false;
  bool refused_ = false;
  bool budget_used_up_ = false;
  std::int64_t retry_at_ns_ = 0;
  std::int64_t opened_ns_ = 0;
  std::int64_t segment_bytes_ = 0;
  std::uint32_t sequence_ = 0;
  std::atomic<std::uint32_t> next_segment_;
  std::atomic<std::uint64_t> written_bytes_{0};
  std::vector<bool> string_written_;
  std::array<std::uint64_t, kDropWords.size()> drops_written_{};
  Payload payload_;
  std::vector<std::uint8_t> block_;
};

}  // namespace tracemill
