// A stand-in for libcupti: the exported calls, the buffer protocol and records of any layout, driven
// by the test through the fake_* functions. Built and loaded by tests/sdk/fake_cuda/build.py.
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr int kSubscriberTaken = 39, kInvalidParameter = 1, kMaxLimitReached = 12;
constexpr std::uint32_t kKernel = 10, kCopy = 1, kSet = 2, kDriver = 4, kRuntime = 5, kOverhead = 17,
                        kPeerCopy = 22, kSync = 38, kGraph = 51;

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t room = 0, used = 0;
  bool incomplete = false;
};

struct State {
  std::recursive_mutex mutex;
  std::uint32_t version = 130101;
  std::array<std::uint32_t, 64> sizes = [] {
    std::array<std::uint32_t, 64> bytes{};
    bytes[kKernel] = 224, bytes[kCopy] = bytes[kPeerCopy] = 96, bytes[kSet] = 88;
    bytes[kDriver] = bytes[kRuntime] = 40;
    bytes[kOverhead] = bytes[kSync] = bytes[kGraph] = 56;
    return bytes;
  }();
  std::map<std::string, int> failures;  // call to result
  std::map<std::string, int> calls;
  std::set<std::uint32_t> kinds;
  std::set<std::uint32_t> runtime_calls, driver_calls;
  bool subscribed = false;
  bool held_by_another = false;
  Request request = nullptr;
  Complete complete = nullptr;
  std::uint64_t (*clock)() = nullptr;
  std::map<int, Buffer> buffers;  // by lane
  std::size_t dropped = 0;
  std::set<std::string> names;
  std::atomic<bool> block_flush{false};
  std::atomic<bool> in_flush{false};
};

State& state() {
  static State& instance = *new State;
  return instance;
}

int begin(const char* call) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  ++state().calls[call];
  const auto found = state().failures.find(call);
  return found == state().failures.end() ? 0 : found->second;
}

void hand_over(Buffer& buffer) {
  const Buffer done = buffer;
  buffer = Buffer{};
  if (done.bytes != nullptr) state().complete(nullptr, 0, done.bytes, done.room, done.used);
}

// Room for a record in the lane's buffer; null when CUPTI would drop the record.
std::uint8_t* place(int lane, std::uint32_t kind) {
  State& s = state();
  if (s.request == nullptr) return nullptr;
  const std::uint32_t size = s.sizes[kind];
  Buffer& buffer = s.buffers[lane];
  if (buffer.bytes != nullptr && buffer.used + size > buffer.room) hand_over(buffer);
  if (buffer.bytes == nullptr) {
    std::size_t max_records = 0;
    s.request(&buffer.bytes, &buffer.room, &max_records);
    if (buffer.bytes == nullptr) {
      ++s.dropped;
      return nullptr;
    }
  }
  std::uint8_t* record = buffer.bytes + buffer.used;
  std::memset(record, 0xEE, size);  // what the recorder must not rely on
  buffer.used += size;
  std::memcpy(record, &kind, sizeof kind);
  return record;
}

template <typename Value>
void put(std::uint8_t* record, std::size_t offset, Value value) {
  std::memcpy(record + offset, &value, sizeof value);
}

const char* kept(const char* name) {
  return name == nullptr ? nullptr : state().names.insert(name).first->c_str();
}

}  // namespace

// ---- what CUPTI exports ----

