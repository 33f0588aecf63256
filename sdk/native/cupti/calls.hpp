// Which calls of the runtime and driver are recorded, by the names CUPTI has for them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupti/library.hpp"
#include "strings.hpp"

namespace tracemill::cupti {

// True for calls that launch, copy, set memory or wait.
bool is_recorded_call(std::string_view name);

// The name without the version CUPTI puts behind it: "cudaLaunchKernel_v7000" is cudaLaunchKernel.
std::string_view plain_call_name(std::string_view name);

// Recorded calls of one domain by callback id.
class CallTable {
 public:
  // Asks the library for all names of the domain.
  void load(const Library& library, int domain, StringTable& strings);
  // String id of the call's name; 0 if the call is not recorded.
  std::uint32_t name_id(std::uint32_t callback_id) const {
    return callback_id < ids_.size() ? ids_[callback_id] : 0;
  }
  const std::vector<std::uint32_t>& by_callback_id() const { return ids_; }
  std::size_t size() const;

 private:
  std::vector<std::uint32_t> ids_;
};

}  // namespace tracemill::cupti
