// Samples CPU, memory, disk and network from /proc. Figures of the node are taken by one process per
// node (a file lock decides, and is free again when its holder dies); figures of the process by each.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "block.hpp"
#include "perf_counters.hpp"
#include "proc_files.hpp"
#include "source.hpp"

namespace tracemill {

struct SamplerOptions {
  std::int64_t interval_ns = 0;  // 0: no sampling
  std::int64_t duration_ns = 0;  // 0: no limit
  std::string lock_path;
  std::function<std::uint64_t()> written_bytes;  // what the recorder has written
};

class Sampler final : public Source {
 public:
  explicit Sampler(SamplerOptions options);
  ~Sampler() override;

  void start() override;
  void stop() override;
  std::int64_t next_poll_ns() const override { return next_ns_; }
  void poll(std::int64_t now_ns) override;
  void drain(SegmentWriter& writer) override;
  void abandon() override;

 private:
  struct Sample {
    schema::Metric metric;
    std::int64_t index;
    std::int64_t time_ns;
    std::uint64_t value;
  };
  void take(std::int64_t now_ns);
  void take_node(std::int64_t now_ns);
  void take_process(std::int64_t now_ns);
  void take_pressure(std::int64_t now_ns);
  void open_counters();
  void add(schema::Metric metric, std::int64_t index, std::int64_t now_ns, std::uint64_t value);
  bool hold_node_lock(std::int64_t now_ns);
  void open_node_files();
  void close_files();

  SamplerOptions options_;
  std::int64_t next_ns_ = kNever;
  std::int64_t end_ns_ = kNever;
  std::int64_t next_lock_try_ns_ = 0;
  std::uint64_t ns_per_tick_ = 10000000;
  std::uint64_t page_bytes_ = 4096;
  std::atomic<int> lock_{-1};
  bool node_files_open_ = false;
  ProcFile stat_, meminfo_, diskstats_, net_dev_, self_stat_, self_statm_, self_io_;
  ProcFile cpu_pressure_, memory_pressure_, io_pressure_;
  PerfCounters counters_;
  bool meta_pending_ = false;
  WholeDisks disks_;
  std::vector<CpuTimes> cores_;
  std::vector<Sample> samples_;
};

}  // namespace tracemill
