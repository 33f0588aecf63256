#include "cupti/gpu_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

#include "clock.hpp"
#include "notices.hpp"
#include "recorder.hpp"

namespace tracemill::cupti {

namespace {

constexpr std::int64_t kWaitPollNs = 50'000'000;
constexpr std::int64_t kReadPollNs = 100'000'000;
constexpr std::size_t kRowsBeforeFlush = 131'072;
constexpr int kAttachTries = 20;
constexpr int kSystemThreadIds = 1;
constexpr std::uint32_t kForced = 1;
// A buffer may be refused from this version on (CUDA 12.9).
constexpr std::uint32_t kMayRefuseVersion = 27;
// In between, kernels may have no times when the clock is ours.
constexpr std::uint32_t kClockBugFirst = 24;
constexpr std::uint32_t kClockBugEnd = 130100;
constexpr int kCalibrationTries = 32;
constexpr std::int64_t kCalibrationStepNs = 1'000;
constexpr std::int64_t kOtherClockNs = 10'000'000;
constexpr std::int64_t kSlackNs = 60'000'000'000;

// What CUPTI's callbacks, which carry no argument of ours, work on. Never destroyed: CUPTI may call
// until the process ends.
struct Shared {
  BufferPool pool;
  std::atomic<bool> attached{false};
  std::atomic<bool> used{false};  // CUPTI was touched in this process
  std::atomic<bool> dead{false};  // forked child of such a process: CUDA cannot be used
  bool callbacks_registered = false;
  bool clock_registered = false;
};

Shared& shared() {
  static Shared& instance = *new Shared;
  return instance;
}

void request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = nullptr;
  *bytes = 0;
  *max_records = 0;
  if (shared().dead.load()) return;
  try {
    *buffer = shared().pool.take();
  } catch (...) {  // nothing may pass into CUPTI
  }
  if (*buffer != nullptr) *bytes = BufferPool::kBufferBytes;
}

void complete_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                     std::size_t valid_bytes) {
  if (shared().dead.load() || buffer == nullptr) return;
  try {
    // After the end of a recording nobody reads them.
    const std::size_t wanted = shared().attached.load() ? valid_bytes : 0;
    shared().pool.fill({buffer, wanted, context, stream});
  } catch (...) {
  }
}

void ignore_api_callback(void*, int, std::uint32_t, const void*) {}

std::uint64_t monotonic_clock() { return static_cast<std::uint64_t>(monotonic_ns()); }

// Bytes of the records up to CUDA 13.5; corrected by what is seen.
void expect_sizes(std::uint32_t version, BufferPool& pool) {
  const auto since = [version](std::uint32_t first) { return version >= first; };
  pool.learn_size(kRuntimeKind, 40);
  pool.learn_size(kDriverKind, 40);
  pool.learn_size(kConcurrentKernelKind, since(130400)   ? 248
                                         : since(130300) ? 232
                                         : since(130100) ? 224
                                         : since(130000) ? 216
                                         : since(18)     ? 208
                                                         : 176);
  pool.learn_size(kMemcpyKind, since(130400) ? 112 : since(26) ? 96 : 88);
  pool.learn_size(kPeerMemcpyKind, 96);
  pool.learn_size(kMemsetKind, since(130400) ? 104 : 88);
  pool.learn_size(kGraphTraceKind, since(22) ? 56 : 48);
  pool.learn_size(kSynchronizationKind, since(26) ? 56 : 40);
  pool.learn_size(kOverheadKind, since(22) ? 56 : 40);
}

}  // namespace

GpuSource::GpuSource(GpuOptions options, StringTable& strings, DropCounters& drops)
    : options_(std::move(options)), drops_(drops), decoder_(strings, drops) {
  shared();
}

void GpuSource::start() {
  if (!options_.enabled) return;
  if (shared().dead.load()) {
    reason_ = "forked from a process that used CUDA";
    return;
  }
  state_ = State::kWaiting;
  tries_left_ = kAttachTries;
  next_poll_ns_ = monotonic_ns();
}

