#include "perf_counters.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "notices.hpp"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

namespace tracemill {

namespace {

using schema::Metric;

constexpr char kRefCycles[] = "clk_unhalted_ref.tsc";
constexpr char kWalkCaused[] = "itlb_misses.miss_causes_a_walk";
constexpr char kWalkCompleted[] = "itlb_misses.walk_completed";
constexpr char kAmdItlbMisses[] = "bp_l1_tlb_miss_l2_tlb_miss";

constexpr std::uint32_t kHardware = 0;  // PERF_TYPE_HARDWARE
constexpr std::uint32_t kRaw = 4;       // PERF_TYPE_RAW
constexpr std::uint64_t kHardwareRefCycles = 9;
// The event number is the low byte, the unit mask the next.
constexpr std::uint64_t kIntelWalkCaused = 0x0185;
constexpr std::uint64_t kIceLakeWalkCompleted = 0x0E85;
constexpr std::uint64_t kSapphireRapidsWalkCompleted = 0x0E11;
constexpr std::uint64_t kZen2ItlbMisses = 0x0F85;
// The share of the files a process may open that counters may take.
constexpr std::uint64_t kFileShare = 8;

template <std::size_t N>
bool is_one_of(unsigned model, const unsigned (&models)[N]) {
  return std::find(std::begin(models), std::end(models), model) != std::end(models);
}

// Models of Intel's family 6.
constexpr unsigned kWithWalkCaused[] = {0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56,  // Haswell, Broadwell
                                        0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6};  // Skylake to Comet Lake
constexpr unsigned kIceLake[] = {0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7};  // and Tiger, Rocket Lake
constexpr unsigned kSapphireRapids[] = {0x8F, 0xCF, 0xAD, 0xAE};  // and Emerald, Granite Rapids

std::string_view value_after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    const std::size_t colon = text.find(':', at);
    // "model" must not match "model name".
    const std::string_view between = text.substr(at + key.size(), colon - at - key.size());
    if (colon == std::string_view::npos ||
        between.find_first_not_of(" \t") != std::string_view::npos) {
      continue;
    }
    const std::size_t first = text.find_first_not_of(" \t", colon + 1);
    return text.substr(first, text.find('\n', first) - first);
  }
  return {};
}

unsigned number(std::string_view text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int open_counter(const CounterSpec& spec, int core) {
#if defined(__linux__)
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = spec.type;
  attributes.config = spec.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, core, -1, PERF_FLAG_FD_CLOEXEC));
#else
  static_cast<void>(spec);
  static_cast<void>(core);
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

CpuModel parse_cpu_model(std::string_view cpuinfo) {
  CpuModel found;
  const std::string_view maker = value_after(cpuinfo, "vendor_id");
  if (maker == "GenuineIntel") found.maker = CpuModel::Maker::kIntel;
  if (maker == "AuthenticAMD") found.maker = CpuModel::Maker::kAmd;
  found.family = number(value_after(cpuinfo, "cpu family"));
  found.model = number(value_after(cpuinfo, "model"));
  return found;
}

CpuModel this_cpu() {
  // The first core's lines are enough; the whole file takes long to make on a large machine.
  char text[1024];
  const int file = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  return length > 0 ? parse_cpu_model({text, static_cast<std::size_t>(length)}) : CpuModel{};
}

