// Checks of the native core without Python. Prints what failed and returns the number of failures.
#include <chrono>
#include <cstdio>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "annotations.hpp"
#include "block.hpp"
#include "clock.hpp"
#include "notices.hpp"
#include "perf_counters.hpp"
#include "proc_files.hpp"
#include "recorder.hpp"
#include "ring.hpp"
#include "strings.hpp"

using namespace tracemill;

namespace {

int failures = 0;

void check(bool right, const char* what, int line) {
  if (right) return;
  ++failures;
  std::printf("line %d: %s\n", line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

void test_checksum() {
  const std::string text = "123456789";
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  CHECK(crc32c(bytes, text.size()) == 0xE3069283);
  CHECK(crc32c(bytes + 4, 5, crc32c(bytes, 4)) == 0xE3069283);
  CHECK(crc32c(bytes, 0) == 0);
}

void test_columns() {
  Columns columns(2);
  columns.add(5, std::int64_t{-1});
  columns.add(5, std::int64_t{1});
  const schema::Encoding encodings[] = {schema::Encoding::kPlain, schema::Encoding::kDelta};
  Payload payload;
  encode_columns(columns, encodings, payload);
  // width 1, 5 5; width 1, zigzag(-1) = 1, zigzag(+2) = 4
  CHECK((payload.bytes == std::vector<std::uint8_t>{1, 5, 5, 1, 1, 4}));
  CHECK((payload.cuts == std::vector<std::size_t>{3, 6}));
  payload.clear();
  encode_columns(Columns(2), encodings, payload);
  CHECK((payload.bytes == std::vector<std::uint8_t>{0, 0}));
}

const char kCascadeLake[] =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8259CL\nstepping\t: 7\n";

std::uint64_t code_of(CpuModel::Maker maker, unsigned family, unsigned model, std::string* name) {
  Missing missing;
  const auto specs = counters_of({maker, family, model}, missing);
  CHECK(specs.front().name == std::string("clk_unhalted_ref.tsc"));
  *name = specs.size() > 1 ? specs.back().name : "";
  CHECK(missing.empty() == (*name == "itlb_misses.miss_causes_a_walk"));
  return specs.size() > 1 ? specs.back().config : 0;
}

void test_counters() {
  const CpuModel cpu = parse_cpu_model(kCascadeLake);
  CHECK(cpu.maker == CpuModel::Maker::kIntel && cpu.family == 6 && cpu.model == 85);
  CHECK(parse_cpu_model("").maker == CpuModel::Maker::kOther);
  using Maker = CpuModel::Maker;
  std::string name;
  CHECK(code_of(Maker::kIntel, 6, 85, &name) == 0x0185);
  CHECK(name == "itlb_misses.miss_causes_a_walk");
  CHECK(code_of(Maker::kIntel, 6, 106, &name) == 0x0E85 && name == "itlb_misses.walk_completed");
  CHECK(code_of(Maker::kIntel, 6, 143, &name) == 0x0E11 && name == "itlb_misses.walk_completed");
  CHECK(code_of(Maker::kAmd, 0x19, 1, &name) == 0x0F85 && name == "bp_l1_tlb_miss_l2_tlb_miss");
  CHECK(code_of(Maker::kAmd, 0x17, 1, &name) == 0 && name.empty());
  CHECK(code_of(Maker::kOther, 0, 0, &name) == 0 && name.empty());
  CHECK(counter_refusal(2).find("virtual") != std::string::npos);
  CHECK(counter_refusal(13).find("perf_event_paranoid") != std::string::npos);

  // A counter of the kernel's own takes the place of the hardware's, which test machines lack.
  PerfCounters counters;
  counters.open({{schema::Metric::kClkUnhaltedRefTsc, "cpu-clock", 1, 0},
                 {schema::Metric::kItlbMissesMissCausesAWalk, "no such event", 4, 0xFFFFFFFFFFFF}},
                1);
  const bool allowed = counters.names().size() == 1;
  CHECK(counters.missing().size() == (allowed ? 1u : 2u));
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  counters.read([&](schema::Metric, std::int64_t, std::uint64_t value) { first = value; });
  for (volatile int i = 0; i < 1000000; i = i + 1) continue;
  counters.read([&](schema::Metric, std::int64_t, std::uint64_t value) { second = value; });
  CHECK(!allowed || second > first);
  counters.close();
  // More files than a process may open: none are taken.
  PerfCounters many;
  many.open({{schema::Metric::kClkUnhaltedRefTsc, "cpu-clock", 1, 0}}, 1u << 31);
  CHECK(many.names().empty() && many.missing().size() == 1);
}

void test_pressure() {
  std::uint64_t waited_us = 0;
  CHECK(parse_pressure("some avg10=0.00 avg60=0.10 avg300=0.00 total=12345\nfull total=1\n",
                       waited_us));
  CHECK(waited_us == 12345);
  CHECK(!parse_pressure("", waited_us));
}

void test_ring() {
  Ring<int> ring(16);
  std::vector<int> taken;
  for (int i = 0; i < 20; ++i) CHECK(ring.push(i) == (i < 16));
  ring.drain([&](int value) { taken.push_back(value); });
  CHECK(taken.size() == 16 && taken.front() == 0 && taken.back() == 15);
  CHECK(ring.push(99));
}

void test_ring_with_two_threads() {
  constexpr int kEvents = 300000;
  Ring<int> ring(64);
  int refused = 0;
  std::vector<int> taken;
  std::thread producer([&] {
    for (int i = 0; i < kEvents; ++i) refused += ring.push(i) ? 0 : 1;
    while (!ring.push(-1)) std::this_thread::yield();
  });
  while (taken.empty() || taken.back() != -1) {
    ring.drain([&](int value) { taken.push_back(value); });
  }
  producer.join();
  CHECK(static_cast<int>(taken.size()) == kEvents - refused + 1);
  for (std::size_t i = 1; i + 1 < taken.size(); ++i) {
    if (taken[i] <= taken[i - 1]) return CHECK(false);
  }
}

void test_names() {
  CHECK(fold_name("step_12").series == "step" && fold_name("step_12").index == 12);
  CHECK(fold_name("a_01").index == -1 && fold_name("_1").index == -1);
  StringTable table;
  const std::uint32_t id = table.intern("one");
  CHECK(id == 1 && table.intern("two") == 2 && table.intern("one") == id);
  CHECK(table.text(id) == "one" && table.text(0).empty() && table.text(77).empty());
  CHECK(table.intern(std::string(kMaxNameBytes + 1, 'x')) == 0);
}

void test_clock_map() {
  ClockMap map;
  map.add_reading();
  std::int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = monotonic_ns();
    const std::uint64_t ticks = now_ticks();
    const std::int64_t after = monotonic_ns();
    map.add_reading();
    const std::int64_t converted = map.to_ns(ticks);
    CHECK(converted >= last);
    CHECK(converted > before - 5000 && converted < after + 5000);
    last = converted;
  }
}

void test_stat() {
  std::vector<CpuTimes> cores;
  parse_stat(
      "cpu  10 20 30 40 50 60 70 80 0 0\n"
      "cpu0 1 2 3 4 5 6 7 8 9 10\n"
      "cpu3 100 0 0 900 0\n"
      "intr 5 6\n",
      cores);
  CHECK(cores.size() == 2);
  CHECK(cores[0].core == 0 && cores[0].total == 36 && cores[0].idle == 4 && cores[0].iowait == 5);
  CHECK(cores[1].core == 3 && cores[1].total == 1000 && cores[1].idle == 900);
  parse_stat("", cores);
  CHECK(cores.empty());
  parse_stat("cpu0 1 x", cores);
  CHECK(cores.size() == 1 && cores[0].total == 1);
}

void test_memory_and_io() {
  std::uint64_t value = 0;
  CHECK(parse_meminfo("MemTotal:       16 kB\nMemAvailable:\t 3 kB\n", "MemTotal", value));
  CHECK(value == 16384);
  CHECK(!parse_meminfo("MemTotalX: 16 kB\n", "MemTotal", value));
  CHECK(!parse_meminfo("MemTotal: none\n", "MemTotal", value));
  CHECK(parse_io("rchar: 1\nread_bytes: 4096\n", "read_bytes", value) && value == 4096);
  CHECK(parse_threads("7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 42 0", value));
  CHECK(value == 42);
  CHECK(!parse_threads("7 (cut", value) && !parse_threads("7 (x) S 1", value));
  CHECK(parse_resident_pages("100 25 3", value) && value == 25);
}

void test_disks_and_networks() {
  const ByteCounts disks = parse_diskstats(
      " 259 0 nvme0n1 10 0 8 0 20 0 16 0 0 0 0\n"
      " 259 1 nvme0n1p1 10 0 8 0 20 0 16 0 0 0 0\n"
      " 8 0 sda 1 0 2 0 1 0 4 0\n"
      " 8 16 sdb 1 0 2\n",
      [](std::string_view name) { return name == "nvme0n1" || name.substr(0, 2) == "sd"; });
  CHECK(disks.in == 10 * 512 && disks.out == 20 * 512);
  const ByteCounts networks = parse_net_dev(
      "Inter-|   Receive  |  Transmit\n"
      " face |bytes packets errs|bytes\n"
      "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
      "  eth0:1000 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n"
      "  ib0: 7 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0\n");
  CHECK(networks.in == 1007 && networks.out == 53);
  WholeDisks whole;
  CHECK(!whole.contains("loop0") && !whole.contains("dm-1") && !whole.contains("no such disk"));
}

void test_rules() {
  CaptureRules rules;
  CHECK(rules.wants(0) && rules.wants(1000));
  rules.scheduled = true;
  rules.skip = 2;
  rules.warmup = 1;
  rules.active = 2;
  rules.repeat = 2;
  std::string wanted;
  for (int step = 0; step < 10; ++step) wanted += rules.wants(step) ? '1' : '0';
  CHECK(wanted == "0001101100");
}

void test_json_string() { CHECK(json_string("a\"\\\n\x01") == "\"a\\\"\\\\\\u000a\\u0001\""); }

// Several threads annotate, some end each other's ranges, while recordings start and stop.
void test_recordings_under_load(const char* folder, const char* meta_members) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> shared{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&stop, &shared, number] {
      const std::uint32_t series = annotations().strings().intern("work");
      for (std::int64_t i = 0; !stop.load(); ++i) {
        const std::uint64_t outer = annotations().begin(number == 0 ? kStepSeries : series, i);
        const std::uint64_t inner = annotations().begin(series, -1);
        annotations().end(shared.exchange(inner));
        annotations().end(outer);
        if (i % 512 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  RecorderOptions options;
  options.node_folder = folder;
  options.meta_members = meta_members;
  options.flush_ns = 5000000;
  options.cpu_interval_ns = 10000000;
  options.ring_events = 1024;
  options.rotate_bytes = 20000;
  options.retry_ns = 1000000000;
  for (int round = 0; round < 10; ++round) {
    CHECK(start_recording(options));
    CHECK(!start_recording(options));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    recorder_status();
    CHECK(stop_recording(schema::end_reason::kStopped, ""));
    CHECK(!stop_recording(schema::end_reason::kStopped, ""));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int count, char** arguments) {
  init_clock();
  test_checksum();
  test_columns();
  test_counters();
  test_pressure();
  test_ring();
  test_ring_with_two_threads();
  test_names();
  test_clock_map();
  test_stat();
  test_memory_and_io();
  test_disks_and_networks();
  test_rules();
  test_json_string();
  if (count > 2) test_recordings_under_load(arguments[1], arguments[2]);
  if (failures == 0) std::printf("all checks passed\n");
  return failures == 0 ? 0 : 1;
}
