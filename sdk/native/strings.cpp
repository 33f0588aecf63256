#include "strings.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace tracemill {

namespace {

constexpr std::size_t kMaxIndexDigits = 18;

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u ^ text.size();
  const char* bytes = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, left);
  hash = (hash ^ word) * 0xC4CEB9FE1A85EC53u;
  return hash ^ (hash >> 29);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

FoldedName fold_name(std::string_view name) {
  std::size_t first = name.size();
  while (first > 0 && is_digit(name[first - 1])) --first;
  const std::size_t digits = name.size() - first;
  const bool canonical = digits == 1 || (digits > 1 && name[first] != '0');
  if (!canonical || digits > kMaxIndexDigits || first < 2 || name[first - 1] != '_') {
    return {name, -1};
  }
  std::int64_t index = 0;
  for (std::size_t i = first; i < name.size(); ++i) index = index * 10 + (name[i] - '0');
  return {name.substr(0, first - 1), index};
}

std::atomic<StringTable::Entry*>* StringTable::slots() {
  auto* slots = slots_.load(std::memory_order_acquire);
  if (slots != nullptr) return slots;
  const std::lock_guard<std::mutex> lock(mutex_);
  slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr) {
    // Zeroed pages are null pointers; they cost memory only where a name falls.
    slots = static_cast<std::atomic<Entry*>*>(std::calloc(kSlots, sizeof(std::atomic<Entry*>)));
    if (slots == nullptr) throw std::bad_alloc();
    slots_.store(slots, std::memory_order_release);
  }
  return slots;
}

StringTable::Entry* StringTable::find(std::string_view text, std::uint64_t hash,
                                      std::size_t* slot) {
  auto* table = slots();
  std::size_t position = hash & (kSlots - 1);
  for (;; position = (position + 1) & (kSlots - 1)) {
    Entry* entry = table[position].load(std::memory_order_acquire);
    if (entry == nullptr) break;
    if (entry->hash == hash && entry->length == text.size() &&
        std::memcmp(entry->bytes(), text.data(), text.size()) == 0) {
      return entry;
    }
  }
  *slot = position;
  return nullptr;
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (text.size() > kMaxNameBytes) return 0;
  const std::uint64_t hash = hash_text(text);
  std::size_t slot = 0;
  if (const Entry* entry = find(text, hash, &slot)) return entry->id;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* entry = find(text, hash, &slot)) return entry->id;
  if (count_ >= kMaxNames || bytes_ + text.size() > kMaxNameBytesTotal) return 0;
  auto* entry = static_cast<Entry*>(std::malloc(sizeof(Entry) + text.size()));
  if (entry == nullptr) return 0;
  *entry = {hash, ++count_, static_cast<std::uint32_t>(text.size())};
  std::memcpy(entry->bytes(), text.data(), text.size());
  bytes_ += text.size();
  by_id_[entry->id].store(entry, std::memory_order_release);
  slots()[slot].store(entry, std::memory_order_release);
  return entry->id;
}

std::string_view StringTable::text(std::uint32_t id) const {
  if (id == 0 || id > kMaxNames) return {};
  const Entry* entry = by_id_[id].load(std::memory_order_acquire);
  return entry == nullptr ? std::string_view{} : std::string_view{entry->bytes(), entry->length};
}

}  // namespace tracemill
