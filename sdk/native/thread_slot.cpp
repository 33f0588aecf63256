#include "thread_slot.hpp"

namespace tracemill {

namespace {
constexpr int kCopyTries = 100;
}

bool ThreadSlot::remove(std::uint64_t handle, std::uint64_t end_ticks, FinishedRange& range) {
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  std::uint32_t at = depth;
  while (at > 0 && stack_[at - 1].handle.load(std::memory_order_relaxed) != handle) --at;
  if (at == 0) return false;
  fill(stack_[at - 1], end_ticks, range);
  begin_change();
  for (std::uint32_t i = at; i < depth; ++i) {
    Entry& to = stack_[i - 1];
    const Entry& from = stack_[i];
    to.handle.store(from.handle.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.start_ticks.store(from.start_ticks.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    to.index.store(from.index.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.series_depth.store(from.series_depth.load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
  }
  depth_.store(depth - 1, std::memory_order_relaxed);
  end_change();
  return true;
}

bool ThreadSlot::copy_open(std::vector<OpenRange>& open) const {
  const std::size_t before = open.size();
  for (int attempt = 0; attempt < kCopyTries; ++attempt) {
    const std::uint32_t change = change_.load(std::memory_order_acquire);
    if ((change & 1) != 0) continue;
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < depth; ++i) {
      const Entry& entry = stack_[i];
      const std::uint64_t series_depth = entry.series_depth.load(std::memory_order_relaxed);
      open.push_back({entry.handle.load(std::memory_order_relaxed),
                      entry.start_ticks.load(std::memory_order_relaxed),
                      entry.index.load(std::memory_order_relaxed),
                      static_cast<std::uint32_t>(series_depth >> 32),
                      static_cast<std::uint32_t>(series_depth)});
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (change_.load(std::memory_order_relaxed) == change) return true;
    open.resize(before);
  }
  return false;
}

}  // namespace tracemill
