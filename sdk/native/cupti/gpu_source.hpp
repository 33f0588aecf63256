// GPU activity through CUPTI. Waits until the script has initialised CUDA, attaches to the libcupti
// of the process and decodes on the recorder thread. Whatever fails is said once and recorded; the
// training goes on without GPU activity.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cupti/decoder.hpp"
#include "cupti/library.hpp"
#include "source.hpp"

namespace tracemill::cupti {

struct GpuOptions {
  bool enabled = false;
  bool graph_nodes = false;
  std::int64_t buffer_bytes = 0;
  std::string cupti_path;  // empty: found in the process
};

class GpuSource final : public Source {
 public:
  GpuSource(GpuOptions options, StringTable& strings, DropCounters& drops);

  void start() override;
  void stop() override;
  std::int64_t next_poll_ns() const override { return next_poll_ns_; }
  void poll(std::int64_t now_ns) override;
  void drain(SegmentWriter& writer) override;
  void abandon() override;

 private:
  enum class State { kOff, kWaiting, kAttached, kEnded };

  void try_attach();
  bool attach();
  bool register_clock(std::uint32_t version);
  void enable_kinds();
  bool enable_kind(std::uint32_t kind, const char* name, bool needed);
  void enable_calls();
  bool enable_calls_by_id(const CallTable& table, Result (*enable)(std::uint32_t, std::uint8_t));
  void detach();
  void calibrate();
  void read_filled();
  void count_drops();
  void give_up(const std::string& reason);
  void trouble(const std::string& text);
  std::string meta() const;

  GpuOptions options_;
  DropCounters& drops_;
  State state_ = State::kOff;
  std::int64_t next_poll_ns_ = kNever;
  std::int64_t attached_ns_ = 0;
  int tries_left_ = 0;
  Driver driver_;
  Library library_;
  Decoder decoder_;
  void* subscriber_ = nullptr;
  std::uint32_t version_ = 0;
  bool own_clock_ = false;
  bool calls_by_id_ = false;
  std::vector<std::uint32_t> enabled_;
  std::vector<std::pair<void*, std::uint32_t>> queues_;  // context and stream of buffers
  std::uint64_t given_up_counted_ = 0;
  std::string reason_;
  std::vector<std::string> troubles_;
  bool meta_pending_ = false;
};

}  // namespace tracemill::cupti
