// A stand-in for libcuda.so.1: only what says whether CUDA is up and which devices there are.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

namespace {
std::atomic<int> g_state{3};  // CUDA_ERROR_NOT_INITIALIZED
std::atomic<int> g_devices{2};
}  // namespace

API int cuInit(unsigned) {
  g_state = 0;
  return 0;
}
API void fake_cuda_state(int result) { g_state = result; }
API void fake_cuda_devices(int count) { g_devices = count; }
API int cuDeviceGetCount(int* count) {
  *count = g_devices;
  return g_state;
}
API int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
API int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return 0;
}
API int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * i + device);
  return 0;
}
API int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{80} << 30;
  return 0;
}
