#include "annotations.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "segment_writer.hpp"
#include "thread_slot.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace tracemill {

namespace {

constexpr unsigned kStateBits = 3;
constexpr std::uint32_t kStateMask = (1u << kStateBits) - 1;

// Number of the recording (epoch) and CaptureState in one word, so that one comparison tells an
// application thread that nothing has changed. Epochs begin at 1: 0 never equals a slot's word.
std::atomic<std::uint32_t> g_control{1u << kStateBits};

thread_local ThreadSlot* t_slot = nullptr;
pthread_key_t g_slot_key;

CaptureState state_of(std::uint32_t control) {
  return static_cast<CaptureState>(control & kStateMask);
}

std::uint64_t this_thread_id() {
#if defined(__linux__)
  return static_cast<std::uint64_t>(syscall(SYS_gettid));
#elif defined(__APPLE__)
  std::uint64_t id = 0;
  pthread_threadid_np(nullptr, &id);
  return id;
#else
  return reinterpret_cast<std::uint64_t>(pthread_self());
#endif
}

void thread_ends(void* slot) {
  t_slot = nullptr;
  static_cast<ThreadSlot*>(slot)->dead.store(true, std::memory_order_release);
}

}  // namespace

bool CaptureRules::wants(std::int64_t step) const {
  if (!scheduled) return true;
  if (step < skip) return false;
  const std::int64_t cycle = warmup + active;
  if (repeat > 0 && (step - skip) / cycle >= repeat) return false;
  return (step - skip) % cycle >= warmup;
}

Annotations& annotations() {
  static Annotations& instance = *new Annotations;  // never destroyed: threads may outlive main
  return instance;
}

Annotations::Annotations() {
  pthread_key_create(&g_slot_key, thread_ends);
  strings_.intern("step");
  // Before the script can fill the table.
  for (const char* word : kDropWords) strings_.intern(word);
}

Annotations::~Annotations() = default;

CaptureState Annotations::state() const {
  return state_of(g_control.load(std::memory_order_acquire));
}

std::uint64_t Annotations::begin(std::uint32_t series, std::int64_t index) {
  ThreadSlot* slot = t_slot;
  if (slot != nullptr && series > kStepSeries &&
      slot->control.load(std::memory_order_relaxed) == g_control.load(std::memory_order_acquire)) {
    const std::uint64_t handle = slot->push(series, index);
    if (handle != 0) return handle;
  }
  return begin_slow(series, index);
}

void Annotations::end(std::uint64_t handle) {
  if (handle == 0) return;
  const std::uint64_t ticks = now_ticks();
  ThreadSlot* slot = t_slot;
  FinishedRange range;
  if (slot != nullptr &&
      slot->control.load(std::memory_order_relaxed) == g_control.load(std::memory_order_acquire) &&
      slot->pop(handle, ticks, range)) {
    if (!slot->ring.push(range)) {
      drops_.add(Drop::kRingFull);
      wake_recorder();
    } else if (slot->ring.at_half()) {
      wake_recorder();
    }
    return;
  }
  end_slow(handle, ticks);
}

std::uint64_t Annotations::begin_slow(std::uint32_t series, std::int64_t index) try {
  CaptureState now = state();
  if (now == CaptureState::kForked && restart_in_child != nullptr) {
    restart_in_child();
    now = state();
  }
  if (now == CaptureState::kIdle || now == CaptureState::kForked) return 0;
  if (series == kStepSeries) {
    step_begins();
    now = state();
  }
  if (now == CaptureState::kPaused) return 0;
  if (now == CaptureState::kLimited) {
    drops_.add(limit_reason_);
    return 0;
  }
  if (series == 0) {
    drops_.add(Drop::kNameLimit);
    return 0;
  }
  ThreadSlot* slot = slot_of_this_thread();
  const std::uint64_t handle = slot->push(series, index);
  if (handle == 0) drops_.add(Drop::kRingFull);
  return handle;
} catch (const std::exception&) {  // no memory: nothing may reach the training script
  drops_.add(Drop::kRingFull);
  return 0;
}

ThreadSlot* Annotations::slot_of_this_thread() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint32_t control = g_control.load(std::memory_order_acquire);
  const std::uint32_t epoch = control >> kStateBits;
  if (t_slot != nullptr && t_slot->epoch.load(std::memory_order_relaxed) != epoch &&
      t_slot->asked_ring_events != ring_events_) {
    t_slot->reset(epoch);  // this recording has rings of another size
    t_slot->dead.store(true, std::memory_order_release);
    t_slot = nullptr;
  }
  if (t_slot == nullptr) {
    auto made = std::make_unique<ThreadSlot>(next_slot_id_, this_thread_id(), ring_events_);
    next_slot_id_ = (next_slot_id_ % ((std::uint64_t{1} << 22) - 1)) + 1;
    slots_.push_back(std::move(made));
    t_slot = slots_.back().get();
    pthread_setspecific(g_slot_key, t_slot);
  }
  ThreadSlot* slot = t_slot;
  if (slot->epoch.load(std::memory_order_relaxed) != epoch) {
    slot->reset(epoch);
    slot->ended_elsewhere.clear();
  }
  FinishedRange unused;
  for (const std::uint64_t handle : slot->ended_elsewhere) slot->remove(handle, 0, unused);
  slot->ended_elsewhere.clear();
  const bool capturing = state_of(control) == CaptureState::kCapturing;
  slot->control.store(capturing ? control : 0, std::memory_order_relaxed);
  return slot;
}