void GpuSource::poll(std::int64_t now_ns) {
  if (now_ns < next_poll_ns_) return;
  if (state_ == State::kWaiting) try_attach();
  if (state_ == State::kAttached) {
    read_filled();
    if (decoder_.rows.count() >= kRowsBeforeFlush) wake_recorder();
  }
  if (state_ == State::kWaiting || state_ == State::kAttached) {
    next_poll_ns_ = now_ns + (state_ == State::kWaiting ? kWaitPollNs : kReadPollNs);
  } else {
    next_poll_ns_ = kNever;
  }
}

void GpuSource::try_attach() {
  const CudaState cuda = driver_.state();
  if (cuda == CudaState::kAbsent || cuda == CudaState::kUninitialized) return;
  if (cuda == CudaState::kBroken) {
    // The script may still set CUDA up another way; a process without a GPU ends here.
    if (--tries_left_ > 0) return;
    give_up("CUDA reports no usable device (error " + std::to_string(driver_.error()) + ")");
    return;
  }
  std::string problem;
  if (library_.get_version == nullptr && !load_library(options_.cupti_path, library_, problem)) {
    give_up(problem);
    return;
  }
  shared().used.store(true);
  if (attach()) {
    state_ = State::kAttached;
    meta_pending_ = true;
  }
}

bool GpuSource::attach() {
  const auto failed = [this](const char* call, Result result) {
    if (subscriber_ != nullptr) library_.unsubscribe(std::exchange(subscriber_, nullptr));
    if (result == kMultipleSubscribers) {
      give_up("another profiler holds CUPTI (" + library_.describe(result) + ")");
    } else if (result != kNotInitialized || --tries_left_ <= 0) {
      give_up(std::string(call) + " failed: " + library_.describe(result));
    }
    return false;
  };
  Result result = library_.get_version(&version_);
  if (result != kSuccess) return failed("cuptiGetVersion", result);
  result = library_.subscribe(&subscriber_, ignore_api_callback, nullptr);
  if (result != kSuccess) {
    subscriber_ = nullptr;
    return failed("cuptiSubscribe", result);
  }
  if (library_.set_thread_id_type != nullptr) {
    result = library_.set_thread_id_type(kSystemThreadIds);
    if (result != kSuccess) trouble("cuptiSetThreadIdType: " + library_.describe(result));
  }
  own_clock_ = register_clock(version_);
  shared().pool.configure(static_cast<std::size_t>(options_.buffer_bytes),
                          version_ >= kMayRefuseVersion);
  expect_sizes(version_, shared().pool);
  given_up_counted_ = shared().pool.records_given_up();
  if (!shared().callbacks_registered) {
    result = library_.register_callbacks(request_buffer, complete_buffer);
    if (result != kSuccess) return failed("cuptiActivityRegisterCallbacks", result);
    shared().callbacks_registered = true;
  }
  attached_ns_ = monotonic_ns();
  calibrate();
  shared().attached.store(true);
  result = library_.enable(kConcurrentKernelKind);
  if (result != kSuccess) {
    shared().attached.store(false);
    return failed("cuptiActivityEnable(CONCURRENT_KERNEL)", result);
  }
  enabled_.push_back(kConcurrentKernelKind);
  enable_kinds();
  enable_calls();
  return true;
}

bool GpuSource::register_clock(std::uint32_t version) {
  if (shared().clock_registered) return true;
  if (library_.register_timestamp == nullptr) return false;
  if (version >= kClockBugFirst && version < kClockBugEnd) return false;
  const Result result = library_.register_timestamp(monotonic_clock);
  if (result != kSuccess) {
    trouble("cuptiActivityRegisterTimestampCallback: " + library_.describe(result));
    return false;
  }
  shared().clock_registered = true;
  return true;
}