std::vector<CounterSpec> counters_of(const CpuModel& cpu, Missing& missing) {
  std::vector<CounterSpec> specs;
  // The kernel knows which event this is on each processor (0x0300 on Intel's).
  specs.push_back({Metric::kClkUnhaltedRefTsc, kRefCycles, kHardware, kHardwareRefCycles});
  const bool intel = cpu.maker == CpuModel::Maker::kIntel && cpu.family == 6;
  if (intel && is_one_of(cpu.model, kWithWalkCaused)) {
    specs.push_back({Metric::kItlbMissesMissCausesAWalk, kWalkCaused, kRaw, kIntelWalkCaused});
    return specs;
  }
  if (intel && (is_one_of(cpu.model, kIceLake) || is_one_of(cpu.model, kSapphireRapids))) {
    const bool ice_lake = is_one_of(cpu.model, kIceLake);
    specs.push_back({Metric::kItlbMissesWalkCompleted, kWalkCompleted, kRaw,
                     ice_lake ? kIceLakeWalkCompleted : kSapphireRapidsWalkCompleted});
    missing.emplace_back(kWalkCaused, std::string("this processor has it no more; ") +
                                          kWalkCompleted + " is recorded, which counts fewer");
    return specs;
  }
  const bool zen2_or_later = cpu.maker == CpuModel::Maker::kAmd &&
                             (cpu.family >= 0x19 || (cpu.family == 0x17 && cpu.model >= 0x30));
  if (zen2_or_later) {
    specs.push_back({Metric::kBpL1TlbMissL2TlbMiss, kAmdItlbMisses, kRaw, kZen2ItlbMisses});
    missing.emplace_back(kWalkCaused, std::string("a counter of Intel's; ") + kAmdItlbMisses +
                                          " is AMD's for the same");
    return specs;
  }
  missing.emplace_back(kWalkCaused, "its code on this processor is not known");
  return specs;
}

std::string counter_refusal(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "this machine shows no such hardware counter (as most virtual machines)";
    case EACCES:
    case EPERM:
      return "not allowed: kernel.perf_event_paranoid or the container's rules forbid counting";
    case ENOSYS: return "this system has no perf_event_open";
    default: return std::string("perf_event_open failed: ") + std::strerror(error);
  }
}

void PerfCounters::open(const std::vector<CounterSpec>& specs, unsigned cores) {
  rlimit files{};
  const bool known = getrlimit(RLIMIT_NOFILE, &files) == 0;
  if (known && std::uint64_t{cores} * specs.size() > files.rlim_cur / kFileShare) {
    for (const CounterSpec& spec : specs) {
      missing_.emplace_back(spec.name, "the process may open too few files for all cores (ulimit -n)");
    }
    return;
  }
  for (const CounterSpec& spec : specs) {
    int error = 0;
    std::size_t opened = 0;
    for (unsigned core = 0; core < cores; ++core) {
      const int file = open_counter(spec, static_cast<int>(core));
      if (file < 0) {
        error = errno;
        if (opened == 0) break;  // a core that is offline may lack it; without the first all do
        continue;
      }
      ++opened;
      open_.push_back({spec.metric, core, file});
    }
    if (opened > 0) {
      names_.emplace_back(spec.name);
    } else {
      missing_.emplace_back(spec.name, counter_refusal(error));
    }
  }
}

bool PerfCounters::read_one(int file, std::uint64_t& value) {
  std::uint64_t fields[3] = {};  // value, time enabled, time running
  if (::read(file, fields, sizeof fields) != static_cast<ssize_t>(sizeof fields)) return false;
  if (fields[2] == 0) {
    value = 0;
    return fields[1] == 0;  // never on the hardware since it was opened: no value, not zero
  }
  value = fields[0];
  if (fields[1] != fields[2]) {
    value = static_cast<std::uint64_t>(static_cast<double>(value) * static_cast<double>(fields[1]) /
                                       static_cast<double>(fields[2]));
  }
  return true;
}

void PerfCounters::close() {
  for (const Open& counter : open_) ::close(counter.file);
  open_.clear();
}

std::string counters_json(PerfCounters& counters) {
  std::string json = "{\"recorded\":[";
  const char* comma = "";
  for (const std::string& name : counters.names()) {
    json += comma + json_string(name);
    comma = ",";
  }
  json += "],\"missing\":{";
  comma = "";
  for (const auto& [name, reason] : counters.missing()) {
    json += comma + json_string(name) + ":" + json_string(reason);
    comma = ",";
  }
  return json + "}}";
}

}  // namespace tracemill
