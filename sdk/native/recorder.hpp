// A recording session: its sources, its writer and the thread that serves them; fork and exit.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "annotations.hpp"
#include "cupti/gpu_source.hpp"

namespace tracemill {

struct RecorderOptions {
  std::string node_folder;   // the process's folder is made below it
  std::string meta_members;  // JSON members of the first block, without braces; not empty
  std::string lock_path;     // one process per node samples the node; empty: every one does
  std::int64_t flush_ns = 0;
  std::int64_t cpu_interval_ns = 0;
  std::int64_t cpu_duration_ns = 0;
  std::int64_t ring_events = 0;
  std::int64_t rotate_bytes = 0;
  std::int64_t rotate_ns = 0;
  std::int64_t max_bytes = 0;
  std::int64_t retry_ns = 0;
  cupti::GpuOptions gpu;
  std::int64_t nvml_interval_ns = 0;
  CaptureRules rules;
};

struct RecorderStatus {
  const char* state;
  std::string folder;  // empty before the first recording
  std::uint64_t written_bytes = 0;
  std::uint32_t segments = 0;
  std::int64_t steps = 0;
  std::uint64_t ignored_ends = 0;
};

// Starts recording; false if a recording already runs or no thread can be started.
bool start_recording(const RecorderOptions& options);
// Ends the recording: everything is written, then `members` (JSON members, may be empty) with the
// reason in a last block. False if none ran. Waits at most about ten seconds for a slow disk.
bool stop_recording(const char* reason, const std::string& members);
RecorderStatus recorder_status();

}  // namespace tracemill