API int cuptiGetVersion(std::uint32_t* version) {
  *version = state().version;
  return begin("cuptiGetVersion");
}
API int cuptiSubscribe(void** handle, void (*)(void*, int, std::uint32_t, const void*), void*) {
  if (const int result = begin("cuptiSubscribe")) return result;
  if (state().held_by_another || state().subscribed) return kSubscriberTaken;
  state().subscribed = true;
  *handle = &state();
  return 0;
}
API int cuptiUnsubscribe(void* handle) {
  if (const int result = begin("cuptiUnsubscribe")) return result;
  if (handle != &state()) return kInvalidParameter;
  state().subscribed = false;
  return 0;
}
API int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (const int result = begin("cuptiActivityRegisterCallbacks")) return result;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().request = request;
  state().complete = complete;
  return 0;
}
API int cuptiActivityRegisterTimestampCallback(std::uint64_t (*clock)()) {
  if (const int result = begin("cuptiActivityRegisterTimestampCallback")) return result;
  state().clock = clock;
  return 0;
}
API int cuptiSetThreadIdType(int) { return begin("cuptiSetThreadIdType"); }
API int cuptiActivityEnable(std::uint32_t kind) {
  const std::string call = "cuptiActivityEnable:" + std::to_string(kind);
  if (const int result = begin(call.c_str())) return result;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().kinds.insert(kind);
  return 0;
}
API int cuptiActivityDisable(std::uint32_t kind) {
  if (const int result = begin("cuptiActivityDisable")) return result;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().kinds.erase(kind);
  if (kind == kRuntime) state().runtime_calls.clear();
  if (kind == kDriver) state().driver_calls.clear();
  return 0;
}
#ifndef FAKE_OLD
API int cuptiActivityEnableRuntimeApi(std::uint32_t id, std::uint8_t enable) {
  if (const int result = begin("cuptiActivityEnableRuntimeApi")) return result;
  if (enable) state().runtime_calls.insert(id);
  return 0;
}
API int cuptiActivityEnableDriverApi(std::uint32_t id, std::uint8_t enable) {
  if (const int result = begin("cuptiActivityEnableDriverApi")) return result;
  if (enable) state().driver_calls.insert(id);
  return 0;
}
API int cuptiActivityEnableAllSyncRecords(std::uint8_t) {
  return begin("cuptiActivityEnableAllSyncRecords");
}
#endif
API int cuptiActivityFlushAll(std::uint32_t flags) {
  if (const int result = begin("cuptiActivityFlushAll")) return result;
  state().in_flush = true;
  while (state().block_flush) usleep(1000);
  state().in_flush = false;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  for (auto& [lane, buffer] : state().buffers) {
    if (flags != 0 || !buffer.incomplete) hand_over(buffer);
  }
  return 0;
}
API int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, std::uint8_t** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = *record + state().sizes[kind];
  }
  if (next >= buffer + bytes) return kMaxLimitReached;
  *record = next;
  return 0;
}
API int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  if (const int result = begin("cuptiActivityGetNumDroppedRecords")) return result;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  *dropped = state().dropped;
  state().dropped = 0;
  return 0;
}
API int cuptiGetTimestamp(std::uint64_t* now) {
  if (const int result = begin("cuptiGetTimestamp")) return result;
  if (state().clock != nullptr) {
    *now = state().clock();
    return 0;
  }
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  *now = static_cast<std::uint64_t>(time.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(time.tv_nsec);
  return 0;
}
API int cuptiGetCallbackName(int domain, std::uint32_t id, const char** name) {
  if (const int result = begin("cuptiGetCallbackName")) return result;
  static const std::map<std::uint32_t, const char*> kRuntimeNames = {
      {41, "cudaMemcpyAsync_v3020"},     {51, "cudaMemsetAsync_v3020"},
      {147, "cudaStreamWaitEvent_v3020"}, {165, "cudaDeviceSynchronize_v3020"},
      {211, "cudaLaunchKernel_v7000"},   {311, "cudaGraphLaunch_v10000"}};
  const auto found = kRuntimeNames.find(id);
  if (domain == 2 && found != kRuntimeNames.end()) {
    *name = found->second;
  } else if (domain == 1 && id == 307) {
    *name = "cuLaunchKernel";
  } else if (id >= 1 && id <= 467) {
    *name = "cudaGetDevice_v3020";
  } else {
    return kInvalidParameter;
  }
  return 0;
}
API int cuptiGetResultString(int result, const char** text) {
  *text = result == kSubscriberTaken ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                     : "CUPTI_ERROR_OF_THE_TEST";
  return 0;
}

// ---- what the test drives ----

API void fake_version(std::uint32_t version) { state().version = version; }
API void fake_size(std::uint32_t kind, std::uint32_t size) { state().sizes[kind] = size; }
API void fake_fail(const char* call, int result) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (result == 0) state().failures.erase(call);
  else state().failures[call] = result;
}
API void fake_another_subscriber() { state().held_by_another = true; }
API int fake_calls(const char* call) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  return state().calls[call];
}
API int fake_enabled(std::uint32_t kind) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  return state().kinds.count(kind) != 0;
}
API int fake_subscribed() { return state().subscribed; }
API void fake_dropped(std::size_t count) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().dropped += count;
}
API void fake_block_flush(int block) { state().block_flush = block != 0; }
API int fake_in_flush() { return state().in_flush; }
API void fake_clock(std::uint64_t (*clock)()) { state().clock = clock; }

