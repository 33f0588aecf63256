// Single-producer single-consumer ring of fixed capacity. The producer never waits: when the ring
// is full the event is refused and the caller counts it.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tracemill {

template <typename Event>
class Ring {
 public:
  // `capacity` is rounded up to a power of two. Memory is touched only as far as it is used.
  explicit Ring(std::uint64_t capacity) {
    std::uint64_t size = 16;
    while (size < capacity) size *= 2;
    events_ = static_cast<Event*>(std::calloc(size, sizeof(Event)));
    if (events_ == nullptr) throw std::bad_alloc();
    mask_ = size - 1;
  }
  ~Ring() { std::free(events_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Producer. False when full.
  bool push(const Event& event) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - known_tail_ > mask_) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head - known_tail_ > mask_) return false;
    }
    events_[head & mask_] = event;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  // Producer. True once per half capacity: time to wake the consumer.
  bool at_half() const {
    return (head_.load(std::memory_order_relaxed) & (mask_ >> 1)) == 0;
  }
  // Consumer. Calls `take(event)` for everything that was pushed before the call.
  template <typename Take>
  void drain(Take&& take) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) take(events_[tail & mask_]);
    tail_.store(tail, std::memory_order_release);
  }
  bool empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_relaxed);
  }
  // Only while nobody else uses the ring (in a forked child).
  void clear() {
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
    known_tail_ = 0;
  }

 private:
  Event* events_ = nullptr;
  std::uint64_t mask_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t known_tail_ = 0;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace tracemill
