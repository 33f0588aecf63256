#include "sampler.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "clock.hpp"
#include "notices.hpp"
#include "segment_writer.hpp"

namespace tracemill {

using schema::Metric;

namespace {
constexpr std::int64_t kLockRetryNs = 1000000000;
constexpr std::int64_t kWholeNode = -1;
}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)) {}

Sampler::~Sampler() { close_files(); }

void Sampler::start() {
  if (options_.interval_ns <= 0) return;
  const long ticks_per_s = sysconf(_SC_CLK_TCK);
  const long page = sysconf(_SC_PAGESIZE);
  if (ticks_per_s > 0) ns_per_tick_ = 1000000000u / static_cast<std::uint64_t>(ticks_per_s);
  if (page > 0) page_bytes_ = static_cast<std::uint64_t>(page);
  self_stat_.open("/proc/self/stat");
  self_statm_.open("/proc/self/statm");
  if (!self_stat_.is_open()) {
    notices().add("no /proc here: CPU, memory, disk and network are not sampled", false);
    close_files();
    return;
  }
  if (!self_io_.open("/proc/self/io")) {
    notices().add("/proc/self/io cannot be read: the process's disk traffic is not sampled", false);
  }
  next_ns_ = monotonic_ns();
  if (options_.duration_ns > 0) end_ns_ = next_ns_ + options_.duration_ns;
}

void Sampler::stop() {
  if (next_ns_ != kNever) take(monotonic_ns());
  close_files();
}

void Sampler::poll(std::int64_t now_ns) {
  if (now_ns < next_ns_) return;
  take(now_ns);
  if (now_ns >= end_ns_) {
    next_ns_ = kNever;
    return;
  }
  // On a grid from the first sample; late polls skip instead of piling up.
  const std::int64_t periods = (now_ns - next_ns_) / options_.interval_ns + 1;
  next_ns_ += periods * options_.interval_ns;
}

void Sampler::take(std::int64_t now_ns) {
  take_process(now_ns);
  if (hold_node_lock(now_ns)) take_node(now_ns);
}

bool Sampler::hold_node_lock(std::int64_t now_ns) {
  if (node_files_open_) return true;
  if (now_ns < next_lock_try_ns_) return false;
  next_lock_try_ns_ = now_ns + kLockRetryNs;
  if (!options_.lock_path.empty()) {
    if (lock_.load() < 0) {
      lock_.store(::open(options_.lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         0600));
    }
    if (lock_.load() < 0) {
      notices().add("the sampler's lock file " + options_.lock_path +
                        " cannot be opened: this process does not sample the node",
                    false);
      return false;
    }
    if (flock(lock_.load(), LOCK_EX | LOCK_NB) != 0) return false;
  }
  open_node_files();
  return true;
}

void Sampler::open_node_files() {
  stat_.open("/proc/stat");
  meminfo_.open("/proc/meminfo");
  diskstats_.open("/proc/diskstats");
  net_dev_.open("/proc/net/dev");
  cpu_pressure_.open("/proc/pressure/cpu");
  memory_pressure_.open("/proc/pressure/memory");
  io_pressure_.open("/proc/pressure/io");
  open_counters();
  node_files_open_ = true;
}

void Sampler::open_counters() {
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  counters_.missing().clear();
  const auto specs = counters_of(this_cpu(), counters_.missing());
  counters_.open(specs, cores > 0 ? static_cast<unsigned>(cores) : 1);
  meta_pending_ = true;
}

void Sampler::take_node(std::int64_t now_ns) {
  parse_stat(stat_.read(), cores_);
  for (const CpuTimes& core : cores_) {
    const std::uint64_t busy = core.total - core.idle - core.iowait;
    add(Metric::kCpuBusyNs, core.core, now_ns, busy * ns_per_tick_);
    add(Metric::kCpuTotalNs, core.core, now_ns, core.total * ns_per_tick_);
    add(Metric::kCpuIowaitNs, core.core, now_ns, core.iowait * ns_per_tick_);
  }
  const std::string_view memory = meminfo_.read();
  std::uint64_t total = 0;
  std::uint64_t available = 0;
  if (parse_meminfo(memory, "MemTotal", total)) {
    add(Metric::kMemoryTotalBytes, kWholeNode, now_ns, total);
    if (parse_meminfo(memory, "MemAvailable", available)) {
      add(Metric::kMemoryUsedBytes, kWholeNode, now_ns, total - std::min(total, available));
    }
  }
  if (diskstats_.is_open()) {
    const ByteCounts disk = parse_diskstats(
        diskstats_.read(), [this](std::string_view name) { return disks_.contains(name); });
    add(Metric::kDiskReadBytes, kWholeNode, now_ns, disk.in);
    add(Metric::kDiskWriteBytes, kWholeNode, now_ns, disk.out);
  }
  if (net_dev_.is_open()) {
    const ByteCounts net = parse_net_dev(net_dev_.read());
    add(Metric::kNetReceiveBytes, kWholeNode, now_ns, net.in);
    add(Metric::kNetTransmitBytes, kWholeNode, now_ns, net.out);
  }
  take_pressure(now_ns);
  counters_.read([&](Metric metric, std::int64_t core, std::uint64_t value) {
    add(metric, core, now_ns, value);
  });
}