API void fake_kernel(int lane, std::uint64_t start, std::uint64_t end, std::uint32_t device,
                     std::uint32_t context, std::uint32_t stream, const char* name,
                     const std::uint32_t* shape, std::uint32_t registers, std::int32_t fixed,
                     std::int32_t dynamic, std::uint32_t correlation, std::uint64_t node) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kKernel) == 0) return;
  std::uint8_t* record = place(lane, kKernel);
  if (record == nullptr) return;
  put(record, 6, static_cast<std::uint16_t>(registers));
  put(record, 16, start), put(record, 24, end);
  put(record, 40, device), put(record, 44, context), put(record, 48, stream);
  std::memcpy(record + 52, shape, 24);
  put(record, 76, fixed), put(record, 80, dynamic), put(record, 92, correlation);
  put(record, 104, kept(name)), put(record, 144, node);
  if (end == 0) state().buffers[lane].incomplete = true;
}
API void fake_call(int lane, std::uint32_t kind, std::uint32_t id, std::uint64_t start,
                   std::uint64_t end, std::uint32_t thread, std::uint32_t correlation) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  State& s = state();
  const auto& selected = kind == kRuntime ? s.runtime_calls : s.driver_calls;
  if (s.kinds.count(kind) == 0 && selected.count(id) == 0) return;
  std::uint8_t* record = place(lane, kind);
  if (record == nullptr) return;
  put(record, 4, id), put(record, 8, start), put(record, 16, end);
  put(record, 24, static_cast<std::uint32_t>(getpid())), put(record, 28, thread);
  put(record, 32, correlation);
}
API void fake_copy(int lane, std::uint32_t kind, std::uint64_t start, std::uint64_t end,
                   std::uint32_t device, std::uint32_t context, std::uint32_t stream,
                   std::uint32_t kinds, std::uint64_t bytes, std::uint32_t peer,
                   std::uint32_t correlation) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kind) == 0) return;
  std::uint8_t* record = place(lane, kind);
  if (record == nullptr) return;
  put(record, 4, static_cast<std::uint8_t>(kinds));
  put(record, 5, static_cast<std::uint8_t>(kinds >> 8));
  put(record, 6, static_cast<std::uint8_t>(kinds >> 16));
  put(record, 8, bytes), put(record, 16, start), put(record, 24, end);
  put(record, 32, device), put(record, 36, context), put(record, 40, stream);
  if (kind == kPeerCopy) put(record, 44, device), put(record, 52, peer);
  put(record, kind == kPeerCopy ? 60 : 44, correlation);
}
API void fake_set(int lane, std::uint64_t start, std::uint64_t end, std::uint32_t device,
                  std::uint32_t context, std::uint32_t stream, std::uint32_t value,
                  std::uint64_t bytes, std::uint32_t memory, std::uint32_t correlation) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kSet) == 0) return;
  std::uint8_t* record = place(lane, kSet);
  if (record == nullptr) return;
  put(record, 4, value), put(record, 8, bytes), put(record, 16, start), put(record, 24, end);
  put(record, 32, device), put(record, 36, context), put(record, 40, stream);
  put(record, 44, correlation), put(record, 50, static_cast<std::uint16_t>(memory));
}
API void fake_graph(int lane, std::uint64_t start, std::uint64_t end, std::uint32_t device,
                    std::uint32_t context, std::uint32_t stream, std::uint32_t graph,
                    std::uint32_t correlation) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kGraph) == 0) return;
  std::uint8_t* record = place(lane, kGraph);
  if (record == nullptr) return;
  put(record, 4, correlation), put(record, 8, start), put(record, 16, end);
  put(record, 24, device), put(record, 28, graph), put(record, 32, context);
  put(record, 36, stream);
}
API void fake_sync(int lane, std::uint32_t type, std::uint64_t start, std::uint64_t end,
                   std::uint32_t correlation, std::uint32_t context, std::uint32_t stream) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kSync) == 0) return;
  std::uint8_t* record = place(lane, kSync);
  if (record == nullptr) return;
  put(record, 4, type), put(record, 8, start), put(record, 16, end);
  put(record, 24, correlation), put(record, 28, context), put(record, 32, stream);
}
API void fake_overhead(int lane, std::uint32_t cause, std::uint32_t object, std::uint32_t thread,
                       std::uint64_t start, std::uint64_t end) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().kinds.count(kOverhead) == 0) return;
  std::uint8_t* record = place(lane, kOverhead);
  if (record == nullptr) return;
  put(record, 4, cause), put(record, 8, object), put(record, 12, std::uint32_t{1});
  put(record, 16, thread), put(record, 24, start), put(record, 32, end);
}

