// Hardware counters of the cores through perf_event_open, under the names the makers of the processors
// gave them. What a machine does not have is said with its reason; nothing here ever fails.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generated/records.hpp"

namespace tracemill {

struct CpuModel {
  enum class Maker { kOther, kIntel, kAmd } maker = Maker::kOther;
  unsigned family = 0;
  unsigned model = 0;
};

// From the text of /proc/cpuinfo.
CpuModel parse_cpu_model(std::string_view cpuinfo);
CpuModel this_cpu();

// A counter and how perf_event_open is asked for it.
struct CounterSpec {
  schema::Metric metric;
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};

// Counters of a model. Those that it has by another name or not at all are left out, with a reason
// in `missing` (pairs of name and reason).
using Missing = std::vector<std::pair<std::string, std::string>>;
std::vector<CounterSpec> counters_of(const CpuModel& model, Missing& missing);

// Why perf_event_open refused.
std::string counter_refusal(int error);

class PerfCounters {
 public:
  PerfCounters() = default;
  ~PerfCounters() { close(); }
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  // Opens every counter on every core, none if that takes too many of the process's files.
  void open(const std::vector<CounterSpec>& specs, unsigned cores);
  // Calls `take(metric, core, value)` for each; values only grow, and are scaled up where the kernel
  // had to share the hardware among several counters.
  template <typename Take>
  void read(Take&& take) {
    for (const Open& counter : open_) {
      std::uint64_t value = 0;
      if (read_one(counter.file, value)) take(counter.metric, counter.core, value);
    }
  }
  void close();
  Missing& missing() { return missing_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Open {
    schema::Metric metric;
    std::int64_t core;
    int file;
  };
  static bool read_one(int file, std::uint64_t& value);

  std::vector<Open> open_;
  std::vector<std::string> names_;  // of the counters that count
  Missing missing_;
};

// JSON object: names that are recorded, and the reason for each that is not.
std::string counters_json(PerfCounters& counters);

}  // namespace tracemill
