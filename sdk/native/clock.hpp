// Time stamps. On x86 with an invariant time stamp counter an event stores raw ticks and the
// recorder thread converts them; elsewhere an event stores CLOCK_MONOTONIC nanoseconds.
#pragma once
#include <cstdint>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#define TRACEMILL_HAS_TSC 1
#else
#define TRACEMILL_HAS_TSC 0
#endif

namespace tracemill {

extern bool g_use_tsc;

// Decides once whether ticks are the time stamp counter. Call before the first `now_ticks`.
void init_clock();

std::int64_t monotonic_ns();
std::int64_t realtime_ns();
std::int64_t thread_cpu_ns();
std::int64_t process_cpu_ns();

inline std::uint64_t now_ticks() {
#if TRACEMILL_HAS_TSC
  if (g_use_tsc) return __rdtsc();
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

struct ClockReading {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
};

// Reads the clocks together; of several tries the one with the shortest bracket.
ClockReading read_clocks();

// Converts ticks to CLOCK_MONOTONIC by straight lines between readings. The map is continuous and
// never decreasing, so ranges that nest in ticks nest in nanoseconds. Used by one thread.
class ClockMap {
 public:
  // Takes a reading; all ticks converted afterwards must be older than it or shortly after.
  ClockReading add_reading();
  std::int64_t to_ns(std::uint64_t ticks) const;
  // True if the counter once ran backwards (virtual machine moved); older readings were forgotten.
  bool was_reset() const { return was_reset_; }

 private:
  void thin_out();
  std::vector<ClockReading> readings_;
  bool was_reset_ = false;
};

}  // namespace tracemill
