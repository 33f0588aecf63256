#include "cupti/signatures.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "cupti/records.hpp"

namespace tracemill::cupti {

namespace {

constexpr std::size_t kFirstSlots = 1024;
constexpr char kCut[] = "...";

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ (hash >> 32);
}

}  // namespace

std::uint32_t SignatureTable::name_id(const char* name) {
  if (name == nullptr) return strings_.intern("(no name)");
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  // A C function's name may look like a mangled type ("f" would be float).
  const bool mangled = std::strncmp(name, "_Z", 2) == 0 && status == 0 && plain != nullptr;
  const char* text = mangled ? plain.get() : name;
  const std::size_t length = std::strlen(text);
  if (length <= kMaxNameBytes) return strings_.intern({text, length});
  // Templates give names of any length; the beginning says what the kernel is.
  return strings_.intern(std::string(text, kMaxNameBytes - sizeof kCut + 1) + kCut);
}

std::uint32_t SignatureTable::intern(const std::uint8_t* record) {
  std::array<std::uint32_t, 6> shape;
  std::memcpy(shape.data(), record + kernel::kGridAndBlock, sizeof shape);
  const char* name = kernel::kName(record);
  const std::uint32_t registers = kernel::kRegisters(record);
  const auto static_shared = static_cast<std::uint32_t>(kernel::kStaticShared(record));
  const auto dynamic_shared = static_cast<std::uint32_t>(kernel::kDynamicShared(record));
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(name), registers);
  hash = mix(hash, std::uint64_t{shape[0]} << 32 | shape[1]);
  hash = mix(hash, std::uint64_t{shape[2]} << 32 | shape[3]);
  hash = mix(hash, std::uint64_t{shape[4]} << 32 | shape[5]);
  hash = mix(hash, std::uint64_t{static_shared} << 32 | dynamic_shared);
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[slot] - 1];
    const Signature& known = entry.signature;
    if (entry.hash != hash || entry.name != name || known.grid_and_block != shape ||
        known.registers != registers || known.static_shared != static_shared ||
        known.dynamic_shared != dynamic_shared) {
      continue;
    }
    // A module that was loaded since may have put another name at the same address.
    if (name == nullptr || entry.raw_name == name) return first_id_ + slots_[slot] - 1;
  }
  entries_.push_back({hash, name, name != nullptr ? name : "", {name_id(name), shape, registers, static_shared, dynamic_shared},
                      0, ~std::uint64_t{0}});
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  const auto id = static_cast<std::uint32_t>(first_id_ + entries_.size() - 1);
  if (entries_.size() * 2 > slots_.size()) grow();
  return id;
}

void SignatureTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void SignatureTable::forget_durations() {
  for (Entry& entry : entries_) entry.last_duration = 0;
}

void SignatureTable::clear() {
  first_id_ += static_cast<std::uint32_t>(entries_.size());
  entries_.clear();
  slots_.assign(kFirstSlots, 0);
}

void SignatureTable::clear_if_full() {
  if (entries_.size() > kMaxKept) clear();
}

}  // namespace tracemill::cupti
