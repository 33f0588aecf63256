// Interned names. An id stays valid for the life of the process; id 0 means "refused".
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace tracemill {

constexpr std::size_t kMaxNames = 65536;
constexpr std::size_t kMaxNameBytes = 4096;
constexpr std::size_t kMaxNameBytesTotal = 32u << 20;

// A name split into series and index: "step_12" is {"step", 12}, "Forward" is {"Forward", -1}.
struct FoldedName {
  std::string_view series;
  std::int64_t index;
};

// Folds a trailing "_<n>": canonical decimal digits (no leading zero, at most 18 of them) after a
// non-empty series, so that series + "_" + index is always the name again.
FoldedName fold_name(std::string_view name);

class StringTable {
 public:
  // Returns the id of `text`, adding it if it is new; 0 if it is too long or the table is full.
  std::uint32_t intern(std::string_view text);
  // The text of an id returned by `intern`.
  std::string_view text(std::uint32_t id) const;
  std::mutex& mutex() { return mutex_; }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id;
    std::uint32_t length;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  };
  static constexpr std::size_t kSlots = kMaxNames * 2;
  std::atomic<Entry*>* slots();
  Entry* find(std::string_view text, std::uint64_t hash, std::size_t* slot);

  std::atomic<std::atomic<Entry*>*> slots_{nullptr};
  std::atomic<Entry*> by_id_[kMaxNames + 1] = {};
  std::uint32_t count_ = 0;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
};

}  // namespace tracemill
