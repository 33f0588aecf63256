#include "nvml/nvml.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "clock.hpp"
#include "notices.hpp"
#include "segment_writer.hpp"

namespace tracemill::nvml {

using schema::Metric;

namespace {

constexpr std::int64_t kRetryNs = 1'000'000'000;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;
constexpr unsigned kPcieTransmitField = 197;
constexpr unsigned kPcieReceiveField = 198;
constexpr unsigned kNvlinkTransmitField = 138;
constexpr unsigned kNvlinkReceiveField = 139;
constexpr unsigned kAllLinks = 0xFFFFFFFF;
constexpr std::uint64_t kBytesPerKib = 1024;

enum Reading : std::uint32_t {
  kUtilization, kMemoryUse, kPower, kEnergy, kSmClockRate, kMemoryClockRate, kTemperature, kThrottle,
  kPcieTransmit, kPcieReceive, kNvlinkTransmit, kNvlinkReceive,
};

template <typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

std::uint64_t field_number(const FieldValue& field) {
  switch (field.value_type) {
    case 0: return field.value.d < 0 ? 0 : static_cast<std::uint64_t>(field.value.d);
    case 1: return field.value.u;
    case 2: return field.value.ul;
    default: return field.value.ull;
  }
}

}  // namespace

void NvmlSource::start() {
  if (options_.interval_ns <= 0) return;
  next_ns_ = monotonic_ns();
  if (options_.duration_ns > 0) end_ns_ = next_ns_ + options_.duration_ns;
}

void NvmlSource::poll(std::int64_t now_ns) {
  if (now_ns < next_ns_) return;
  if (!open_ && !open()) {
    if (next_ns_ != kNever) next_ns_ = now_ns + kRetryNs;
    return;
  }
  take(now_ns);
  const std::int64_t periods = (now_ns - next_ns_) / options_.interval_ns + 1;
  next_ns_ = now_ns >= end_ns_ ? kNever : next_ns_ + periods * options_.interval_ns;
}

bool NvmlSource::hold_lock() {
  if (options_.lock_path.empty()) return true;
  if (lock_.load() < 0) {
    lock_.store(
        ::open(options_.lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  return lock_.load() >= 0 && flock(lock_.load(), LOCK_EX | LOCK_NB) == 0;
}

bool NvmlSource::open() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == nullptr) return false;
  if (!hold_lock()) return false;
  void* handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    give_up("libnvidia-ml.so.1 cannot be loaded");
    return false;
  }
  if (!bind(handle, "nvmlInit_v2", library_.init) ||
      !bind(handle, "nvmlShutdown", library_.shutdown) ||
      !bind(handle, "nvmlDeviceGetCount_v2", library_.count) ||
      !bind(handle, "nvmlDeviceGetHandleByIndex_v2", library_.handle)) {
    give_up("libnvidia-ml.so.1 lacks its basic functions");
    return false;
  }
  bind(handle, "nvmlDeviceGetName", library_.name);
  bind(handle, "nvmlDeviceGetUUID", library_.uuid);
  bind(handle, "nvmlDeviceGetUtilizationRates", library_.utilization);
  bind(handle, "nvmlDeviceGetMemoryInfo", library_.memory);
  bind(handle, "nvmlDeviceGetPowerUsage", library_.power);
  bind(handle, "nvmlDeviceGetTotalEnergyConsumption", library_.energy);
  bind(handle, "nvmlDeviceGetClockInfo", library_.clock);
  bind(handle, "nvmlDeviceGetTemperature", library_.temperature);
  bind(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", library_.throttle);
  bind(handle, "nvmlDeviceGetFieldValues", library_.fields);
  const int result = library_.init();
  if (result != 0) {
    give_up("nvmlInit failed with " + std::to_string(result));
    return false;
  }
  open_ = true;
  if (find_devices()) return true;
  give_up("NVML shows no GPU");
  return false;
}

bool NvmlSource::find_devices() {
  unsigned count = 0;
  if (library_.count(&count) != 0) return false;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu{nullptr, {}, {}, 0};
    if (library_.handle(i, &gpu.device) != 0) gpu.device = nullptr;
    char text[128] = {};
    if (gpu.device != nullptr && library_.name != nullptr &&
        library_.name(gpu.device, text, sizeof text - 1) == 0) {
      gpu.name = text;
    }
    if (gpu.device != nullptr && library_.uuid != nullptr &&
        library_.uuid(gpu.device, text, sizeof text - 1) == 0) {
      gpu.uuid = text;
    }
    gpus_.push_back(std::move(gpu));
  }
  meta_pending_ = true;
  return !gpus_.empty();
}

void NvmlSource::take(std::int64_t now_ns) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].device == nullptr) continue;
    take_device(i, now_ns);
    take_traffic(i, now_ns);
  }
}

