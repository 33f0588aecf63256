#include "recorder.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "block.hpp"
#include "codec.hpp"
#include "notices.hpp"
#include "nvml/nvml.hpp"
#include "sampler.hpp"
#include "segment_writer.hpp"
#include "termination.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace tracemill {

namespace {

constexpr std::int64_t kClockBlockNs = 5'000'000'000;
constexpr std::chrono::seconds kStopDeadline{10};
constexpr int kNice = 5;
// A signal handler cannot wake the thread, so it looks this often.
constexpr std::int64_t kSignalCheckNs = 100'000'000;

// What the recorder thread waits on. One for the process: application threads may wake it at any
// time, also while a session ends.
struct Waker {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> pending{false};
};

Waker& waker() {
  static Waker& instance = *new Waker;
  return instance;
}

class Session {
 public:
  Session(const RecorderOptions& options, WriterOptions writer_options, ClockMap* clock,
          std::uint64_t written_before);
  // Starts the thread; throws std::system_error.
  void start();
  // False if the thread did not end in time; it then goes on by itself.
  bool stop(const char* reason, const std::string& members);
  void abandon();

  const RecorderOptions options;
  SegmentWriter writer;

 private:
  void run();
  void wait(std::int64_t until_ns);
  void flush();
  void finish();
  void note_limit(const char* reason);
  std::int64_t next_poll_ns() const;

  Sampler sampler_;
  cupti::GpuSource gpu_;
  nvml::NvmlSource nvml_;
  std::vector<Source*> sources_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  bool done_ = false;  // guarded by the waker's mutex
  const char* reason_ = "";
  std::string members_;
  const char* limited_by_ = nullptr;
  std::int64_t next_clock_ns_ = 0;
};

struct Process {
  std::mutex mutex;  // held while a session starts or stops
  std::unique_ptr<Session> session;
  std::unique_ptr<RecorderOptions> inherited;  // options of the parent, in a forked child
  ClockMap* clock = nullptr;
  std::int64_t start_ns = 0;  // first start of recording, Unix epoch
  std::int64_t parent_pid = 0;
  std::string folder;
  std::uint32_t next_segment = 0;
  std::uint64_t written_bytes = 0;  // by earlier sessions
};

Process& process() {
  static Process& instance = *new Process;
  return instance;
}

Session::Session(const RecorderOptions& session_options, WriterOptions writer_options,
                 ClockMap* clock, std::uint64_t written_before)
    : options(session_options),
      writer(annotations().strings(), annotations().drops(), std::move(writer_options)),
      sampler_({session_options.cpu_interval_ns, session_options.cpu_duration_ns,
                session_options.lock_path,
                [this, written_before] { return written_before + writer.written_bytes(); }}),
      gpu_(session_options.gpu, annotations().strings(), annotations().drops()),
      nvml_({session_options.nvml_interval_ns, session_options.cpu_duration_ns,
             session_options.lock_path.empty() ? "" : session_options.lock_path + "-gpu"}),
      sources_{&annotations(), &sampler_, &gpu_, &nvml_} {
  annotations().configure(options.rules, static_cast<std::uint64_t>(options.ring_events),
                          options.flush_ns, clock);
}

void Session::start() {
  writer.ensure_open();
  for (Source* source : sources_) source->start();
  // All signals blocked in the thread: it inherits the mask, so no handler of the script runs on it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    for (Source* source : sources_) source->stop();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  watch_termination();
}

void Session::run() {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "tracemill");
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
#endif
  try {
    std::int64_t next_flush_ns = monotonic_ns() + options.flush_ns;
    next_clock_ns_ = monotonic_ns() + kClockBlockNs;
    while (!stop_.load(std::memory_order_acquire)) {
      wait(std::min(next_flush_ns, next_poll_ns()));
      if (stop_.load(std::memory_order_acquire) || termination_requested()) break;
      const bool woken = waker().pending.exchange(false);
      const std::int64_t now = monotonic_ns();
      for (Source* source : sources_) source->poll(now);
      if (!woken && now < next_flush_ns) continue;
      flush();
      next_flush_ns = monotonic_ns() + options.flush_ns;
    }
    const bool terminating = termination_requested();
    {
      const std::lock_guard<std::mutex> lock(waker().mutex);
      if (terminating && !stop_.load()) {
        reason_ = schema::end_reason::kSignal;
        members_ = "\"signal\":\"SIGTERM\"";
      }
    }
    finish();
    if (terminating) terminate_as_requested();
  } catch (const std::exception& error) {
    annotations().stop();
    notices().add(std::string("recording ended: ") + error.what(), true);
  }
  const std::lock_guard<std::mutex> lock(waker().mutex);
  done_ = true;
  waker().changed.notify_all();
}

