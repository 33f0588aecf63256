// A stand-in for libnvidia-ml.so.1 with two devices; the second one lacks most readings.
#include <atomic>
#include <cstdio>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Utilization { unsigned gpu, memory; };
struct Memory { unsigned long long total, free, used; };
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned value_type;
  int result;
  unsigned long long value;
};

constexpr int kNotSupported = 3;
std::atomic<int> g_init_result{0};
std::atomic<int> g_open{0};
std::atomic<int> g_refusals{0};

long number(void* device) { return reinterpret_cast<long>(device) - 1; }
int on_first(void* device) {
  if (number(device) == 0) return 0;
  ++g_refusals;
  return kNotSupported;
}

}  // namespace

API void fake_nvml_init_result(int result) { g_init_result = result; }
API int fake_nvml_open() { return g_open; }
API int fake_nvml_refusals() { return g_refusals; }

API int nvmlInit_v2() {
  if (g_init_result == 0) ++g_open;
  return g_init_result;
}
API int nvmlShutdown() {
  --g_open;
  return 0;
}
API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<long>(index) + 1);
  return 0;
}
API int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::snprintf(name, length, "Fake GPU %ld", number(device));
  return 0;
}
API int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "GPU-%ld", number(device));
  return 0;
}
API int nvmlDeviceGetUtilizationRates(void*, Utilization* use) {
  *use = {87, 43};
  return 0;
}
API int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  *memory = {80ull << 30, 60ull << 30, (20ull << 30) + static_cast<unsigned long long>(number(device))};
  return 0;
}
API int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) {
  *mw = 345678;
  return on_first(device);
}
API int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* mj) {
  *mj = 5000000000ull;
  return on_first(device);
}
API int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 2619;
  return on_first(device);
}
API int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  *celsius = 61;
  return on_first(device);
}
API int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  *bits = 0x24;
  return on_first(device);
}
API int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  if (on_first(device) != 0) return kNotSupported;
  for (int i = 0; i < count; ++i) {
    values[i].value_type = 3;
    values[i].result = values[i].field == 139 ? kNotSupported : 0;
    values[i].value = values[i].field == 138 ? 7 : 1000 * values[i].field;
  }
  return 0;
}
