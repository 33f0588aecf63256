// Turns activity records into rows.
#pragma once
#include <cstdint>

#include "cupti/buffers.hpp"
#include "cupti/calls.hpp"
#include "cupti/library.hpp"
#include "cupti/rows.hpp"
#include "drops.hpp"

namespace tracemill::cupti {

class Decoder {
 public:
  Decoder(StringTable& strings, DropCounters& drops) : rows(strings), strings_(strings), drops_(drops) {}

  // Reads all records of a buffer.
  void decode(const Library& library, BufferPool& pool, const FilledBuffer& filled);

  StringTable& strings() { return strings_; }

  Rows rows;
  CallTable runtime_calls;
  CallTable driver_calls;
  std::int64_t offset_ns = 0;     // added to CUPTI's times to give CLOCK_MONOTONIC
  std::int64_t earliest_ns = 0;   // times outside these two are of another clock
  std::int64_t latest_ns = 0;

 private:
  void decode_record(const std::uint8_t* record);
  bool times(std::uint64_t start, std::uint64_t end, std::int64_t& start_ns, std::int64_t& end_ns);
  std::uint32_t track(std::uint32_t device, std::uint32_t context, std::uint32_t stream);
  void on_kernel(const std::uint8_t* record);
  void on_call(const std::uint8_t* record, const CallTable& table, std::uint32_t api);
  void on_copy(const std::uint8_t* record, bool peer);
  void on_set(const std::uint8_t* record);
  void on_graph(const std::uint8_t* record);
  void on_sync(const std::uint8_t* record);
  void on_overhead(const std::uint8_t* record);

  StringTable& strings_;
  DropCounters& drops_;
  std::uint32_t last_device_ = ~0u, last_context_ = 0, last_stream_ = 0, last_track_ = 0;
};

}  // namespace tracemill::cupti