void GpuSource::enable_kinds() {
  enable_kind(kMemcpyKind, "MEMCPY", true);
  enable_kind(kPeerMemcpyKind, "MEMCPY2", false);
  enable_kind(kMemsetKind, "MEMSET", true);
  if (!options_.graph_nodes) enable_kind(kGraphTraceKind, "GRAPH_TRACE", true);
  if (enable_kind(kSynchronizationKind, "SYNCHRONIZATION", true) &&
      library_.enable_all_syncs != nullptr) {
    const Result result = library_.enable_all_syncs(0);
    if (result != kSuccess) {
      trouble("cuptiActivityEnableAllSyncRecords: " + library_.describe(result));
    }
  }
  enable_kind(kOverheadKind, "OVERHEAD", true);
}

bool GpuSource::enable_kind(std::uint32_t kind, const char* name, bool needed) {
  const Result result = library_.enable(kind);
  if (result == kSuccess) {
    enabled_.push_back(kind);
    return true;
  }
  if (needed) {
    trouble(std::string("cuptiActivityEnable(") + name + "): " + library_.describe(result));
  }
  return false;
}

void GpuSource::enable_calls() {
  decoder_.runtime_calls.load(library_, kRuntimeDomain, decoder_.strings());
  decoder_.driver_calls.load(library_, kDriverDomain, decoder_.strings());
  if (decoder_.runtime_calls.size() == 0) trouble("CUPTI names no calls of the CUDA runtime");
  calls_by_id_ = enable_calls_by_id(decoder_.runtime_calls, library_.enable_runtime_call);
  if (calls_by_id_) {
    if (!enable_calls_by_id(decoder_.driver_calls, library_.enable_driver_call)) {
      enable_kind(kDriverKind, "DRIVER", true);
    }
    return;
  }
  enable_kind(kRuntimeKind, "RUNTIME", true);
  enable_kind(kDriverKind, "DRIVER", true);
}

bool GpuSource::enable_calls_by_id(const CallTable& table,
                                   Result (*enable)(std::uint32_t, std::uint8_t)) {
  if (enable == nullptr || table.size() == 0) return false;
  const auto& ids = table.by_callback_id();
  std::uint32_t switched_on = 0;
  for (std::uint32_t id = 0; id < ids.size(); ++id) {
    // Names exist for calls that this driver does not have; those are refused one by one.
    if (ids[id] != 0 && enable(id, 1) == kSuccess) ++switched_on;
  }
  return switched_on > 0;
}

void GpuSource::calibrate() {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset_ns = 0;
  for (int i = 0; i < kCalibrationTries; ++i) {
    std::uint64_t theirs = 0;
    const std::int64_t before = monotonic_ns();
    if (library_.get_timestamp(&theirs) != kSuccess) return;
    const std::int64_t after = monotonic_ns();
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset_ns = before + shortest / 2 - static_cast<std::int64_t>(theirs);
  }
  if (own_clock_) {
    if (std::abs(offset_ns) > kOtherClockNs) {
      trouble("another profiler changed CUPTI's clock: its records are left out");
    }
    return;
  }
  // Small steps are noise of the reading; following them would shift records against each other.
  if (std::abs(offset_ns - decoder_.offset_ns) > kCalibrationStepNs) decoder_.offset_ns = offset_ns;
}

void GpuSource::read_filled() {
  decoder_.earliest_ns = attached_ns_ - kSlackNs;
  decoder_.latest_ns = monotonic_ns() + kSlackNs;
  FilledBuffer filled;
  while (shared().pool.next(filled)) {
    const std::pair<void*, std::uint32_t> queue{filled.context, filled.stream};
    if (std::find(queues_.begin(), queues_.end(), queue) == queues_.end()) queues_.push_back(queue);
    decoder_.decode(library_, shared().pool, filled);
    shared().pool.give_back(filled.bytes);
  }
}

