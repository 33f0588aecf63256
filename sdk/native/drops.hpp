// Counters of what could not be recorded, by reason.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "generated/records.hpp"

namespace tracemill {

enum class Drop : unsigned {
  kRingFull, kByteBudget, kStepLimit, kDiskFull, kNameLimit, kUnfinished, kCuptiDropped,
  kGpuBufferFull, kGpuNoTime, kGpuUnfinished, kForeignClock,
};
constexpr std::array<const char*, 11> kDropWords = {
    schema::drop_reason::kRingFull, schema::drop_reason::kByteBudget,
    schema::drop_reason::kStepLimit, schema::drop_reason::kDiskFull,
    schema::drop_reason::kNameLimit, schema::drop_reason::kUnfinished,
    schema::drop_reason::kCuptiDropped, schema::drop_reason::kGpuBufferFull,
    schema::drop_reason::kGpuNoTime, schema::drop_reason::kGpuUnfinished,
    schema::drop_reason::kForeignClock};

class DropCounters {
 public:
  void add(Drop reason, std::uint64_t events = 1) {
    counts_[static_cast<unsigned>(reason)].fetch_add(events, std::memory_order_relaxed);
  }
  std::uint64_t count(unsigned reason) const {
    return counts_[reason].load(std::memory_order_relaxed);
  }
  void clear() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kDropWords.size()> counts_{};
};

}  // namespace tracemill