// Launches from several threads at once; thread t uses correlation ids t * count + 1 … and the lane
// and stream of its number. Each launch is a call and a kernel of `step_ns` from `start`.
API void fake_launch_many(int threads, std::uint32_t count, std::uint64_t start,
                          std::uint64_t step_ns) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([=] {
      const std::uint32_t shape[6] = {static_cast<std::uint32_t>(t) + 1, 1, 1, 128, 1, 1};
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t at = start + i * step_ns;
        const std::uint32_t correlation = static_cast<std::uint32_t>(t) * count + i + 1;
        fake_call(t, kRuntime, 211, at, at + step_ns / 4, 1000 + static_cast<std::uint32_t>(t),
                  correlation);
        fake_kernel(t, at + step_ns / 2, at + step_ns, 0, 1, 7 + static_cast<std::uint32_t>(t),
                    "many", shape, 32, 0, 0, correlation, 0);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
}

// Launches of one thread and the kernels they start, in the order of a training loop: 60 launches
// repeat, and every time has the noise of a real one. Returns the time after the last.
API std::uint64_t fake_launch_like_training(std::uint32_t first, std::uint32_t count,
                                            std::uint64_t start) {
  constexpr std::uint32_t kLoop = 60;
  static std::uint64_t random = 0x9E3779B97F4A7C15u;
  const auto noise = [](std::uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  std::uint64_t host = start, device = start;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const std::uint32_t place = i % kLoop;
    const std::uint32_t shape[6] = {place + 1, 1, 1, 128, 1, 1};
    const char* const names[] = {"gemm", "relu", "layer_norm", "add", "softmax"};
    host += 2000 + 100 * place + noise(900);
    const std::uint64_t taken = 4000 + noise(1500);
    fake_call(0, kRuntime, 211, host, host + taken, 1000, i + 1);
    host += taken;
    device = (device > host + 2000 ? device : host + 2000) + 1000 + noise(300);
    const std::uint64_t runs = 2000 + 700 * (place % 13) + noise(200);
    fake_kernel(1, device, device + runs, 0, 1, 7, names[place % 5], shape, 32, 0, 0, i + 1, 0);
    device += runs;
  }
  return device > host ? device : host;
}

namespace {
std::set<std::uint8_t*> g_others;
std::atomic<int> g_others_bytes{0};

void others_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = 1 << 16;
  *max_records = 0;
  *buffer = new std::uint8_t[*bytes];
  g_others.insert(*buffer);
}
void others_complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (g_others.erase(buffer) == 0) return;  // requested by the one before: not ours to free
  g_others_bytes += static_cast<int>(valid);
  delete[] buffer;
}
}  // namespace

// What PyTorch's profiler does in a process whose CUPTI is in use: it registers its own callbacks and
// clock at its start, and disables its kinds at its end, whoever enabled them.
API void fake_other_profiler(int begins) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (begins) {
    cuptiActivityRegisterCallbacks(others_request, others_complete);
    cuptiActivityRegisterTimestampCallback([]() -> std::uint64_t { return 12345; });
    for (const std::uint32_t kind : {kKernel, kCopy, kSet, kRuntime}) cuptiActivityEnable(kind);
    return;
  }
  cuptiActivityFlushAll(1);
  for (const std::uint32_t kind : {kKernel, kCopy, kSet, kRuntime}) cuptiActivityDisable(kind);
}
API int fake_others_bytes() { return g_others_bytes; }
