#include "cupti/calls.hpp"

#include <algorithm>

namespace tracemill::cupti {

namespace {

constexpr std::uint32_t kMaxCallbackId = 4096;
constexpr std::uint32_t kUnknownInARow = 64;  // ids without a name before the end is believed

bool begins_with(std::string_view text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool is_recorded_call(std::string_view name) {
  if (begins_with(name, "cuda")) {
    name.remove_prefix(4);
  } else if (begins_with(name, "cu")) {
    name.remove_prefix(2);
  } else {
    return false;
  }
  for (const char* start : {"Launch", "GraphLaunch", "Memcpy", "Memset", "MemPrefetch"}) {
    if (begins_with(name, start)) return true;
  }
  return contains(name, "Synchronize") || contains(name, "StreamWaitEvent");
}

std::string_view plain_call_name(std::string_view name) {
  const std::size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || name.size() - mark < 6) return name;
  const std::string_view digits = name.substr(mark + 2);
  const bool version = std::all_of(digits.begin(), digits.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
  return version ? name.substr(0, mark) : name;
}

void CallTable::load(const Library& library, int domain, StringTable& strings) {
  ids_.clear();
  std::uint32_t unknown = 0;
  for (std::uint32_t id = 1; id < kMaxCallbackId && unknown < kUnknownInARow; ++id) {
    const char* text = nullptr;
    if (library.callback_name(domain, id, &text) != kSuccess || text == nullptr) {
      ++unknown;
      continue;
    }
    unknown = 0;
    const std::string_view name = plain_call_name(text);
    if (!is_recorded_call(name)) continue;
    ids_.resize(id + 1, 0);
    ids_[id] = strings.intern(name);
  }
}

std::size_t CallTable::size() const {
  return static_cast<std::size_t>(
      std::count_if(ids_.begin(), ids_.end(), [](std::uint32_t id) { return id != 0; }));
}

}  // namespace tracemill::cupti
