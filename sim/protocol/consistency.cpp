#include "sim/protocol/consistency.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>

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

std::shared_ptr<const ConsistencyPolicy> dssp(const ConsistencySpec& spec, std::int64_t workers) {
  return dynamic_policy({.gate = Gate::staleness, .shrinks = true, .is_in_turn = true},
                        {.staleness = spec.staleness, .most = spec.staleness_max}, workers);
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
  if (row.group == Group::k) shape.group = spec.backup ? workers - *spec.backup : spec.k.value_or(workers);
  if (!row.has_bound()) return counting_policy(shape);
  return bounded_policy(shape, {.staleness = spec.staleness, .schedule = spec.staleness_schedule});
}

}  // namespace

ConsistencyRule make_rule(const ConsistencySpec& spec, std::int64_t workers) {
  // With a bound of zero no worker can see a half-applied clock, so ssp 0 is bsp; the row of bsp fixes the
  // order of the sum.
  const bool is_bsp = spec.model->has_schedule() && !spec.model->policy && spec.model->group == Group::one &&
                      spec.staleness == 0 && spec.staleness_schedule.empty() && spec.arrays.empty() &&
                      !spec.max_staleness;
  const ConsistencyRow& row = is_bsp ? *ConsistencyModel("bsp") : *spec.model;

  ConsistencyRule rule{.policy = row.policy ? row.policy(spec, workers) : policy_of(row, spec, workers)};
  const PolicyShape shape = rule.policy->shape();
  if (row.group == Group::own) check_shape(row, shape);
  rule.gate = shape.gate;
  rule.group = shape.group;
  rule.varies = shape.varies || row.group == Group::own;
  rule.counts = !row.policy;
  rule.asks_all = row.group == Group::own;
  rule.drops_stale = shape.drops_stale;
  if (row.group == Group::told) {
    rule.group = std::numeric_limits<std::int64_t>::max();
    rule.told.emplace();
  }
  if (row.has_closing() && spec.window) rule.window = spec.window->value;
  if (row.has_closing() && spec.deadline) rule.deadline = spec.deadline->value;
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
  rule.cancel = rule.oldest && some_are_late && late == Late::cancel;
  rule.one_age = row.has_age() && !rule.drops_stale && spec.age == AgeOf::gradient;
  if (rule.one_age) rule.counts = false;  // the first shard also sends what each push weighs
  rule.first_shard_decides = rule.one_age || (!shape.is_in_turn && some_are_late && shape.gate != Gate::none);
  rule.shards_advance_independently = rule.drops_stale && shape.gate == Gate::none;
  rule.dynamic = row.dynamic;
  rule.aggregation = spec.aggregation;
  rule.workers = workers;
  if (row.has_staleness())
    rule.bound = {.staleness = spec.staleness,
                  .schedule = spec.staleness_schedule,
                  .most = row.dynamic ? spec.staleness_max : 0};
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

}  // namespace psim
