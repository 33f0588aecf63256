// A source of records. The recorder thread owns the sources of a session and calls them in turn.
#pragma once
#include <cstdint>
#include <limits>

namespace tracemill {

class SegmentWriter;

class Source {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  virtual ~Source() = default;
  // The session begins. Called before the recorder thread runs.
  virtual void start() = 0;
  // The session ends; `drain` is called once more afterwards.
  virtual void stop() = 0;
  // CLOCK_MONOTONIC time at which `poll` should be called next.
  virtual std::int64_t next_poll_ns() const { return kNever; }
  virtual void poll(std::int64_t /*now_ns*/) {}
  // Hands everything collected so far to the writer.
  virtual void drain(SegmentWriter& writer) = 0;
  // Closes file descriptors in a forked child. Must not take locks or touch memory of threads.
  virtual void abandon() {}
};

}  // namespace tracemill