void Sampler::take_pressure(std::int64_t now_ns) {
  std::uint64_t waited_us = 0;
  if (parse_pressure(cpu_pressure_.read(), waited_us)) {
    add(Metric::kCpuPressureNs, kWholeNode, now_ns, waited_us * 1000);
  }
  if (parse_pressure(memory_pressure_.read(), waited_us)) {
    add(Metric::kMemoryPressureNs, kWholeNode, now_ns, waited_us * 1000);
  }
  if (parse_pressure(io_pressure_.read(), waited_us)) {
    add(Metric::kIoPressureNs, kWholeNode, now_ns, waited_us * 1000);
  }
}

void Sampler::take_process(std::int64_t now_ns) {
  constexpr std::int64_t kProcess = -1;
  std::uint64_t value = 0;
  add(Metric::kProcessCpuNs, kProcess, now_ns, static_cast<std::uint64_t>(process_cpu_ns()));
  if (parse_resident_pages(self_statm_.read(), value)) {
    add(Metric::kProcessRssBytes, kProcess, now_ns, value * page_bytes_);
  }
  if (parse_threads(self_stat_.read(), value)) {
    add(Metric::kProcessThreads, kProcess, now_ns, value);
  }
  const std::string_view io = self_io_.read();
  if (parse_io(io, "read_bytes", value)) {
    add(Metric::kProcessReadBytes, kProcess, now_ns, value);
  }
  if (parse_io(io, "write_bytes", value)) {
    add(Metric::kProcessWriteBytes, kProcess, now_ns, value);
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    add(Metric::kProcessContextSwitches, kProcess, now_ns,
        static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw));
    add(Metric::kProcessMinorFaults, kProcess, now_ns, static_cast<std::uint64_t>(usage.ru_minflt));
    add(Metric::kProcessMajorFaults, kProcess, now_ns, static_cast<std::uint64_t>(usage.ru_majflt));
  }
  add(Metric::kRecorderCpuNs, kProcess, now_ns, static_cast<std::uint64_t>(thread_cpu_ns()));
  if (options_.written_bytes) {
    add(Metric::kRecorderWrittenBytes, kProcess, now_ns, options_.written_bytes());
  }
}

void Sampler::add(Metric metric, std::int64_t index, std::int64_t now_ns, std::uint64_t value) {
  samples_.push_back({metric, index, now_ns, value});
}

void Sampler::drain(SegmentWriter& writer) {
  // By series: the values of one metric and core change little from sample to sample.
  std::stable_sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return a.metric != b.metric ? a.metric < b.metric : a.index < b.index;
  });
  Columns rows(schema::kSamplesColumns);
  for (std::size_t first = 0; first < samples_.size(); first += schema::kMaxBlockRows) {
    const std::size_t end = std::min(samples_.size(), first + schema::kMaxBlockRows);
    rows.clear();
    std::int64_t first_ns = kNever;
    std::int64_t last_ns = 0;
    for (std::size_t i = first; i < end; ++i) {
      const Sample& sample = samples_[i];
      rows.add(static_cast<std::uint32_t>(sample.metric), sample.index, sample.time_ns,
               sample.value);
      first_ns = std::min(first_ns, sample.time_ns);
      last_ns = std::max(last_ns, sample.time_ns);
    }
    BlockSpec spec{schema::Kind::kSamples, schema::kSamplesEncodings, first_ns, last_ns};
    spec.rows_are_events = true;
    writer.write_columns(spec, rows);
  }
  samples_.clear();
  if (meta_pending_ && writer.write_meta("\"cpu_counters\":" + counters_json(counters_))) {
    meta_pending_ = false;
  }
}

void Sampler::close_files() {
  for (ProcFile* file :
       {&stat_, &meminfo_, &diskstats_, &net_dev_, &self_stat_, &self_statm_, &self_io_,
        &cpu_pressure_, &memory_pressure_, &io_pressure_}) {
    file->close();
  }
  counters_.close();
  node_files_open_ = false;
  const int lock = lock_.exchange(-1);
  if (lock >= 0) ::close(lock);
  next_ns_ = kNever;
}

void Sampler::abandon() { close_files(); }

}  // namespace tracemill
