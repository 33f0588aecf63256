// The functions of libcuda and libcupti that are used, found in the running process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tracemill::cupti {

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kNotInitialized = 15;
constexpr Result kMultipleSubscribers = 39;

constexpr int kDriverDomain = 1;
constexpr int kRuntimeDomain = 2;

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t bytes, std::size_t valid_bytes);
using ApiCallback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

// Entry points; those marked optional may be null.
struct Library {
  Result (*get_version)(std::uint32_t*) = nullptr;
  Result (*subscribe)(void**, ApiCallback, void*) = nullptr;
  Result (*unsubscribe)(void*) = nullptr;
  Result (*register_callbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  Result (*enable)(std::uint32_t kind) = nullptr;
  Result (*disable)(std::uint32_t kind) = nullptr;
  Result (*flush_all)(std::uint32_t flags) = nullptr;
  Result (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, std::uint8_t** record) =
      nullptr;
  Result (*get_dropped)(void* context, std::uint32_t stream, std::size_t* dropped) = nullptr;
  Result (*get_timestamp)(std::uint64_t*) = nullptr;
  Result (*callback_name)(int domain, std::uint32_t id, const char** name) = nullptr;
  // Optional.
  Result (*result_string)(Result, const char**) = nullptr;
  Result (*register_timestamp)(std::uint64_t (*)()) = nullptr;
  Result (*set_thread_id_type)(int) = nullptr;
  Result (*enable_runtime_call)(std::uint32_t id, std::uint8_t enable) = nullptr;
  Result (*enable_driver_call)(std::uint32_t id, std::uint8_t enable) = nullptr;
  Result (*enable_all_syncs)(std::uint8_t enable) = nullptr;

  std::string path;

  // "CUPTI_ERROR_… (39)" or the bare number.
  std::string describe(Result result) const;
};

// Finds libcupti: `given` if it is not empty; else the one in the process, the one beside the CUDA
// runtime of the process, the linker's. False with the reason in `problem`.
bool load_library(const std::string& given, Library& library, std::string& problem);

enum class CudaState { kAbsent, kUninitialized, kReady, kBroken };

struct Driver {
  // Looks without loading or initialising anything. Cheap enough to be asked often.
  CudaState state();
  // JSON array of the devices: device, name, uuid, memory_bytes.
  std::string devices_json() const;
  int error() const { return error_; }

 private:
  void* handle_ = nullptr;
  int (*device_count_)(int*) = nullptr;
  int devices_ = 0;
  int error_ = 0;
};

}  // namespace tracemill::cupti
