// User ranges. Application threads call `begin` and `end`: no lock, no system call, no wait. The
// recorder thread drains the threads' rings.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "block.hpp"
#include "clock.hpp"
#include "drops.hpp"
#include "ring.hpp"
#include "source.hpp"
#include "strings.hpp"

namespace tracemill {

enum class CaptureState : std::uint32_t {
  kIdle,       // no recording
  kCapturing,  // ranges are recorded
  kPaused,     // outside the schedule's windows
  kLimited,    // the step limit or byte budget ended the capture
  kForked,     // child of a recording process that has not recorded anything itself
};

struct CaptureRules {
  std::int64_t max_steps = 0;  // 0: no limit
  bool scheduled = false;
  std::int64_t skip = 0, warmup = 0, active = 1, repeat = 0;  // in steps; repeat 0: for ever
  // Whether the step with this number (from 0) falls into a window.
  bool wants(std::int64_t step) const;
};

constexpr std::uint32_t kStepSeries = 1;  // string id of "step", interned first
constexpr std::uint32_t kMaxOpenRanges = 4096;

struct FinishedRange {
  std::uint64_t start_ticks;
  std::uint64_t end_ticks;
  std::int64_t index;
  std::uint32_t series;
  std::uint32_t depth;
};

struct OpenRange {
  std::uint64_t handle;
  std::uint64_t start_ticks;
  std::int64_t index;
  std::uint32_t series;
  std::uint32_t depth;
};

class ThreadSlot;

class Annotations final : public Source {
 public:
  Annotations();
  ~Annotations() override;

  // Starts a range; 0 if it is not recorded. `series` 0 stands for a name that was refused.
  std::uint64_t begin(std::uint32_t series, std::int64_t index);
  // Ends a range. Any value is accepted; one that is no open range's handle is ignored.
  void end(std::uint64_t handle);

  CaptureState state() const;
  StringTable& strings() { return strings_; }
  DropCounters& drops() { return drops_; }

  void configure(const CaptureRules& rules, std::uint64_t ring_events, std::int64_t flush_ns,
                 ClockMap* clock);
  void start() override;
  void stop() override;
  void drain(SegmentWriter& writer) override;
  // Ends the capture because of `reason`.
  void limit(Drop reason);
  // The limit that ended the capture, null if none did.
  const char* limited_by() const;
  std::int64_t steps() const { return steps_captured_.load(std::memory_order_relaxed); }
  std::uint64_t ignored_ends() const { return ignored_ends_.load(std::memory_order_relaxed); }

  void before_fork();
  void after_fork_parent();
  void after_fork_child();
  // What a forked child calls at its first range; set by the recorder.
  void (*restart_in_child)() = nullptr;

 private:
  friend class ThreadSlot;
  struct ForeignRange {
    std::uint64_t thread;
    FinishedRange range;
  };
  struct Transition {
    std::uint64_t ticks;
    std::uint64_t state;
  };
  std::uint64_t begin_slow(std::uint32_t series, std::int64_t index);
  void end_slow(std::uint64_t handle, std::uint64_t ticks);
  void end_foreign(std::uint64_t handle, std::uint64_t ticks);
  bool step_begins();
  void set_state(CaptureState state, bool new_epoch = false);
  void add_transition(bool capturing);
  ThreadSlot* slot_of_this_thread();
  void collect();
  void snapshot(std::vector<ForeignRange>& open);
  void write_open(SegmentWriter& writer, const std::vector<ForeignRange>& open);
  void write_finished(SegmentWriter& writer);
  void write_transitions(SegmentWriter& writer);

  StringTable strings_;
  DropCounters drops_;
  CaptureRules rules_;
  std::uint64_t ring_events_ = 65536;
  std::int64_t flush_ns_ = 0;
  ClockMap* clock_ = nullptr;
  std::atomic<std::int64_t> steps_captured_{0};
  std::int64_t steps_seen_ = 0;
  std::atomic<std::uint64_t> ignored_ends_{0};
  Drop limit_reason_ = Drop::kStepLimit;
  bool open_written_ = false;
  bool stopping_ = false;
  std::vector<ForeignRange> collected_;

  std::mutex mutex_;  // guards what follows; never held during input or output
  std::vector<std::unique_ptr<ThreadSlot>> slots_;
  std::vector<ForeignRange> foreign_;
  std::vector<Transition> transitions_;
  std::uint64_t next_slot_id_ = 1;
};

Annotations& annotations();

// Wakes the recorder thread before a ring runs full.
void wake_recorder();

}  // namespace tracemill
