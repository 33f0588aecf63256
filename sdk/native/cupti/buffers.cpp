#include "cupti/buffers.hpp"

#include <algorithm>
#include <cstdlib>

namespace tracemill::cupti {

namespace {
constexpr std::size_t kAlignment = 64;  // CUPTI asks for 8
constexpr std::size_t kMinBuffers = 4;
}  // namespace

void BufferPool::configure(std::size_t total_bytes, bool may_refuse) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = std::max(kMinBuffers, total_bytes / kBufferBytes);
  last_resort_ = may_refuse ? limit_ : limit_ * 2;
  free_.reserve(last_resort_);
}

std::uint8_t* BufferPool::take() {
  FilledBuffer oldest;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::uint8_t* buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
    if (allocated_.load() >= limit_ && !filled_.empty()) {
      oldest = filled_.front();
      filled_.pop_front();
    } else if (allocated_.load() >= last_resort_) {
      refused_.fetch_add(1);
      return nullptr;
    } else {
      allocated_.fetch_add(1);
    }
  }
  if (oldest.bytes != nullptr) {
    given_up_.fetch_add(count_records(oldest));
    return oldest.bytes;
  }
  void* memory = std::aligned_alloc(kAlignment, kBufferBytes);
  if (memory == nullptr) {
    allocated_.fetch_sub(1);
    refused_.fetch_add(1);
  }
  return static_cast<std::uint8_t*>(memory);
}

void BufferPool::fill(FilledBuffer filled) {
  if (filled.bytes == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (filled.valid_bytes == 0 || filled.valid_bytes > kBufferBytes) {
    free_.push_back(filled.bytes);
  } else {
    filled_.push_back(filled);
  }
}

bool BufferPool::next(FilledBuffer& filled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (filled_.empty()) return false;
  filled = filled_.front();
  filled_.pop_front();
  return true;
}

void BufferPool::give_back(std::uint8_t* buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(buffer);
}

void BufferPool::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const FilledBuffer& filled : filled_) free_.push_back(filled.bytes);
  filled_.clear();
  for (std::uint8_t* buffer : free_) std::free(buffer);
  allocated_.fetch_sub(free_.size());
  free_.clear();
}

std::size_t BufferPool::filled_bytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const FilledBuffer& filled : filled_) bytes += filled.valid_bytes;
  return bytes;
}

std::uint64_t BufferPool::count_records(const FilledBuffer& filled) const {
  std::uint64_t records = 0;
  for (std::size_t at = 0; at + 8 <= filled.valid_bytes; ++records) {
    const std::uint32_t bytes = size_of(kKind(filled.bytes + at));
    if (bytes == 0) return records + 1;  // a kind never seen: the rest counts as one
    at += bytes;
  }
  return records;
}

}  // namespace tracemill::cupti