void NvmlSource::take_device(std::size_t index, std::int64_t now_ns) {
  Gpu& gpu = gpus_[index];
  const auto place = static_cast<std::int64_t>(index);
  const auto has = [&gpu](Reading reading) { return (gpu.missing >> reading & 1) == 0; };
  const auto add = [&](Metric metric, std::uint64_t value) {
    samples_.push_back({metric, place, now_ns, value});
  };
  // A reading that a device refuses once is not asked for again.
  const auto got = [&gpu](Reading reading, int result) {
    if (result != 0) gpu.missing |= 1u << reading;
    return result == 0;
  };
  Utilization use{};
  if (library_.utilization && has(kUtilization) &&
      got(kUtilization, library_.utilization(gpu.device, &use))) {
    add(Metric::kGpuBusyPercent, use.gpu);
    add(Metric::kGpuMemoryBusyPercent, use.memory);
  }
  Memory memory{};
  if (library_.memory && has(kMemoryUse) && got(kMemoryUse, library_.memory(gpu.device, &memory))) {
    add(Metric::kGpuMemoryUsedBytes, memory.used);
    add(Metric::kGpuMemoryTotalBytes, memory.total);
  }
  unsigned value = 0;
  if (library_.power && has(kPower) && got(kPower, library_.power(gpu.device, &value))) {
    add(Metric::kGpuPowerMw, value);
  }
  unsigned long long wide = 0;
  if (library_.energy && has(kEnergy) && got(kEnergy, library_.energy(gpu.device, &wide))) {
    add(Metric::kGpuEnergyMj, wide);
  }
  if (library_.clock && has(kSmClockRate) &&
      got(kSmClockRate, library_.clock(gpu.device, kSmClock, &value))) {
    add(Metric::kGpuSmClockMhz, value);
  }
  if (library_.clock && has(kMemoryClockRate) &&
      got(kMemoryClockRate, library_.clock(gpu.device, kMemoryClock, &value))) {
    add(Metric::kGpuMemoryClockMhz, value);
  }
  if (library_.temperature && has(kTemperature) &&
      got(kTemperature, library_.temperature(gpu.device, kGpuSensor, &value))) {
    add(Metric::kGpuTemperatureC, value);
  }
  if (library_.throttle && has(kThrottle) && got(kThrottle, library_.throttle(gpu.device, &wide))) {
    add(Metric::kGpuThrottleReasons, wide);
  }
}

// The counters: asking for a rate instead would make NVML wait 20 ms in each direction.
void NvmlSource::take_traffic(std::size_t index, std::int64_t now_ns) {
  struct Counter {
    Reading reading;
    unsigned field, scope;
    Metric metric;
    std::uint64_t unit;
  };
  static constexpr Counter kCounters[] = {
      {kPcieTransmit, kPcieTransmitField, 0, Metric::kGpuPcieTransmitBytes, 1},
      {kPcieReceive, kPcieReceiveField, 0, Metric::kGpuPcieReceiveBytes, 1},
      {kNvlinkTransmit, kNvlinkTransmitField, kAllLinks, Metric::kGpuNvlinkTransmitBytes,
       kBytesPerKib},
      {kNvlinkReceive, kNvlinkReceiveField, kAllLinks, Metric::kGpuNvlinkReceiveBytes,
       kBytesPerKib}};
  if (library_.fields == nullptr) return;
  Gpu& gpu = gpus_[index];
  FieldValue values[4] = {};
  const Counter* asked[4] = {};
  int count = 0;
  for (const Counter& counter : kCounters) {
    if ((gpu.missing >> counter.reading & 1) != 0) continue;
    values[count].field = counter.field;
    values[count].scope = counter.scope;
    asked[count++] = &counter;
  }
  if (count == 0) return;
  const int result = library_.fields(gpu.device, count, values);
  for (int i = 0; i < count; ++i) {
    if (result != 0 || values[i].result != 0) {
      gpu.missing |= 1u << asked[i]->reading;
      continue;
    }
    samples_.push_back({asked[i]->metric, static_cast<std::int64_t>(index), now_ns,
                        field_number(values[i]) * asked[i]->unit});
  }
}

void NvmlSource::drain(SegmentWriter& writer) {
  std::stable_sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return a.metric != b.metric ? a.metric < b.metric : a.index < b.index;
  });
  Columns rows(schema::kSamplesColumns);
  for (std::size_t first = 0; first < samples_.size(); first += schema::kMaxBlockRows) {
    const std::size_t end = std::min(samples_.size(), first + schema::kMaxBlockRows);
    rows.clear();
    BlockSpec spec{schema::Kind::kSamples, schema::kSamplesEncodings, kNever, 0};
    spec.rows_are_events = true;
    for (std::size_t i = first; i < end; ++i) {
      const Sample& sample = samples_[i];
      rows.add(static_cast<std::uint32_t>(sample.metric), sample.index, sample.time_ns,
               sample.value);
      spec.first_ns = std::min(spec.first_ns, sample.time_ns);
      spec.last_ns = std::max(spec.last_ns, sample.time_ns);
    }
    writer.write_columns(spec, rows);
  }
  samples_.clear();
  if (meta_pending_ && writer.write_meta("\"nvml_devices\":" + meta())) meta_pending_ = false;
}

void NvmlSource::stop() {
  if (open_ && next_ns_ != kNever) take(monotonic_ns());
  release();
}

void NvmlSource::give_up(const std::string& reason) {
  notices().add("GPU use is not sampled: " + reason, false);
  release();
}

void NvmlSource::release() {
  next_ns_ = kNever;
  if (open_) library_.shutdown();
  open_ = false;
  const int lock = lock_.exchange(-1);
  if (lock >= 0) ::close(lock);
}

void NvmlSource::abandon() {
  open_ = false;
  next_ns_ = kNever;
  const int lock = lock_.exchange(-1);
  if (lock >= 0) ::close(lock);
}

std::string NvmlSource::meta() const {
  std::string json = "[";
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    json += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i);
    json += ",\"name\":" + json_string(gpus_[i].name);
    json += ",\"uuid\":" + json_string(gpus_[i].uuid) + "}";
  }
  return json + "]";
}

}  // namespace tracemill::nvml
