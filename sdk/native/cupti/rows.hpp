// Decoded GPU records waiting to be written, and the blocks made of them.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "block.hpp"
#include "cupti/signatures.hpp"
#include "segment_writer.hpp"

namespace tracemill::cupti {

// Times are CLOCK_MONOTONIC nanoseconds.
struct KernelRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation, signature;
  std::uint64_t graph_node;
};
struct GraphRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation, graph;
};
struct CopyRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation;
  std::uint8_t copy_kind, source_kind, target_kind;
  std::uint32_t peer;
  std::uint64_t bytes;
};
struct SetRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation, memory_kind, value;
  std::uint64_t bytes;
};
struct CallRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation, name_id, api;
};
struct SyncRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t correlation, type, context, stream;
};
struct OverheadRow {
  std::int64_t start_ns, end_ns;
  std::uint32_t kind, thread;
};

// Rows of one stream or thread.
template <typename Row>
using Lanes = std::vector<std::vector<Row>>;

class Rows {
 public:
  explicit Rows(StringTable& strings) : signatures(strings) {}

  // Number of a stream in the lanes of kernels, copies, sets and graphs.
  std::uint32_t track(std::uint32_t device, std::uint32_t context, std::uint32_t stream);
  // Number of a thread in the lanes of calls.
  std::uint32_t thread(std::uint32_t id);

  template <typename Row>
  void add(Lanes<Row>& lanes, std::uint32_t lane, const Row& row) {
    if (lane >= lanes.size()) lanes.resize(lane + 1);
    lanes[lane].push_back(row);
    ++count_;
  }
  void add(const SyncRow& row) { syncs_.push_back(row), ++count_; }
  void add(const OverheadRow& row) { overheads_.push_back(row), ++count_; }
  std::size_t count() const { return count_; }

  // Writes and forgets all rows; what cannot be written is counted by the writer.
  void write(SegmentWriter& writer);

  SignatureTable signatures;
  Lanes<KernelRow> kernels;
  Lanes<GraphRow> graphs;
  Lanes<CopyRow> copies;
  Lanes<SetRow> sets;
  Lanes<CallRow> calls;

 private:
  struct Track {
    std::uint32_t device, context, stream;
    std::uint64_t written_in;
  };
  // The empty block of a kind, with the memory of the last one.
  Columns& block_of(schema::Kind kind, std::size_t columns);
  template <typename Row, typename AddRow>
  void write_lanes(SegmentWriter& writer, Lanes<Row>& lanes, BlockSpec spec, std::size_t columns,
                   AddRow add_row);
  template <typename Row, typename AddRow>
  void write_list(SegmentWriter& writer, std::vector<Row>& rows, BlockSpec spec,
                  std::size_t columns, AddRow add_row);
  bool define_tracks(SegmentWriter& writer, const std::vector<std::uint64_t>& used);
  bool define_signatures(SegmentWriter& writer, const std::vector<std::uint64_t>& used);
  void emit(SegmentWriter& writer, const BlockSpec& spec, const Columns& block);

  std::vector<Track> tracks_;
  std::vector<std::uint32_t> threads_;
  std::vector<SyncRow> syncs_;
  std::vector<OverheadRow> overheads_;
  std::map<schema::Kind, Columns> blocks_;
  std::size_t count_ = 0;
};

}  // namespace tracemill::cupti
