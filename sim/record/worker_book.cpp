#include "sim/record/worker_book.hpp"

#include <algorithm>
#include <utility>

namespace psim {

double& WorkerTime::of(Use use) {
  switch (use) {
    case Use::compute: return compute;
    case Use::network: return network;
    case Use::down: return absent;
    default: return wait;
  }
}

WorkerTime& WorkerTime::operator+=(const WorkerTime& other) {
  compute += other.compute;
  network += other.network;
  wait += other.wait;
  absent += other.absent;
  return *this;
}

double WorkerStats::mean_step() const {
  const std::int64_t steps = starts - 1 - gaps;
  return steps > 0 ? (last_start - first_start - gap_seconds) / static_cast<double>(steps) : time.total();
}

// Adds the time since the last change to what the worker was doing.
void WorkerBook::account(double now) {
  if (!closed_ && *last_work_ >= since_ && *last_work_ < now) {
    const double last = *last_work_;
    account(last);
    mark_ = {.at = last, .time = stats_->time, .through = through_};
  }
  if (!closed_) {
    (through_ ? later_ : stats_->time).of(use()) += now - since_;
    mark(now);
  }
  since_ = now;
}

void WorkerBook::is_absent_at_first() {
  stats_->here_at_first = false;
  go_away();
}

void WorkerBook::on_message(double at, int change) {
  account(at);
  in_flight_ += change;
}

void WorkerBook::on_join(double at) {
  if (!absent_ && !through_) return;
  account(at);
  if (absent_) held_.clear();  // its gradients are lost, or have arrived
  absent_ = false;
  if (!std::exchange(through_, false)) return;
  stats_->time += std::exchange(later_, {});
  if (spans_ != nullptr) spans_->comes_back(node_, at);
  returned_ = skips_ = true;
}

void WorkerBook::on_crash(double at) {
  account(at);
  go_away();
}

void WorkerBook::go_away() {
  absent_ = returned_ = skips_ = true;
  computing_ = step_goes_on_ = false;
}

void WorkerBook::on_member(bool takes_part) {
  member_ = takes_part;
  note_clock();
  skips_ = skips_ || !takes_part;
}

// The worker has finished or skipped all clocks before `clock`.
void WorkerBook::reach(std::int64_t clock) {
  if (clock > clock_ && !std::exchange(skips_, false) && !counts_steps_) stats_->clocks += clock - clock_;
  clock_ = clock;
  note_clock();
}

void WorkerBook::on_begin(double at, const Computation& step) {
  if (step.is_first()) {
    if (stats_->starts++ == 0) {
      stats_->first_start = at;
    } else if (returned_) {
      ++stats_->gaps;
      stats_->gap_seconds += at - stats_->last_start;
    }
    stats_->last_start = at;
  }
  in_step_ = true;
  const bool is_back = std::exchange(returned_, false) || !pushes_;
  // A worker that is back computes this clock and the later clocks again: their earlier gradients have
  // reached no server. Another worker may begin a second batch of its clock while the push of the first is on
  // its way.
  if (step.is_first() && !counts_steps_) {
    const std::int64_t again = *step.clock + (is_back ? 0 : 1);
    std::erase_if(held_, [again](const Held& one) { return one.clock >= again; });
  }
  reach(*step.clock);
}

void WorkerBook::on_computation(double at, const Computation& what) {
  account(at);
  const bool goes_on = what.phase == ComputePhase::begun || what.phase == ComputePhase::resumed;
  if (what.work == Work::step) step_goes_on_ = goes_on;
  computing_ = goes_on || step_goes_on_;  // a filter may end within a step
  if (what.samples) {
    stats_->samples += *what.samples;
    hold(what.clock.value_or(clock_), *what.samples);
  }
  if (what.work != Work::step) return;
  switch (what.phase) {
    case ComputePhase::begun: return on_begin(at, what);
    case ComputePhase::ended:
      in_step_ = false;
      if (!what.is_last()) return;
      clock_ = *what.clock + 1;
      note_clock();
      ++stats_->clocks;
      return;
    case ComputePhase::cancelled:
    case ComputePhase::killed:
      if (std::exchange(in_step_, false)) ++stats_->cancelled;
      return;
    default: return;
  }
}

void WorkerBook::hold(std::int64_t clock, std::int64_t samples) {
  const auto same = std::ranges::find(held_, clock, &Held::clock);
  if (same == held_.end()) held_.push_back({clock, samples});
  else same->samples += samples;
}

// The push also contains earlier gradients that were not dropped: under elastic averaging a worker pushes its
// copy, which these gradients have moved. Pushes of tasks have no order.
std::int64_t WorkerBook::on_applied(std::int64_t clock) {
  const auto is_in = [this, clock](const Held& one) {
    return counts_steps_ ? one.clock == clock : one.clock <= clock;
  };
  std::int64_t samples = 0;
  for (const Held& one : held_) samples += is_in(one) ? one.samples : 0;
  std::erase_if(held_, is_in);
  stats_->samples_used += samples;
  return samples;
}

void WorkerBook::on_dropped(std::int64_t clock) {
  std::erase_if(held_, [clock](const Held& one) { return one.clock == clock; });
}

std::int64_t WorkerBook::on_own_update() {
  std::int64_t samples = 0;
  for (const Held& one : held_) samples += one.samples;
  stats_->samples_used += samples;
  held_.clear();
  return samples;
}

void WorkerBook::on_finish(double at, const Finish& what) {
  account(at);
  computing_ = step_goes_on_ = false;
  if (what.leaves) return go_away();
  reach(what.clock);
  through_ = true;
  stats_->through = at;
}

void WorkerBook::close(double at) {
  if (!closed_ && at < since_ && !(at < mark_.at) && !(at > mark_.at)) {
    stats_->time = mark_.time;
    through_ = mark_.through;
    since_ = at;
  }
  account(at);
  if (!through_ && !closed_) stats_->through = at;
  if (spans_ != nullptr) spans_->close(node_, at);
  closed_ = true;
}

}  // namespace psim
