#include "cupti/decoder.hpp"

namespace tracemill::cupti {

void Decoder::decode(const Library& library, BufferPool& pool, const FilledBuffer& filled) {
  std::uint8_t* record = nullptr;
  const std::uint8_t* previous = nullptr;
  while (library.next_record(filled.bytes, filled.valid_bytes, &record) == kSuccess &&
         record != nullptr) {
    if (previous != nullptr) {
      const std::uint32_t kind = kKind(previous);
      const auto bytes = static_cast<std::uint32_t>(record - previous);
      if (kind < kActivityKinds && pool.size_of(kind) != bytes) pool.learn_size(kind, bytes);
    }
    previous = record;
    decode_record(record);
  }
}

void Decoder::decode_record(const std::uint8_t* record) {
  switch (kKind(record)) {
    case kConcurrentKernelKind: return on_kernel(record);
    case kRuntimeKind: return on_call(record, runtime_calls, 0);
    case kDriverKind: return on_call(record, driver_calls, 1);
    case kMemcpyKind: return on_copy(record, false);
    case kPeerMemcpyKind: return on_copy(record, true);
    case kMemsetKind: return on_set(record);
    case kGraphTraceKind: return on_graph(record);
    case kSynchronizationKind: return on_sync(record);
    case kOverheadKind: return on_overhead(record);
    default: return;  // a kind that another tool enabled
  }
}

bool Decoder::times(std::uint64_t start, std::uint64_t end, std::int64_t& start_ns,
                    std::int64_t& end_ns) {
  if (start != 0 && end == 0) {
    drops_.add(Drop::kGpuUnfinished);
    return false;
  }
  if (start == 0 || end < start) {
    drops_.add(Drop::kGpuNoTime);
    return false;
  }
  start_ns = static_cast<std::int64_t>(start) + offset_ns;
  end_ns = static_cast<std::int64_t>(end) + offset_ns;
  if (start_ns >= earliest_ns && end_ns <= latest_ns) return true;
  drops_.add(Drop::kForeignClock);
  return false;
}

std::uint32_t Decoder::track(std::uint32_t device, std::uint32_t context, std::uint32_t stream) {
  if (stream != last_stream_ || context != last_context_ || device != last_device_) {
    last_track_ = rows.track(device, context, stream);
    last_device_ = device;
    last_context_ = context;
    last_stream_ = stream;
  }
  return last_track_;
}

void Decoder::on_kernel(const std::uint8_t* record) {
  KernelRow row;
  if (!times(kernel::kStart(record), kernel::kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = kernel::kCorrelation(record);
  row.signature = rows.signatures.intern(record);
  row.graph_node = kernel::kGraphNode(record);
  rows.add(rows.kernels,
           track(kernel::kDevice(record), kernel::kContext(record), kernel::kStream(record)), row);
}

void Decoder::on_call(const std::uint8_t* record, const CallTable& table, std::uint32_t api_id) {
  CallRow row;
  row.name_id = table.name_id(api::kCallbackId(record));
  if (row.name_id == 0) return;
  if (!times(api::kStart(record), api::kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = api::kCorrelation(record);
  row.api = api_id;
  rows.add(rows.calls, rows.thread(api::kThread(record)), row);
}

void Decoder::on_copy(const std::uint8_t* record, bool peer) {
  using namespace memcpy_record;
  CopyRow row;
  if (!times(kStart(record), kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = peer ? peer_memcpy::kCorrelation(record) : kCorrelation(record);
  row.copy_kind = kCopyKind(record);
  row.source_kind = kSourceKind(record);
  row.target_kind = kTargetKind(record);
  row.peer = peer ? peer_memcpy::kTargetDevice(record) + 1 : 0;
  row.bytes = kBytes(record);
  rows.add(rows.copies, track(kDevice(record), kContext(record), kStream(record)), row);
}

void Decoder::on_set(const std::uint8_t* record) {
  using namespace memset_record;
  SetRow row;
  if (!times(kStart(record), kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = kCorrelation(record);
  row.memory_kind = kMemoryKind(record);
  row.value = kValue(record);
  row.bytes = kBytes(record);
  rows.add(rows.sets, track(kDevice(record), kContext(record), kStream(record)), row);
}

void Decoder::on_graph(const std::uint8_t* record) {
  using namespace graph_trace;
  GraphRow row;
  if (!times(kStart(record), kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = kCorrelation(record);
  row.graph = kGraph(record);
  rows.add(rows.graphs, track(kDevice(record), kContext(record), kStream(record)), row);
}

void Decoder::on_sync(const std::uint8_t* record) {
  using namespace synchronization;
  SyncRow row;
  if (!times(kStart(record), kEnd(record), row.start_ns, row.end_ns)) return;
  row.correlation = kCorrelation(record);
  row.type = kType(record);
  row.context = kContext(record);
  row.stream = kStream(record);
  rows.add(row);
}

void Decoder::on_overhead(const std::uint8_t* record) {
  using namespace overhead;
  OverheadRow row;
  if (!times(kStart(record), kEnd(record), row.start_ns, row.end_ns)) return;
  row.kind = kCause(record);
  row.thread = kObjectKind(record) == kObjectIsThread ? kThread(record) : 0;
  rows.add(row);
}

}  // namespace tracemill::cupti
