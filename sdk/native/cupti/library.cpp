#include "cupti/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "notices.hpp"

namespace tracemill::cupti {

namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                  "libcupti.so.11.7", "libcupti.so"};
constexpr int kCudaNotInitialized = 3;

// Paths of shared objects mapped into the process whose base name begins with `base`.
std::vector<std::string> mapped(const char* base) {
  std::vector<std::string> found;
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return found;
  char line[4352];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const char* path = std::strchr(line, '/');
    if (path == nullptr) continue;
    std::string_view text(path);
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    const std::string_view name = text.substr(text.rfind('/') + 1);
    if (name.compare(0, std::strlen(base), base) != 0) continue;
    if (found.empty() || found.back() != text) found.emplace_back(text);
  }
  std::fclose(maps);
  return found;
}

// Where NVIDIA's wheels and toolkits keep libcupti, seen from the folder of libcudart.
std::vector<std::string> beside_runtime() {
  std::vector<std::string> found;
  for (const std::string& runtime : mapped("libcudart")) {
    const std::string folder = runtime.substr(0, runtime.rfind('/'));
    for (const char* place :
         {"/../../cuda_cupti/lib/", "/", "/../extras/CUPTI/lib64/", "/../../../extras/CUPTI/lib64/"}) {
      for (const char* name : kNames) found.push_back(folder + place + name);
    }
  }
  return found;
}

void* open_any(std::string& path) {
  for (const char* name : kNames) {
    path = name;
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  }
  std::vector<std::string> candidates = mapped("libcupti.so");
  for (std::string& place : beside_runtime()) candidates.push_back(std::move(place));
  for (const char* name : kNames) candidates.emplace_back(name);
  for (const std::string& candidate : candidates) {
    path = candidate;
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

template <typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

std::string Library::describe(Result result) const {
  const char* text = nullptr;
  const std::string number = std::to_string(result);
  if (result_string == nullptr || result_string(result, &text) != kSuccess || text == nullptr) {
    return "error " + number;
  }
  return std::string(text) + " (" + number + ")";
}

bool load_library(const std::string& given, Library& library, std::string& problem) {
  void* handle = nullptr;
  if (given.empty()) {
    handle = open_any(library.path);
    if (handle == nullptr) problem = "no libcupti was found";
  } else {
    library.path = given;
    handle = dlopen(given.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* error = dlerror();
      problem = std::string("libcupti cannot be loaded: ") + (error != nullptr ? error : given);
    }
  }
  if (handle == nullptr) return false;
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!bind(handle, name, function) && missing == nullptr) missing = name;
  };
  need("cuptiGetVersion", library.get_version);
  need("cuptiSubscribe", library.subscribe);
  need("cuptiUnsubscribe", library.unsubscribe);
  need("cuptiActivityRegisterCallbacks", library.register_callbacks);
  need("cuptiActivityEnable", library.enable);
  need("cuptiActivityDisable", library.disable);
  need("cuptiActivityFlushAll", library.flush_all);
  need("cuptiActivityGetNextRecord", library.next_record);
  need("cuptiActivityGetNumDroppedRecords", library.get_dropped);
  need("cuptiGetTimestamp", library.get_timestamp);
  need("cuptiGetCallbackName", library.callback_name);
  if (missing != nullptr) {
    problem = library.path + " lacks " + missing;
    return false;
  }
  bind(handle, "cuptiGetResultString", library.result_string);
  bind(handle, "cuptiActivityRegisterTimestampCallback", library.register_timestamp);
  bind(handle, "cuptiSetThreadIdType", library.set_thread_id_type);
  bind(handle, "cuptiActivityEnableRuntimeApi", library.enable_runtime_call);
  bind(handle, "cuptiActivityEnableDriverApi", library.enable_driver_call);
  bind(handle, "cuptiActivityEnableAllSyncRecords", library.enable_all_syncs);
  return true;
}

CudaState Driver::state() {
  if (handle_ == nullptr) {
    handle_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle_ == nullptr) return CudaState::kAbsent;
    bind(handle_, "cuDeviceGetCount", device_count_);
  }
  if (device_count_ == nullptr) return CudaState::kBroken;
  error_ = device_count_(&devices_);
  if (error_ == kCudaNotInitialized) return CudaState::kUninitialized;
  return error_ == 0 && devices_ > 0 ? CudaState::kReady : CudaState::kBroken;
}

std::string Driver::devices_json() const {
  int (*get_device)(int*, int) = nullptr;
  int (*get_name)(char*, int, int) = nullptr;
  int (*get_uuid)(unsigned char*, int) = nullptr;
  int (*get_memory)(std::size_t*, int) = nullptr;
  bind(handle_, "cuDeviceGet", get_device);
  bind(handle_, "cuDeviceGetName", get_name);
  // The second form names the slice of a MIG device.
  if (!bind(handle_, "cuDeviceGetUuid_v2", get_uuid)) bind(handle_, "cuDeviceGetUuid", get_uuid);
  bind(handle_, "cuDeviceTotalMem_v2", get_memory);
  std::string json = "[";
  for (int ordinal = 0; ordinal < devices_; ++ordinal) {
    int device = 0;
    if (get_device == nullptr || get_device(&device, ordinal) != 0) continue;
    json += (json.size() > 1 ? ",{\"device\":" : "{\"device\":") + std::to_string(ordinal);
    char name[256] = {};
    if (get_name != nullptr && get_name(name, sizeof name - 1, device) == 0) {
      json += ",\"name\":" + json_string(name);
    }
    unsigned char uuid[16];
    if (get_uuid != nullptr && get_uuid(uuid, device) == 0) {
      std::string text = "GPU-";
      for (int i = 0; i < 16; ++i) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", uuid[i]);
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += hex;
      }
      json += ",\"uuid\":" + json_string(text);
    }
    std::size_t bytes = 0;
    if (get_memory != nullptr && get_memory(&bytes, device) == 0) {
      json += ",\"memory_bytes\":" + std::to_string(bytes);
    }
    json += "}";
  }
  return json + "]";
}

}  // namespace tracemill::cupti
