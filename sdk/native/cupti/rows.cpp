#include "cupti/rows.hpp"

#include <algorithm>

namespace tracemill::cupti {

namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
constexpr std::uint32_t kAllStreams = 0xFFFFFFFF;

template <typename Row>
bool earlier(const Row& a, const Row& b) {
  return a.start_ns < b.start_ns;
}

// Records of a stream come nearly in order; mostly there is nothing to do.
template <typename Row>
void sort_by_start(std::vector<Row>& rows) {
  if (!std::is_sorted(rows.begin(), rows.end(), earlier<Row>)) {
    std::stable_sort(rows.begin(), rows.end(), earlier<Row>);
  }
}

}  // namespace

std::uint32_t Rows::track(std::uint32_t device, std::uint32_t context, std::uint32_t stream) {
  for (std::uint32_t i = 0; i < tracks_.size(); ++i) {
    const Track& known = tracks_[i];
    if (known.stream == stream && known.context == context && known.device == device) return i;
  }
  tracks_.push_back({device, context, stream, kNowhere});
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

std::uint32_t Rows::thread(std::uint32_t id) {
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i] == id) return i;
  }
  threads_.push_back(id);
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

void Rows::emit(SegmentWriter& writer, const BlockSpec& spec, const Columns& block) {
  bool defined = true;
  // Before the definitions: they must stand in the segment that gets the rows.
  if (writer.ensure_open()) {
    const schema::Kind kind = spec.kind;
    const bool on_stream = kind == schema::Kind::kKernels || kind == schema::Kind::kGraphRuns ||
                           kind == schema::Kind::kMemcpys || kind == schema::Kind::kMemsets;
    if (on_stream) defined = define_tracks(writer, block.values[0]);
    if (defined && kind == schema::Kind::kKernels) {
      defined = define_signatures(writer, block.values[1]);
    }
  }
  // Without its definitions a block could not be read; then the disk refuses it too, and counts it.
  static_cast<void>(defined);
  writer.write_columns(spec, block);
}

bool Rows::define_tracks(SegmentWriter& writer, const std::vector<std::uint64_t>& used) {
  Columns missing(schema::kGpuTracksColumns);
  std::vector<std::uint32_t> ids;
  std::uint64_t last = kNowhere;
  for (const std::uint64_t id : used) {
    if (id == last) continue;
    last = id;
    Track& track = tracks_[id];
    if (track.written_in == writer.next_segment()) continue;
    track.written_in = writer.next_segment();
    ids.push_back(static_cast<std::uint32_t>(id));
    missing.add(id, track.device, track.context, track.stream);
  }
  if (ids.empty()) return true;
  BlockSpec spec{schema::Kind::kGpuTracks, schema::kGpuTracksEncodings, 0, 0};
  if (writer.write_columns(spec, missing)) return true;
  for (const std::uint32_t id : ids) tracks_[id].written_in = kNowhere;
  return false;
}

bool Rows::define_signatures(SegmentWriter& writer, const std::vector<std::uint64_t>& used) {
  Columns missing(schema::kGpuSignaturesColumns);
  for (const std::uint64_t value : used) {
    const auto id = static_cast<std::uint32_t>(value);
    std::uint64_t& written_in = signatures.written_in(id);
    if (written_in == writer.next_segment()) continue;
    written_in = writer.next_segment();
    const Signature& s = signatures.of(id);
    const auto& g = s.grid_and_block;
    missing.add(id, s.name_id, g[0], g[1], g[2], g[3], g[4], g[5], s.registers, s.static_shared,
                s.dynamic_shared);
  }
  if (missing.rows() == 0) return true;
  BlockSpec spec{schema::Kind::kGpuSignatures, schema::kGpuSignaturesEncodings, 0, 0};
  spec.string_column = 1;
  if (writer.write_columns(spec, missing)) return true;
  for (const std::uint64_t id : missing.values[0]) {
    signatures.written_in(static_cast<std::uint32_t>(id)) = kNowhere;
  }
  return false;
}

Columns& Rows::block_of(schema::Kind kind, std::size_t columns) {
  Columns& block = blocks_.try_emplace(kind, columns).first->second;
  block.clear();
  return block;
}

template <typename Row, typename AddRow>
void Rows::write_lanes(SegmentWriter& writer, Lanes<Row>& lanes, BlockSpec spec,
                       std::size_t columns, AddRow add_row) {
  Columns& block = block_of(spec.kind, columns);
  std::int64_t previous_end_ns = 0;
  spec.rows_are_events = true;
  const auto flush = [&] {
    if (block.rows() == 0) return;
    emit(writer, spec, block);
    block.clear();
    previous_end_ns = 0;
    signatures.forget_durations();
  };
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    sort_by_start(lanes[lane]);
    for (const Row& row : lanes[lane]) {
      if (block.rows() == 0) {
        spec.first_ns = row.start_ns;
        spec.last_ns = row.end_ns;
      }
      spec.first_ns = std::min(spec.first_ns, row.start_ns);
      spec.last_ns = std::max(spec.last_ns, row.end_ns);
      add_row(block, lane, row, row.start_ns - previous_end_ns, row.end_ns - row.start_ns);
      previous_end_ns = row.end_ns;
      if (block.rows() == schema::kMaxBlockRows) flush();
    }
    lanes[lane].clear();
  }
  flush();
}