std::int64_t Session::next_poll_ns() const {
  std::int64_t next = Source::kNever;
  for (const Source* source : sources_) next = std::min(next, source->next_poll_ns());
  return next;
}

void Session::wait(std::int64_t until_ns) {
  std::unique_lock<std::mutex> lock(waker().mutex);
  std::int64_t left_ns = until_ns - monotonic_ns();
  if (watches_termination()) left_ns = std::min(left_ns, kSignalCheckNs);
  if (left_ns <= 0) return;
  waker().changed.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] {
    return waker().pending.load() || stop_.load(std::memory_order_acquire);
  });
}

void Session::flush() {
  writer.rotate_if_due();
  const std::int64_t now = monotonic_ns();
  if (now >= next_clock_ns_ && writer.ensure_open()) {
    writer.write_clock();
    next_clock_ns_ = now + kClockBlockNs;
  }
  for (Source* source : sources_) source->drain(writer);
  if (writer.budget_used_up() && limited_by_ == nullptr) {
    annotations().limit(Drop::kByteBudget);
    sampler_.stop();
    gpu_.stop();
    nvml_.stop();
    note_limit(schema::end_reason::kByteBudget);
    annotations().drain(writer);
  }
  if (limited_by_ == nullptr && annotations().limited_by() != nullptr) {
    gpu_.stop();
    note_limit(annotations().limited_by());
  }
  writer.write_drops();
}

void Session::note_limit(const char* reason) {
  limited_by_ = reason;
  const bool steps = std::strcmp(reason, schema::end_reason::kStepLimit) == 0;
  notices().add(steps ? "the step limit ended the capture of annotations (option max_steps)"
                      : "the byte budget ended the capture (option max_bytes)",
                false);
  writer.write_meta("\"capture_end_reason\":" + json_string(reason));
}

void Session::finish() {
  if (limited_by_ == nullptr) limited_by_ = annotations().limited_by();
  for (Source* source : sources_) source->stop();
  writer.retry_now();
  for (Source* source : sources_) source->drain(writer);
  if (writer.budget_used_up()) limited_by_ = schema::end_reason::kByteBudget;
  writer.write_drops();
  if (writer.ensure_open()) writer.write_clock();
  std::string members = "\"end_reason\":" + json_string(limited_by_ ? limited_by_ : reason_) +
                        ",\"stop_reason\":" + json_string(reason_) +
                        ",\"end_ns\":" + std::to_string(realtime_ns()) + ",\"notices\":[";
  const char* comma = "";
  for (const std::string& text : notices().all()) {
    members += comma + json_string(text);
    comma = ",";
  }
  members += "]";
  if (!members_.empty()) members += "," + members_;
  writer.write_meta(members);
  writer.close();
}

bool Session::stop(const char* reason, const std::string& members) {
  std::unique_lock<std::mutex> lock(waker().mutex);
  reason_ = reason;
  members_ = members;
  stop_.store(true, std::memory_order_release);
  waker().changed.notify_all();
  if (!waker().changed.wait_for(lock, kStopDeadline, [this] { return done_; })) {
    thread_.detach();
    return false;
  }
  lock.unlock();
  thread_.join();
  unwatch_termination();
  return true;
}

void Session::abandon() {
  writer.abandon();
  for (Source* source : sources_) source->abandon();
}

std::string process_meta(const RecorderOptions& options) {
  std::string meta = "\"pid\":" + std::to_string(getpid()) +
                     ",\"start_ns\":" + std::to_string(process().start_ns);
  if (process().parent_pid != 0) {
    meta += ",\"parent_pid\":" + std::to_string(process().parent_pid);
  }
  // A later recording of the same process: what ended the earlier one no longer holds.
  if (process().next_segment > 0) meta += ",\"end_reason\":null,\"capture_end_reason\":null";
  return meta + "," + options.meta_members;
}

