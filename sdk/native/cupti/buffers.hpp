// Buffers that CUPTI fills, in bounded memory. CUPTI asks for and gives back buffers on any thread,
// so these calls only move a pointer under a short lock.
#pragma once
#include <atomic>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "cupti/records.hpp"

namespace tracemill::cupti {

struct FilledBuffer {
  std::uint8_t* bytes = nullptr;
  std::size_t valid_bytes = 0;
  void* context = nullptr;
  std::uint32_t stream = 0;
};

class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = 1u << 20;

  // `may_refuse`: CUPTI copes with not getting a buffer (safe only from version 12.9 on). Otherwise
  // up to twice the memory is used before that happens.
  void configure(std::size_t total_bytes, bool may_refuse);
  // A buffer for CUPTI. At the limit the oldest filled one is given up and its records are counted;
  // null if CUPTI itself holds them all.
  std::uint8_t* take();
  void fill(FilledBuffer filled);
  bool next(FilledBuffer& filled);
  void give_back(std::uint8_t* buffer);
  // Forgets filled buffers and frees unused ones; buffers that CUPTI holds stay valid.
  void release();

  // Bytes of a record kind, as seen in this process; used to count what is given up.
  void learn_size(std::uint32_t kind, std::uint32_t bytes) {
    sizes_[kind].store(bytes, std::memory_order_relaxed);
  }
  std::uint32_t size_of(std::uint32_t kind) const {
    return kind < kActivityKinds ? sizes_[kind].load(std::memory_order_relaxed) : 0;
  }
  std::uint64_t records_given_up() const { return given_up_.load(std::memory_order_relaxed); }
  std::uint64_t buffers_refused() const { return refused_.load(std::memory_order_relaxed); }
  std::size_t allocated() const { return allocated_.load(std::memory_order_relaxed); }
  std::size_t filled_bytes();

 private:
  std::uint64_t count_records(const FilledBuffer& filled) const;

  std::mutex mutex_;
  std::size_t limit_ = 64;
  std::size_t last_resort_ = 128;
  std::atomic<std::size_t> allocated_{0};
  std::vector<std::uint8_t*> free_;
  std::deque<FilledBuffer> filled_;
  std::array<std::atomic<std::uint32_t>, kActivityKinds> sizes_{};
  std::atomic<std::uint64_t> given_up_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace tracemill::cupti
