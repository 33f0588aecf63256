// The part of `Annotations` that runs on the recorder thread.
#include <algorithm>

#include "annotations.hpp"
#include "segment_writer.hpp"
#include "thread_slot.hpp"

namespace tracemill {

void Annotations::drain(SegmentWriter& writer) {
  collect();
  std::vector<ForeignRange> open;
  snapshot(open);
  // After everything was read from the threads: all ticks at hand are older than this reading.
  clock_->add_reading();
  if (stopping_) {
    drops_.add(Drop::kUnfinished, open.size());
  } else {
    // Before the finished ranges: a range stands in the snapshot or among the finished, never both.
    write_open(writer, open);
  }
  write_finished(writer);
  write_transitions(writer);
}

// Takes the finished ranges out of the rings and frees the slots of threads that have ended.
void Annotations::collect() {
  std::vector<ThreadSlot*> slots;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    slots.reserve(slots_.size());
    for (const auto& slot : slots_) slots.push_back(slot.get());
    collected_.insert(collected_.end(), foreign_.begin(), foreign_.end());
    foreign_.clear();
  }
  for (ThreadSlot* slot : slots) {
    const bool dead = slot->dead.load(std::memory_order_acquire);
    slot->ring.drain([&](const FinishedRange& range) {
      collected_.push_back({slot->thread, range});
    });
    if (!dead) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<OpenRange> open;
    slot->copy_open(open);
    if (open.size() > slot->ended_elsewhere.size()) {
      drops_.add(Drop::kUnfinished, open.size() - slot->ended_elsewhere.size());
    }
    slots_.erase(std::find_if(slots_.begin(), slots_.end(),
                              [slot](const auto& other) { return other.get() == slot; }));
  }
}

void Annotations::snapshot(std::vector<ForeignRange>& open) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& slot : slots_) {
    std::vector<OpenRange> ranges;
    if (!slot->copy_open(ranges)) continue;
    const auto& ended = slot->ended_elsewhere;
    for (const OpenRange& range : ranges) {
      if (std::find(ended.begin(), ended.end(), range.handle) != ended.end()) continue;
      open.push_back({slot->thread,
                      {range.start_ticks, range.start_ticks, range.index, range.series,
                       range.depth}});
    }
  }
}

void Annotations::write_open(SegmentWriter& writer, const std::vector<ForeignRange>& open) {
  const std::int64_t now = monotonic_ns();
  Columns rows(schema::kOpenAnnotationsColumns);
  std::int64_t oldest = now;
  for (const ForeignRange& item : open) {
    if (rows.rows() == schema::kMaxBlockRows) break;
    const std::int64_t start = clock_->to_ns(item.range.start_ticks);
    oldest = std::min(oldest, start);
    rows.add(item.thread, item.range.series, item.range.index, item.range.depth, start);
  }
  const bool worth_it = now - oldest >= flush_ns_;
  if (!worth_it) rows.clear();
  if (!worth_it && !open_written_) return;
  BlockSpec spec{schema::Kind::kOpenAnnotations, schema::kOpenAnnotationsEncodings, oldest, now};
  spec.string_column = 1;
  if (writer.write_columns(spec, rows)) open_written_ = worth_it;
}

void Annotations::write_finished(SegmentWriter& writer) {
  // By thread and start: neighbours differ little, so the deltas are small.
  std::sort(collected_.begin(), collected_.end(), [](const auto& a, const auto& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.range.start_ticks != b.range.start_ticks) {
      return a.range.start_ticks < b.range.start_ticks;
    }
    return a.range.depth < b.range.depth;
  });
  Columns rows(schema::kAnnotationsColumns);
  for (std::size_t first = 0; first < collected_.size(); first += schema::kMaxBlockRows) {
    const std::size_t end = std::min(collected_.size(), first + schema::kMaxBlockRows);
    rows.clear();
    writer.rotate_if_due();
    std::int64_t first_ns = Source::kNever;
    std::int64_t last_ns = 0;
    for (std::size_t i = first; i < end; ++i) {
      const FinishedRange& range = collected_[i].range;
      const std::int64_t start = clock_->to_ns(range.start_ticks);
      const std::int64_t stop = std::max(start, clock_->to_ns(range.end_ticks));
      first_ns = std::min(first_ns, start);
      last_ns = std::max(last_ns, stop);
      rows.add(collected_[i].thread, range.series, range.index, range.depth, start, stop - start);
    }
    BlockSpec spec{schema::Kind::kAnnotations, schema::kAnnotationsEncodings, first_ns, last_ns};
    spec.string_column = 1;
    spec.rows_are_events = true;
    writer.write_columns(spec, rows);
  }
  collected_.clear();
}

void Annotations::write_transitions(SegmentWriter& writer) {
  std::vector<Transition> transitions;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    transitions.swap(transitions_);
  }
  if (transitions.empty()) return;
  clock_->add_reading();
  Columns rows(schema::kCaptureColumns);
  for (const Transition& change : transitions) rows.add(clock_->to_ns(change.ticks), change.state);
  BlockSpec spec{schema::Kind::kCapture, schema::kCaptureEncodings,
                 static_cast<std::int64_t>(rows.values[0].front()),
                 static_cast<std::int64_t>(rows.values[0].back())};
  spec.within_reserve = true;
  writer.write_columns(spec, rows);
}

}  // namespace tracemill
