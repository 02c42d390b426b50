#include "sim/protocol/consistency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/protocol/adaptive_deadline.hpp"

namespace psim {
namespace {

// The check before a run reports mistakes in expressions.
std::shared_ptr<const ConsistencyPolicy> formulas(const ConsistencySpec& spec, std::int64_t workers) {
  try {
    return std::make_shared<const CustomModel>(spec.custom, spec.numbers(workers));
  } catch (const CustomMistake&) {
    return counting_policy({.shrinks = true, .is_in_turn = true});
  }
}

// Leaves out the steps of a schedule that checks are going to refuse.
StalenessBound bound_of(const ConsistencyRow& row, const ConsistencySpec& spec) {
  StalenessBound bound{.staleness = spec.staleness, .most = row.dynamic ? spec.staleness_max : 0};
  constexpr double most = 1e15;
  for (const std::vector<double>& step : spec.staleness_schedule) {
    if (step.size() == 2 && std::abs(step[1]) <= most)
      bound.schedule.emplace_back(step[0], static_cast<std::int64_t>(step[1]));
  }
  return bound;
}

std::shared_ptr<const ConsistencyPolicy> dssp(const ConsistencySpec& spec, std::int64_t workers) {
  return dynamic_policy({.gate = Gate::staleness, .shrinks = true, .is_in_turn = true},
                        bound_of(*spec.model, spec), workers);
}

constexpr std::array<ConsistencyRow, 10> table{{
    {.name = "bsp",
     .aliases = "sequential dist_sync",
     .gate = Gate::version,
     .group = Group::all,
     .drops_stale = true,
     .may_start = "all pushes of clock t-1 are applied",
     .applies = "once per clock: the mean of all, added in worker order",
     .late = "no push is late",
     .source = "Valiant, CACM 1990; Li et al., OSDI 2014 (sequential); MXNet dist_sync",
     .fuzz = 2},
    {.name = "ssp",
     .aliases = "bounded-delay",
     .gate = Gate::staleness,
     .group = Group::one,
     .may_start = "every worker has finished clock t-1-s",
     .applies = "each push on arrival",
     .late = "applied",
     .source = "Ho et al., NIPS 2013; Li et al., OSDI 2014 (bounded delay)"},
    {.name = "asp",
     .aliases = "eventual dist_async",
     .gate = Gate::none,
     .group = Group::one,
     .may_start = "at once",
     .applies = "each push on arrival",
     .late = "applied",
     .source = "Dean et al., NIPS 2012; Li et al., OSDI 2014 (eventual); MXNet dist_async"},
    {.name = "k-sync",
     .aliases = "backup-workers",
     .gate = Gate::version,
     .group = Group::k,
     .drops_stale = true,
     .may_start = "the update of clock t-1 is made",
     .applies = "when the first k workers' pushes of the clock have arrived: their mean",
     .late = "cancelled or dropped",
     .source = "Dutta et al., AISTATS 2018; Chen et al. 2016 (backup workers); TensorFlow 1 "
               "SyncReplicasOptimizer"},
    {.name = "k-batch-sync",
     .gate = Gate::none,
     .group = Group::k,
     .drops_stale = true,
     .may_start = "at once, on the current version of the weights",
     .applies = "when any k pushes computed at the current version have arrived: their mean",
     .late = "cancelled or dropped",
     .source = "Dutta et al., AISTATS 2018"},
    {.name = "k-async",
     .gate = Gate::own,
     .group = Group::k,
     .may_start = "its own push is applied",
     .applies = "when k distinct workers' pushes have arrived, whatever their version",
     .late = "applied",
     .source = "Dutta et al., AISTATS 2018"},
    {.name = "k-batch-async",
     .aliases = "softsync",
     .gate = Gate::none,
     .group = Group::k,
     .may_start = "at once",
     .applies = "when any k pushes have arrived",
     .late = "applied",
     .source = "Dutta et al., AISTATS 2018; Zhang et al., IJCAI 2016 (n-softsync)"},
    {.name = "dssp",
     .gate = Gate::staleness,
     .group = Group::one,
     .dynamic = true,
     .may_start =
         "as ssp, with s chosen in [staleness, staleness_max] so that the fastest worker waits least",
     .applies = "each push on arrival",
     .late = "applied",
     .source = "Zhao et al., ICDCS 2019",
     .policy = dssp},
    {.name = "tasks",
     .aliases = "program",
     .gate = Gate::none,
     .group = Group::told,
     .may_start = "the scheduler tells it to, after the tasks that its pull waits for",
     .applies = "when a task says so: one push, or all that have arrived",
     .late = "applied",
     .source = "Li et al., OSDI 2014, 3.4 and 3.5",
     .policy = [](const ConsistencySpec&, std::int64_t) { return told_policy(); },
     .fuzz = 0},
    {.name = "custom",
     .gate = Gate::none,
     .group = Group::custom,
     .may_start = "the expression `start` holds",
     .applies = "when the expression `update` holds: all pushes that have arrived, each with its `weight`",
     .late = "a push is late if `too_late` holds",
     .source = "",
     .policy = formulas,
     .fuzz = 2},
}};

}  // namespace

template <>
std::deque<ConsistencyRow> built_in_rows() {
  return {table.begin(), table.end()};
}

std::string_view number_field(std::string_view name) {
  if (name.find("backup") != std::string_view::npos) return "backup";
  const auto named = std::ranges::find_if(
      all_rows<ConsistencyRow>(), [name](const ConsistencyRow& row) { return answers_to(row, name); });
  return named != all_rows<ConsistencyRow>().end() && named->has_k() ? "k" : "staleness";
}

namespace {

void check_shape(const ConsistencyRow& row, const PolicyShape& shape) {
  const auto demand = [&row](bool holds, std::string_view what) {
    if (!holds)
      throw std::logic_error("consistency model " + std::string(row.name) + ": " + std::string(what));
  };
  const bool is_fresh = shape.gate == Gate::version || shape.gate == Gate::none;
  demand(row.gate == shape.gate && row.drops_stale == shape.drops_stale,
         "`gate` and `drops_stale` of the row and of the policy's shape differ");
  demand(shape.gate != Gate::version || shape.drops_stale,
         "workers that wait for a newer version need drops_stale");
  demand(!shape.drops_stale || is_fresh, "with drops_stale the gate is `version` or `none`");
  demand(shape.group >= 1, "an update has at least one push");
}

// The policy of rows without their own.
std::shared_ptr<const ConsistencyPolicy> policy_of(const ConsistencyRow& row, const ConsistencySpec& spec,
                                                   std::int64_t workers) {
  PolicyShape shape{.gate = row.gate,
                    .shrinks = true,
                    .is_in_turn = row.group == Group::one,
                    .drops_stale = row.drops_stale};
  if (row.group == Group::all) shape.group = workers;
  if (row.group == Group::k) shape.group = spec.numbers(workers).k;
  if (!row.has_bound()) return counting_policy(shape);
  return bounded_policy(shape, bound_of(row, spec));
}

// The row that has the rule of `row`: a date that closes updates, or late pushes that count, make it
// another's.
std::string_view model_of(const ConsistencyRow& row, const ConsistencyRule& rule) {
  if (!rule.keeps_late && !(row.group == Group::all && rule.closes_by_date())) return row.name;
  const auto has_rule = [&rule](const ConsistencyRow& other) {
    return other.group == Group::k && other.gate == rule.gate && other.drops_stale == rule.drops_stale;
  };
  return std::ranges::find_if(table, has_rule)->name;
}

}  // namespace

ConsistencyRule make_rule(const ConsistencySpec& spec, std::int64_t workers) {
  // With a bound of zero no worker can see a half-applied clock, so ssp 0 is bsp; the row of bsp fixes the
  // order of the sum.
  const bool is_bsp = spec.model->has_schedule() && !spec.model->policy && spec.model->group == Group::one &&
                      spec.staleness == 0 && spec.staleness_schedule.empty() && spec.arrays.empty() &&
                      !spec.max_staleness;
  const ConsistencyRow& row = is_bsp ? *ConsistencyModel("bsp") : *spec.model;

  ConsistencyRule rule;
  rule.policy = row.policy ? row.policy(spec, workers) : policy_of(row, spec, workers);
  const PolicyShape shape = rule.policy->shape();
  if (row.group == Group::own) check_shape(row, shape);
  rule.own_logic = row.has_own_logic();
  rule.gate = shape.gate;
  rule.group = shape.group;
  rule.varies = shape.varies || row.group == Group::own;
  rule.counts = !row.policy;
  rule.asks_all = row.group == Group::own;
  if (row.has_k() && spec.grace && spec.grace->value > 0) rule.grace = spec.grace->value;
  rule.is_in_turn = shape.is_in_turn && !rule.grace;
  rule.drops_stale = shape.drops_stale;
  if (row.group == Group::told) {
    rule.group = std::numeric_limits<std::int64_t>::max();
    rule.told.emplace();
  }
  if (row.has_closing() && spec.window) rule.window = spec.window->value;
  if (row.has_closing() && spec.deadline) rule.deadline = spec.deadline->value;
  if (row.has_closing() && spec.deadline_mad) {
    rule.deadline_mad = spec.deadline_mad;
    rule.policy = with_adaptive_deadline(std::move(rule.policy), *spec.deadline_mad, workers);
  }
  // A model that waits for all workers has no late pushes.
  const bool some_are_late =
      rule.group < workers || shape.gate == Gate::none || rule.closes_by_date() || rule.varies;
  rule.stale = {.limit = row.has_limit() ? spec.max_staleness : std::nullopt, .beyond = spec.too_stale};
  if (rule.drops_stale) rule.oldest = 0;
  else rule.oldest = rule.stale.limit && spec.too_stale == TooStale::drop ? rule.stale.limit : shape.oldest;
  const Late late = spec.late.value_or(rule.drops_stale ? Late::cancel : Late::drop);
  if (rule.drops_stale && (row.group == Group::k || rule.closes_by_date()) && late == Late::next) {
    rule.drops_stale = false;
    rule.oldest.reset();
    rule.keeps_late = true;
    if (rule.gate == Gate::version) rule.gate = Gate::own;
  }
  rule.model = model_of(row, rule);
  rule.cancel = rule.oldest && some_are_late && late == Late::cancel;
  rule.one_age = row.has_age() && !rule.drops_stale && spec.age == AgeOf::gradient;
  if (rule.one_age) rule.counts = false;  // the first shard also sends what each push weighs
  rule.first_shard_decides = rule.one_age || (!rule.is_in_turn && some_are_late && shape.gate != Gate::none);
  rule.shards_advance_independently = rule.drops_stale && shape.gate == Gate::none;
  rule.dynamic = row.dynamic;
  rule.aggregation = spec.aggregation;
  rule.workers = workers;
  if (row.has_staleness()) rule.bound = bound_of(row, spec);
  return rule;
}

double ConsistencyRule::push_weight(std::size_t size) const {
  return aggregation.row->is_sum ? 1.0 : 1.0 / static_cast<double>(size);
}

double ConsistencyRule::rate_factor(std::size_t size) const {
  if (aggregation.row->is_sum || drops_stale) return 1.0;
  return static_cast<double>(size) / static_cast<double>(pushes_per_clock());
}

double ConsistencyRule::updates_per_clock() const {
  if (told) return static_cast<double>(told->updates);
  return drops_stale ? 1.0 : static_cast<double>(workers) / static_cast<double>(group);
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
    for (const auto& [from, value] : bound_.schedule) bound = std::max(bound, value);
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
    return is_granted ? bound().highest_at(view.clock) : bound().at(view.clock);
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
