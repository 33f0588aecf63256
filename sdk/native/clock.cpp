#include "clock.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#if TRACEMILL_HAS_TSC
#include <cpuid.h>
#endif

namespace tracemill {

bool g_use_tsc = false;

namespace {

constexpr int kReadTries = 8;
constexpr std::uint64_t kGoodBracketTicks = 400;
constexpr std::size_t kMaxReadings = 65536;

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

#if TRACEMILL_HAS_TSC
bool cpu_has_invariant_tsc() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}

// The kernel falls back to another clock source when it found the counters of the cores to differ.
bool kernel_trusts_tsc() {
#if defined(__linux__)
  FILE* file =
      std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return true;
  char name[64] = {};
  const bool read = std::fgets(name, sizeof name, file) != nullptr;
  std::fclose(file);
  return !read || (std::strncmp(name, "hpet", 4) != 0 && std::strncmp(name, "acpi_pm", 7) != 0);
#else
  return true;
#endif
}
#endif

}  // namespace

void init_clock() {
#if TRACEMILL_HAS_TSC
  static const bool usable = g_use_tsc = cpu_has_invariant_tsc() && kernel_trusts_tsc();
  static_cast<void>(usable);
#endif
}

std::int64_t monotonic_ns() { return read_clock(CLOCK_MONOTONIC); }
std::int64_t realtime_ns() { return read_clock(CLOCK_REALTIME); }
std::int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t process_cpu_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

ClockReading read_clocks() {
  ClockReading best;
  std::uint64_t best_bracket = ~std::uint64_t{0};
  for (int attempt = 0; attempt < kReadTries; ++attempt) {
    const std::uint64_t before = now_ticks();
    const std::int64_t monotonic = monotonic_ns();
    const std::int64_t realtime = realtime_ns();
    const std::uint64_t after = now_ticks();
    if (after - before >= best_bracket) continue;
    best_bracket = after - before;
    // Without a counter ticks are CLOCK_MONOTONIC and must map to themselves.
    best.ticks = g_use_tsc ? before + best_bracket / 3 : static_cast<std::uint64_t>(monotonic);
    best.monotonic_ns = monotonic;
    best.realtime_ns = realtime;
    if (best_bracket <= kGoodBracketTicks) break;
  }
  return best;
}

ClockReading ClockMap::add_reading() {
  ClockReading reading = read_clocks();
  if (!readings_.empty()) {
    const ClockReading& last = readings_.back();
    if (reading.ticks <= last.ticks) {
      readings_.clear();
      was_reset_ = true;
    } else if (reading.monotonic_ns < last.monotonic_ns) {
      reading.monotonic_ns = last.monotonic_ns;
    }
  }
  if (readings_.size() >= kMaxReadings) thin_out();
  readings_.push_back(reading);
  return reading;
}

void ClockMap::thin_out() {
  const std::size_t half = readings_.size() / 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    if (i >= half || i % 2 == 0) readings_[kept++] = readings_[i];
  }
  readings_.resize(kept);
}

std::int64_t ClockMap::to_ns(std::uint64_t ticks) const {
  if (!g_use_tsc || readings_.empty()) return static_cast<std::int64_t>(ticks);
  if (readings_.size() == 1) return readings_.front().monotonic_ns;
  auto next = std::upper_bound(
      readings_.begin(), readings_.end(), ticks,
      [](std::uint64_t value, const ClockReading& reading) { return value < reading.ticks; });
  if (next == readings_.end()) --next;
  if (next == readings_.begin()) ++next;
  const ClockReading& a = *(next - 1);
  const ClockReading& b = *next;
  const double slope = static_cast<double>(b.monotonic_ns - a.monotonic_ns) /
                       static_cast<double>(b.ticks - a.ticks);
  const double offset = static_cast<double>(static_cast<std::int64_t>(ticks - a.ticks)) * slope;
  return a.monotonic_ns + static_cast<std::int64_t>(offset);
}

}  // namespace tracemill
