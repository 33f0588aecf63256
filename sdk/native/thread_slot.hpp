// The ring and the stack of open ranges of one application thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "annotations.hpp"
#include "ring.hpp"

namespace tracemill {

constexpr unsigned kSerialBits = 40;

// The owning thread writes, the recorder thread reads the stack under a sequence lock.
class ThreadSlot {
 public:
  ThreadSlot(std::uint64_t slot_id, std::uint64_t thread_id, std::uint64_t ring_events)
      : id(slot_id), thread(thread_id), asked_ring_events(ring_events), ring(ring_events), stack_(new Entry[kMaxOpenRanges]) {}
  ~ThreadSlot() { delete[] stack_; }
  ThreadSlot(const ThreadSlot&) = delete;
  ThreadSlot& operator=(const ThreadSlot&) = delete;

  // Owner. Returns the handle, 0 when too many ranges are open.
  std::uint64_t push(std::uint32_t series, std::int64_t index) {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth == kMaxOpenRanges) return 0;
    const std::uint64_t handle = (id << kSerialBits) | (++serial_ & kSerialMask);
    Entry& entry = stack_[depth];
    begin_change();
    entry.handle.store(handle, std::memory_order_relaxed);
    entry.index.store(index, std::memory_order_relaxed);
    entry.series_depth.store(std::uint64_t{series} << 32 | depth, std::memory_order_relaxed);
    depth_.store(depth + 1, std::memory_order_relaxed);
    entry.start_ticks.store(now_ticks(), std::memory_order_relaxed);
    end_change();
    return handle;
  }
  // Owner. Ends the innermost range if `handle` is its handle.
  bool pop(std::uint64_t handle, std::uint64_t end_ticks, FinishedRange& range) {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth == 0) return false;
    const Entry& entry = stack_[depth - 1];
    if (entry.handle.load(std::memory_order_relaxed) != handle) return false;
    fill(entry, end_ticks, range);
    begin_change();
    depth_.store(depth - 1, std::memory_order_relaxed);
    end_change();
    return true;
  }
  // Owner. Takes a range out wherever it is in the stack.
  bool remove(std::uint64_t handle, std::uint64_t end_ticks, FinishedRange& range);
  // Owner. Forgets the ranges of an earlier recording.
  void reset(std::uint32_t new_epoch) {
    begin_change();
    depth_.store(0, std::memory_order_relaxed);
    end_change();
    epoch.store(new_epoch, std::memory_order_release);
  }
  // Any thread. Copies the open ranges; false if the owner was too busy to get a consistent copy.
  bool copy_open(std::vector<OpenRange>& open) const;

  const std::uint64_t id;
  const std::uint64_t thread;
  const std::uint64_t asked_ring_events;
  std::atomic<std::uint32_t> control{0};  // the global control word this slot is set up for
  std::atomic<std::uint32_t> epoch{0};    // recording the stack belongs to
  std::atomic<bool> dead{false};          // the thread has ended
  Ring<FinishedRange> ring;
  std::vector<std::uint64_t> ended_elsewhere;  // handles; guarded by Annotations::mutex_

 private:
  static constexpr std::uint64_t kSerialMask = (std::uint64_t{1} << kSerialBits) - 1;
  struct Entry {
    std::atomic<std::uint64_t> handle;
    std::atomic<std::uint64_t> start_ticks;
    std::atomic<std::int64_t> index;
    std::atomic<std::uint64_t> series_depth;
  };
  static void fill(const Entry& entry, std::uint64_t end_ticks, FinishedRange& range) {
    const std::uint64_t series_depth = entry.series_depth.load(std::memory_order_relaxed);
    range = {entry.start_ticks.load(std::memory_order_relaxed), end_ticks,
             entry.index.load(std::memory_order_relaxed),
             static_cast<std::uint32_t>(series_depth >> 32),
             static_cast<std::uint32_t>(series_depth)};
  }
  void begin_change() {
    change_.store(change_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  void end_change() {
    change_.store(change_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  Entry* stack_;
  std::atomic<std::uint32_t> depth_{0};
  std::atomic<std::uint32_t> change_{0};
  std::uint64_t serial_ = 0;
};

}  // namespace tracemill