template <typename Row, typename AddRow>
void Rows::write_list(SegmentWriter& writer, std::vector<Row>& rows, BlockSpec spec,
                      std::size_t columns, AddRow add_row) {
  sort_by_start(rows);
  spec.rows_are_events = true;
  Columns& block = block_of(spec.kind, columns);
  for (std::size_t first = 0; first < rows.size(); first += schema::kMaxBlockRows) {
    const std::size_t end = std::min(rows.size(), first + schema::kMaxBlockRows);
    block.clear();
    spec.first_ns = rows[first].start_ns;
    spec.last_ns = rows[first].end_ns;
    for (std::size_t i = first; i < end; ++i) {
      add_row(block, rows[i]);
      spec.last_ns = std::max(spec.last_ns, rows[i].end_ns);
    }
    writer.write_columns(spec, block);
  }
  rows.clear();
}

void Rows::write(SegmentWriter& writer) {
  using schema::Kind;
  BlockSpec spec{Kind::kApiCalls, schema::kApiCallsEncodings, 0, 0};
  spec.string_column = 2;
  write_lanes(writer, calls, spec, schema::kApiCallsColumns,
              [this](Columns& block, std::uint32_t lane, const CallRow& row, std::int64_t gap_ns,
                     std::int64_t dur_ns) {
                block.add(threads_[lane], row.api, row.name_id, row.correlation, gap_ns, dur_ns);
              });
  spec = {Kind::kKernels, schema::kKernelsEncodings, 0, 0};
  write_lanes(writer, kernels, spec, schema::kKernelsColumns,
              [this](Columns& block, std::uint32_t lane, const KernelRow& row, std::int64_t gap_ns,
                     std::int64_t dur_ns) {
                std::int64_t& last_ns = signatures.last_duration(row.signature);
                block.add(lane, row.signature, row.correlation, gap_ns, dur_ns - last_ns,
                          row.graph_node);
                last_ns = dur_ns;
              });
  spec = {Kind::kGraphRuns, schema::kGraphRunsEncodings, 0, 0};
  write_lanes(writer, graphs, spec, schema::kGraphRunsColumns,
              [](Columns& block, std::uint32_t lane, const GraphRow& row, std::int64_t gap_ns,
                 std::int64_t dur_ns) {
                block.add(lane, row.graph, row.correlation, gap_ns, dur_ns);
              });
  spec = {Kind::kMemcpys, schema::kMemcpysEncodings, 0, 0};
  write_lanes(writer, copies, spec, schema::kMemcpysColumns,
              [](Columns& block, std::uint32_t lane, const CopyRow& row, std::int64_t gap_ns,
                 std::int64_t dur_ns) {
                block.add(lane, row.copy_kind, row.source_kind, row.target_kind, row.peer,
                          row.bytes, row.correlation, gap_ns, dur_ns);
              });
  spec = {Kind::kMemsets, schema::kMemsetsEncodings, 0, 0};
  write_lanes(writer, sets, spec, schema::kMemsetsColumns,
              [](Columns& block, std::uint32_t lane, const SetRow& row, std::int64_t gap_ns,
                 std::int64_t dur_ns) {
                block.add(lane, row.memory_kind, row.value, row.bytes, row.correlation, gap_ns,
                          dur_ns);
              });
  spec = {Kind::kGpuSyncs, schema::kGpuSyncsEncodings, 0, 0};
  write_list(writer, syncs_, spec, schema::kGpuSyncsColumns,
             [](Columns& block, const SyncRow& row) {
               const std::int64_t stream =
                   row.stream == kAllStreams ? -1 : static_cast<std::int64_t>(row.stream);
               block.add(row.type, row.context, stream, row.correlation, row.start_ns,
                         row.end_ns - row.start_ns);
             });
  spec = {Kind::kGpuOverheads, schema::kGpuOverheadsEncodings, 0, 0};
  write_list(writer, overheads_, spec, schema::kGpuOverheadsColumns,
             [](Columns& block, const OverheadRow& row) {
               block.add(row.kind, row.thread, row.start_ns, row.end_ns - row.start_ns);
             });
  count_ = 0;
  signatures.clear_if_full();
}

}  // namespace tracemill::cupti
