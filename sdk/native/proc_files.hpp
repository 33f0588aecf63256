// Reading and parsing of /proc. Parsers take text and return what they found, so that they can be
// tested without the files.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tracemill {

// A file of /proc kept open and read again from its beginning.
class ProcFile {
 public:
  ~ProcFile() { close(); }
  bool open(const char* path);
  void close();
  bool is_open() const { return file_.load(std::memory_order_relaxed) >= 0; }
  // The whole text; empty if it cannot be read. Valid until the next call.
  std::string_view read();

 private:
  std::atomic<int> file_{-1};
  std::vector<char> text_;
};

struct CpuTimes {
  std::int64_t core = -1;
  std::uint64_t total = 0, idle = 0, iowait = 0;  // in clock ticks
};

struct ByteCounts {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

void parse_stat(std::string_view text, std::vector<CpuTimes>& cores);
// Value in bytes of a line like "MemTotal:  16 kB"; false if there is none.
bool parse_meminfo(std::string_view text, std::string_view key, std::uint64_t& bytes);
// Sum over whole disks; `is_disk(name)` decides what one is.
ByteCounts parse_diskstats(std::string_view text,
                           const std::function<bool(std::string_view name)>& is_disk);
// Sum over all interfaces but the loopback.
ByteCounts parse_net_dev(std::string_view text);
// Number of threads in /proc/self/stat; false if the text is not as expected.
bool parse_threads(std::string_view text, std::uint64_t& threads);
// Resident pages in /proc/self/statm.
bool parse_resident_pages(std::string_view text, std::uint64_t& pages);
// Value of a line like "read_bytes: 12".
bool parse_io(std::string_view text, std::string_view key, std::uint64_t& value);
// Microseconds in which some task waited, from a file below /proc/pressure.
bool parse_pressure(std::string_view text, std::uint64_t& waited_us);

// Which block devices the kernel lists as disks of their own, backed by hardware.
class WholeDisks {
 public:
  bool contains(std::string_view name);

 private:
  std::map<std::string, bool> known_;
};

}  // namespace tracemill