void Annotations::end_slow(std::uint64_t handle, std::uint64_t ticks) try {
  const std::uint32_t control = g_control.load(std::memory_order_acquire);
  const CaptureState now = state_of(control);
  if (now == CaptureState::kIdle || now == CaptureState::kForked) return;
  ThreadSlot* slot = t_slot;
  if (slot == nullptr || slot->id != handle >> kSerialBits) {
    end_foreign(handle, ticks);
    return;
  }
  if (slot->epoch.load(std::memory_order_relaxed) != control >> kStateBits) {
    ignored_ends_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot = slot_of_this_thread();
  FinishedRange range;
  if (!slot->remove(handle, ticks, range)) {
    ignored_ends_.fetch_add(1, std::memory_order_relaxed);
  } else if (!slot->ring.push(range)) {
    drops_.add(Drop::kRingFull);
  }
} catch (const std::exception&) {
  drops_.add(Drop::kRingFull);
}

// The range of another thread: it is recorded for the thread that began it. The owner takes it off
// its stack at its next call; a zero control word sends it there.
void Annotations::end_foreign(std::uint64_t handle, std::uint64_t ticks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint32_t epoch = g_control.load(std::memory_order_acquire) >> kStateBits;
  for (const auto& slot : slots_) {
    if (slot->id != handle >> kSerialBits || slot->epoch.load() != epoch) continue;
    auto& ended = slot->ended_elsewhere;
    std::vector<OpenRange> open;
    slot->copy_open(open);
    for (const OpenRange& range : open) {
      if (range.handle != handle) continue;
      if (std::find(ended.begin(), ended.end(), handle) != ended.end()) break;
      ended.push_back(handle);
      slot->control.store(0, std::memory_order_relaxed);
      foreign_.push_back({slot->thread,
                          {range.start_ticks, std::max(ticks, range.start_ticks), range.index,
                           range.series, range.depth}});
      return;
    }
  }
  ignored_ends_.fetch_add(1, std::memory_order_relaxed);
}

bool Annotations::step_begins() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const CaptureState now = state();
  if (now != CaptureState::kCapturing && now != CaptureState::kPaused) return false;
  const bool wanted = rules_.wants(steps_seen_++);
  const bool capturing = now == CaptureState::kCapturing;
  if (wanted && rules_.max_steps > 0 && steps() >= rules_.max_steps) {
    if (capturing) add_transition(false);
    limit_reason_ = Drop::kStepLimit;
    set_state(CaptureState::kLimited);
    return false;
  }
  if (wanted) steps_captured_.fetch_add(1, std::memory_order_relaxed);
  if (wanted != capturing) {
    add_transition(wanted);
    set_state(wanted ? CaptureState::kCapturing : CaptureState::kPaused);
  }
  return wanted;
}

void Annotations::set_state(CaptureState state, bool new_epoch) {
  const std::uint32_t control = g_control.load(std::memory_order_relaxed);
  std::uint32_t epoch = control >> kStateBits;
  if (new_epoch && ++epoch >= 1u << (32 - kStateBits)) epoch = 1;
  g_control.store(epoch << kStateBits | static_cast<std::uint32_t>(state),
                  std::memory_order_release);
}

void Annotations::add_transition(bool capturing) {
  transitions_.push_back({now_ticks(), capturing ? 1u : 0u});
}

void Annotations::configure(const CaptureRules& rules, std::uint64_t ring_events,
                            std::int64_t flush_ns, ClockMap* clock) {
  rules_ = rules;
  ring_events_ = ring_events;
  flush_ns_ = flush_ns;
  clock_ = clock;
}

void Annotations::start() {
  clock_->add_reading();
  const std::lock_guard<std::mutex> lock(mutex_);
  steps_seen_ = 0;
  open_written_ = false;
  stopping_ = false;
  const bool used_up = rules_.max_steps > 0 && steps() >= rules_.max_steps;
  limit_reason_ = Drop::kStepLimit;
  if (used_up) {
    set_state(CaptureState::kLimited, true);
  } else if (rules_.wants(0)) {
    add_transition(true);
    set_state(CaptureState::kCapturing, true);
  } else {
    set_state(CaptureState::kPaused, true);
  }
}

void Annotations::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state() == CaptureState::kCapturing) add_transition(false);
  stopping_ = true;
  set_state(CaptureState::kIdle);
}

void Annotations::limit(Drop reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const CaptureState now = state();
  if (now != CaptureState::kCapturing && now != CaptureState::kPaused) return;
  if (now == CaptureState::kCapturing) add_transition(false);
  limit_reason_ = reason;
  set_state(CaptureState::kLimited);
}

const char* Annotations::limited_by() const {
  return state() == CaptureState::kLimited ? kDropWords[static_cast<unsigned>(limit_reason_)]
                                           : nullptr;
}

void Annotations::before_fork() {
  mutex_.lock();
  strings_.mutex().lock();
}

void Annotations::after_fork_parent() {
  strings_.mutex().unlock();
  mutex_.unlock();
}

void Annotations::after_fork_child() {
  strings_.mutex().unlock();
  mutex_.unlock();
  // The other threads do not exist here. Their slots are given up, not freed: a free could meet the
  // memory in a state that thread was changing. This thread's slot keeps the parent's thread id.
  for (auto& slot : slots_) static_cast<void>(slot.release());
  slots_.clear();
  foreign_.clear();
  transitions_.clear();
  new (&collected_) std::vector<ForeignRange>;  // the recorder thread may have been changing it
  t_slot = nullptr;
  pthread_setspecific(g_slot_key, nullptr);
  drops_.clear();
  steps_captured_.store(0);
  ignored_ends_.store(0);
  const CaptureState now = state();
  set_state(now == CaptureState::kIdle ? CaptureState::kIdle : CaptureState::kForked, true);
}

}  // namespace tracemill
