#include "sim/protocol/built_in_policies.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace psim {

std::int64_t StalenessBound::at(std::int64_t clock) const {
  std::int64_t bound = staleness;
  for (const auto& step : schedule) {
    if (static_cast<double>(clock) >= step[0]) bound = static_cast<std::int64_t>(step[1]);
  }
  return bound;
}

// Does not count while fewer than `pushes` wait: with ten thousand workers, a barrier asks at every push.
bool ShardView::has(std::int64_t pushes) const {
  if (std::ssize(pending) < pushes) return false;
  switch (counted) {
    case Counted::all: return true;
    case Counted::of_members:
      return std::ranges::count_if(pending,
                                   [&](const Push& push) { return !clocks[worker_of(push)].gone; }) >= pushes;
    case Counted::one_of_each_worker: {
      std::set<NodeId> workers;
      for (const Push& push : pending) workers.insert(push.worker);
      return std::ssize(workers) >= pushes;
    }
  }
  return false;
}

namespace {

class CountingPolicy : public ConsistencyPolicy {
 public:
  explicit CountingPolicy(const PolicyShape& shape) : shape_(shape) {}

  PolicyShape shape() const override { return shape_; }

  bool may_start(const StartView& view, Memory) const override {
    if (shape_.gate == Gate::version) return view.version > view.computed_on;
    return shape_.gate != Gate::own || view.applied() >= view.pushed;
  }

  Decision on_push(const ShardView& view, Memory) const override {
    const std::int64_t members = view.clocks.members();
    const bool some_gone = members < static_cast<std::int64_t>(view.clocks.size());
    const std::int64_t enough = some_gone ? std::min(shape_.group, members) : shape_.group;
    return view.has(enough) && !view.pending.empty() ? Decision::apply_all() : Decision::hold();
  }

 private:
  PolicyShape shape_;
};

class BoundedPolicy : public CountingPolicy {
 public:
  BoundedPolicy(const PolicyShape& shape, StalenessBound bound)
      : CountingPolicy(shape), bound_(std::move(bound)) {}

  bool may_start(const StartView& view, Memory memory) const override {
    return view.clock - view.clocks.slowest() <= bound_at(view, memory);
  }
  std::optional<std::int64_t> needed_clock(const StartView& view, Memory memory) const override {
    const std::int64_t bound = bound_at(view, memory);
    return view.clock > bound ? std::optional(view.clock - bound - 1) : std::nullopt;
  }
  std::int64_t last_clock(const WorkerClocks& clocks) const override {
    std::int64_t bound = std::max(bound_.staleness, bound_.most);
    for (const auto& step : bound_.schedule) bound = std::max(bound, static_cast<std::int64_t>(step[1]));
    return clocks.slowest() + bound;
  }

 protected:
  virtual std::int64_t bound_at(const StartView& view, Memory) const { return bound_.at(view.clock); }
  const StalenessBound& bound() const { return bound_; }

 private:
  StalenessBound bound_;
};

// Zhao et al., ICDCS 2019, algorithms 1 and 2: the fastest worker gets the number of extra clocks that makes
// it wait least.
class DynamicPolicy final : public BoundedPolicy {
 public:
  using BoundedPolicy::BoundedPolicy;

  void note_push(const ShardView& view, const Push& push, OwnEstimates memory) const override {
    const Pace pace = pace_of(view.worker_of(push), memory);
    pace.interval = view.now - pace.last_push;
    pace.last_push = view.now;
  }

  void note_wait(const StartView& view, OwnEstimates memory) const override {
    if (view.clock - view.clocks.slowest() > bound().most) return;
    const WorkerClocks& clocks = view.clocks;
    const auto is_slowest = [&](const WorkerClocks::Worker& other) {
      return other.counts() && other.clock() == clocks.slowest();
    };
    const auto is_faster = [&](const WorkerClocks::Worker& other) {
      return other.counts() && other.clock() > clocks[view.worker].clock();
    };
    const auto slowest = std::ranges::find_if(clocks, is_slowest);
    if (slowest == clocks.end() || std::ranges::any_of(clocks, is_faster)) return;
    const Pace fast = pace_of(view.worker, memory),
               slow = pace_of(static_cast<std::size_t>(slowest - clocks.begin()), memory);
    fast.granted = static_cast<double>(view.clock + extra_clocks(fast, slow, view.now));
  }

 protected:
  std::int64_t bound_at(const StartView& view, Memory memory) const override {
    const bool is_granted = static_cast<double>(view.clock) < memory[numbers * view.worker + 2];
    return is_granted ? std::max(bound().most, bound().at(view.clock)) : bound().at(view.clock);
  }

 private:
  // The estimates of one worker.
  static constexpr std::size_t numbers = 3;
  struct Pace {
    double& last_push;  // seconds
    double& interval;   // seconds
    double& granted;    // it may start the clocks before this one
  };
  static Pace pace_of(std::size_t worker, OwnEstimates memory) {
    const OwnEstimates own = memory.subspan(numbers * worker, numbers);
    return {own[0], own[1], own[2]};
  }

  // The number of extra clocks for the fastest worker before it waits. Of its predicted ends, the last one
  // should be as close as possible before a predicted push of the slowest worker.
  std::int64_t extra_clocks(const Pace& fast, const Pace& slow, double now) const {
    if (!(fast.interval > 0) || !(slow.interval > 0)) return 0;
    const std::int64_t most = bound().most - bound().staleness;
    std::int64_t best = 0;
    double least_wait = HUGE_VAL;
    for (std::int64_t r = 0; r <= most; ++r) {
      const double mine = now + static_cast<double>(r) * fast.interval;
      const double turns = std::max(1.0, std::ceil((mine - slow.last_push) / slow.interval));
      const double wait = slow.last_push + turns * slow.interval - mine;
      if (wait < least_wait) {
        least_wait = wait;
        best = r;
      }
    }
    return best;
  }

 public:
  static std::size_t estimates_of(std::int64_t workers) {
    return numbers * static_cast<std::size_t>(workers);
  }
};

class ToldPolicy final : public ConsistencyPolicy {
 public:
  PolicyShape shape() const override { return {.shrinks = true}; }
  bool may_start(const StartView&, Memory) const override { return true; }
  Decision on_push(const ShardView&, Memory) const override { return Decision::hold(); }
};

}  // namespace

std::shared_ptr<const ConsistencyPolicy> told_policy() { return std::make_shared<const ToldPolicy>(); }

std::shared_ptr<const ConsistencyPolicy> counting_policy(const PolicyShape& shape) {
  return std::make_shared<const CountingPolicy>(shape);
}

std::shared_ptr<const ConsistencyPolicy> bounded_policy(const PolicyShape& shape, StalenessBound bound) {
  return std::make_shared<const BoundedPolicy>(shape, std::move(bound));
}

std::shared_ptr<const ConsistencyPolicy> dynamic_policy(PolicyShape shape, StalenessBound bound,
                                                        std::int64_t workers) {
  shape.estimates = DynamicPolicy::estimates_of(workers);
  return std::make_shared<const DynamicPolicy>(shape, std::move(bound));
}

}  // namespace psim