void GpuSource::count_drops() {
  const std::pair<void*, std::uint32_t> global{nullptr, 0};
  if (std::find(queues_.begin(), queues_.end(), global) == queues_.end()) {
    queues_.push_back(global);
  }
  for (const auto& [context, stream] : queues_) {
    std::size_t dropped = 0;
    if (library_.get_dropped(context, stream, &dropped) == kSuccess && dropped > 0) {
      drops_.add(Drop::kCuptiDropped, dropped);
    }
  }
  queues_.clear();
  const std::uint64_t given_up = shared().pool.records_given_up();
  drops_.add(Drop::kGpuBufferFull, given_up - given_up_counted_);
  given_up_counted_ = given_up;
}

void GpuSource::drain(SegmentWriter& writer) {
  if (state_ == State::kAttached) {
    calibrate();
    const Result result = library_.flush_all(0);
    if (result != kSuccess) trouble("cuptiActivityFlushAll: " + library_.describe(result));
    read_filled();
    count_drops();
  }
  decoder_.rows.write(writer);
  if (meta_pending_ && writer.write_meta("\"gpu\":" + meta())) meta_pending_ = false;
}

void GpuSource::stop() {
  if (state_ == State::kAttached) detach();
  state_ = state_ == State::kOff ? State::kOff : State::kEnded;
  next_poll_ns_ = kNever;
}

void GpuSource::detach() {
  const bool alive = driver_.state() == CudaState::kReady;
  if (alive) {
    const Result result = library_.flush_all(kForced);
    if (result != kSuccess) trouble("cuptiActivityFlushAll: " + library_.describe(result));
  }
  read_filled();
  if (alive) {
    count_drops();
    for (const std::uint32_t kind : enabled_) {
      const Result result = library_.disable(kind);
      if (result != kSuccess) trouble("cuptiActivityDisable: " + library_.describe(result));
    }
    if (calls_by_id_) {
      library_.disable(kRuntimeKind);
      library_.disable(kDriverKind);
    }
    const Result result = library_.unsubscribe(subscriber_);
    if (result != kSuccess) trouble("cuptiUnsubscribe: " + library_.describe(result));
  }
  shared().attached.store(false);
  enabled_.clear();
  subscriber_ = nullptr;
  shared().pool.release();
}

void GpuSource::abandon() {
  if (shared().used.load()) shared().dead.store(true);
  state_ = State::kOff;
}

void GpuSource::give_up(const std::string& reason) {
  reason_ = reason;
  state_ = State::kEnded;
  meta_pending_ = true;
  notices().add("GPU activity is not recorded: " + reason, true);
}

void GpuSource::trouble(const std::string& text) {
  if (std::find(troubles_.begin(), troubles_.end(), text) != troubles_.end()) return;
  troubles_.push_back(text);
  meta_pending_ = true;
  notices().add("GPU activity: " + text, true);
}

std::string GpuSource::meta() const {
  const bool recording = reason_.empty();
  std::string json = std::string("{\"state\":") + (recording ? "\"recorded\"" : "\"unavailable\"");
  if (!recording) json += ",\"reason\":" + json_string(reason_);
  if (version_ != 0) json += ",\"cupti_version\":" + std::to_string(version_);
  if (!library_.path.empty()) {
    json += ",\"library\":" + json_string(library_.path.substr(library_.path.rfind('/') + 1));
  }
  if (recording) {
    json += std::string(",\"clock\":") + (own_clock_ ? "\"monotonic\"" : "\"converted\"");
    json += std::string(",\"calls\":") + (calls_by_id_ ? "\"selected\"" : "\"filtered\"");
    json += std::string(",\"graph_nodes\":") + (options_.graph_nodes ? "true" : "false");
    json += ",\"attached_ns\":" + std::to_string(attached_ns_);
    json += ",\"devices\":" + driver_.devices_json();
  }
  json += ",\"troubles\":[";
  for (std::size_t i = 0; i < troubles_.size(); ++i) {
    json += (i > 0 ? "," : "") + json_string(troubles_[i]);
  }
  return json + "]}";
}

}  // namespace tracemill::cupti
