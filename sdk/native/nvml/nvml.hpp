// Samples the node's GPUs through NVML. One process per node does it (a file lock decides), and only
// one that uses CUDA, so that helper processes never load the library.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "source.hpp"

namespace tracemill::nvml {

struct NvmlOptions {
  std::int64_t interval_ns = 0;  // 0: no sampling
  std::int64_t duration_ns = 0;  // 0: no limit
  std::string lock_path;         // empty: without a lock
};

using Device = void*;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  unsigned value_type;
  int result;
  union {
    double d;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
    signed long long sll;
  } value;
};

// Entry points of libnvidia-ml; all but the first four may be null.
struct Library {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
};

class NvmlSource final : public Source {
 public:
  explicit NvmlSource(NvmlOptions options) : options_(std::move(options)) {}
  ~NvmlSource() override { release(); }

  void start() override;
  void stop() override;
  std::int64_t next_poll_ns() const override { return next_ns_; }
  void poll(std::int64_t now_ns) override;
  void drain(SegmentWriter& writer) override;
  void abandon() override;

 private:
  struct Gpu {
    Device device;
    std::string name, uuid;
    std::uint32_t missing;  // bit per reading that this device does not have
  };
  struct Sample {
    schema::Metric metric;
    std::int64_t index;
    std::int64_t time_ns;
    std::uint64_t value;
  };
  bool hold_lock();
  bool open();
  bool find_devices();
  void take(std::int64_t now_ns);
  void take_device(std::size_t index, std::int64_t now_ns);
  void take_traffic(std::size_t index, std::int64_t now_ns);
  void give_up(const std::string& reason);
  void release();
  std::string meta() const;

  NvmlOptions options_;
  Library library_;
  std::vector<Gpu> gpus_;
  std::vector<Sample> samples_;
  std::int64_t next_ns_ = kNever;
  std::int64_t end_ns_ = kNever;
  std::atomic<int> lock_{-1};
  bool open_ = false;
  bool meta_pending_ = false;
};

}  // namespace tracemill::nvml