bool start_locked(const RecorderOptions& options) {
  Process& self = process();
  if (self.session != nullptr) return false;
  if (self.start_ns == 0) self.start_ns = realtime_ns();
  if (self.clock == nullptr) self.clock = new ClockMap;
  const std::string folder = options.node_folder + "/process=" + std::to_string(getpid()) + "-" +
                             std::to_string(self.start_ns);
  if (folder != self.folder) self.next_segment = 0;
  self.folder = folder;
  WriterOptions writer_options;
  writer_options.folder = folder;
  writer_options.meta_members = process_meta(options);
  writer_options.first_segment = self.next_segment;
  writer_options.rotate_bytes = options.rotate_bytes;
  writer_options.rotate_ns = options.rotate_ns;
  writer_options.retry_ns = options.retry_ns;
  if (options.max_bytes > 0) {
    const auto left = options.max_bytes - static_cast<std::int64_t>(self.written_bytes);
    writer_options.budget_bytes = std::max<std::int64_t>(left, 1);
  }
  try {
    self.session =
        std::make_unique<Session>(options, writer_options, self.clock, self.written_bytes);
    self.session->start();
  } catch (const std::exception& error) {
    self.session.reset();
    notices().add(std::string("recording cannot be started: ") + error.what(), true);
    return false;
  }
  return true;
}

void restart_in_child() {
  Process& self = process();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.inherited == nullptr) return;
  const std::unique_ptr<RecorderOptions> options = std::move(self.inherited);
  start_locked(*options);
}

void before_fork() {
  annotations().before_fork();
  notices().mutex().lock();
}

void after_fork_parent() {
  notices().mutex().unlock();
  annotations().after_fork_parent();
}

void after_fork_child() {
  notices().mutex().unlock();
  annotations().after_fork_child();
  // These two may have been held by a thread that does not exist here.
  new (&waker()) Waker;
  Process& self = process();
  Session* session = self.session.release();  // given up, not freed: its thread was using it
  new (&self.mutex) std::mutex;
  if (session != nullptr) {
    session->abandon();
    self.inherited.reset(new RecorderOptions(session->options));
  }
  unwatch_termination();
  self.clock = nullptr;
  self.parent_pid = getppid();
  self.start_ns = 0;
  self.folder.clear();
  self.next_segment = 0;
  self.written_bytes = 0;
}

void init_process() {
  static const bool done = [] {
    // Whatever is initialised at first use must be so before the first thread: a fork in the middle
    // would leave the child waiting for an initialisation that never ends.
    waker();
    process();
    notices();
    available_codec();
    crc32c(nullptr, 0);
    annotations().restart_in_child = restart_in_child;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

void wake_recorder() {
  if (waker().pending.exchange(true)) return;
  { const std::lock_guard<std::mutex> lock(waker().mutex); }
  waker().changed.notify_all();
}

bool start_recording(const RecorderOptions& options) {
  init_clock();
  init_process();
  Process& self = process();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.inherited.reset();
  return start_locked(options);
}

bool stop_recording(const char* reason, const std::string& members) {
  Process& self = process();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.session == nullptr) {
    if (self.inherited != nullptr) annotations().stop();
    self.inherited.reset();
    return false;
  }
  const bool ended = self.session->stop(reason, members);
  self.written_bytes += self.session->writer.written_bytes();
  self.next_segment = self.session->writer.next_segment();
  if (!ended) {
    annotations().stop();
    notices().add("the disk is too slow: the end of the recording may be missing", true);
    static_cast<void>(self.session.release());
  }
  self.session.reset();
  return true;
}

RecorderStatus recorder_status() {
  static constexpr const char* kStates[] = {"idle", "capturing", "paused", "limited", "forked"};
  Process& self = process();
  RecorderStatus status;
  status.state = kStates[static_cast<unsigned>(annotations().state())];
  status.steps = annotations().steps();
  status.ignored_ends = annotations().ignored_ends();
  const std::lock_guard<std::mutex> lock(self.mutex);
  status.folder = self.folder;
  status.written_bytes = self.written_bytes;
  status.segments = self.next_segment;
  if (self.session != nullptr) {
    status.written_bytes += self.session->writer.written_bytes();
    status.segments = self.session->writer.next_segment();
  }
  return status;
}

}  // namespace tracemill
