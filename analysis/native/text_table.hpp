// Distinct texts of a chunk, numbered in order of coming.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tracemill {

// Texts are views: what they look at must outlive the table, or be handed over by `keep`.
class TextTable {
 public:
  TextTable() : slots_(kFirstSlots, kFree) {}

  void clear() {
    texts_.clear();
    hashes_.clear();
    slots_.assign(slots_.size(), kFree);
  }

  const std::vector<std::string_view>& texts() const { return texts_; }

  // The number of `text`. `keep` turns a text that is new into one that lasts.
  template <typename Keep>
  std::int32_t id(std::string_view text, Keep keep) {
    const std::uint64_t hash = hash_of(text);
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kFree) {
      const auto found = static_cast<std::size_t>(slots_[slot]);
      if (hashes_[found] == hash && texts_[found] == text) return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    const auto number = static_cast<std::int32_t>(texts_.size());
    slots_[slot] = number;
    texts_.push_back(keep(text));
    hashes_.push_back(hash);
    if (texts_.size() * 2 > slots_.size()) grow();
    return number;
  }

 private:
  static constexpr std::size_t kFirstSlots = 4096;
  static constexpr std::int32_t kFree = -1;

  static std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9E3779B97F4A7C15U;
    return value ^ (value >> 29);
  }

  static std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, at += 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      hash = mixed(hash ^ word);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    return mixed(mixed(hash ^ word));
  }

  void grow() {
    slots_.assign(slots_.size() * 4, kFree);
    for (std::size_t number = 0; number < hashes_.size(); ++number) {
      std::size_t slot = hashes_[number] & (slots_.size() - 1);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::int32_t>(number);
    }
  }

  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int32_t> slots_;
};

}  // namespace tracemill
