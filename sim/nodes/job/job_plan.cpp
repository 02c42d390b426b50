#include "sim/nodes/job/job_plan.hpp"

#include <numeric>
#include <set>
#include <utility>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60U;

// The spares are the last workers.
std::vector<NodeId> spares_of(const Scenario& scenario) {
  const bool replaces = scenario.recovery.slow.given && scenario.recovery.slow.action == SlowAction::replace;
  std::vector<NodeId> spares;
  const auto end = static_cast<NodeId>(1 + scenario.cluster.servers + scenario.cluster.workers);
  for (NodeId node = end - static_cast<NodeId>(replaces ? scenario.cluster.spares : 0); node < end; ++node)
    spares.push_back(node);
  return spares;
}

// Nodes that join without having left before, and spares.
std::vector<NodeId> absent_at_first(const Scenario& scenario) {
  std::set<NodeId> absent, seen;
  for (const FaultSpec& fault : scenario.faults) {
    if (!fault.kind->joins && !fault.kind->leaves) continue;
    for (const NodeId node : fault_nodes(scenario.cluster, fault.nodes)) {
      if (fault.kind->leaves) seen.insert(node);
      else absent.insert(node);
    }
  }
  for (const NodeId node : seen) absent.erase(node);
  for (const NodeId node : spares_of(scenario)) absent.insert(node);
  return {absent.begin(), absent.end()};
}

std::shared_ptr<Sampler> sampler_of(const Scenario& scenario, const Dataset& train) {
  return std::make_shared<Sampler>(
      train, Sampler::Options{.partition = scenario.data.partition,
                              .dirichlet_alpha = scenario.data.dirichlet_alpha,
                              .workers = static_cast<std::uint32_t>(machines_with_data(scenario)),
                              .batch = scenario.training.batch_size,
                              .seed = static_cast<std::uint64_t>(scenario.seed)});
}

JobPlan plan_of(const Scenario& scenario, const DataSplit* data, std::uint32_t first_shard) {
  JobPlan plan{.scenario = scenario,
               .shared_rule = std::make_shared<const ConsistencyRule>(rule_of(scenario)),
               .steps = steps_of(scenario, data != nullptr ? data->train.size() : 0).value_or(no_limit),
               .keys = key_space_of(scenario),
               .first_shard = first_shard,
               .served = scenario.cluster.inference.given,
               .spares = spares_of(scenario)};
  if (plan.rule.told)
    plan.tasks = std::make_shared<const TaskDag>(
        parse_program(scenario.tasks, scenario.cluster.workers).program, plan.steps);
  if (data == nullptr) return plan;
  plan.learner = make_learner(scenario.model, *data);
  plan.sampler = sampler_of(scenario, data->train);
  const std::int64_t parameters = parameter_count(scenario.model), count = scenario.training.outer.fragments;
  for (std::int64_t f = 0; count > 1 && f < count; ++f) {
    const KeyRange block = feature_block(parameters, count, f);
    Keys keys(block.end - block.begin);
    std::iota(keys.begin(), keys.end(), static_cast<std::uint32_t>(block.begin));
    plan.fragments.push_back(std::make_shared<const BatchKeys>(split(std::move(keys), plan.keys)));
  }
  plan.split = data;
  plan.data = &data->train;
  return plan;
}

}  // namespace

std::vector<JobPlan> plan_jobs(const LoadedScenario& loaded) {
  std::vector<JobPlan> plans;
  if (loaded.jobs.empty()) plans.push_back(plan_of(loaded.scenario, loaded.data.get(), 0));
  std::uint32_t first_shard = 0;
  for (const LoadedJob& job : loaded.jobs) {
    JobPlan& plan = plans.emplace_back(plan_of(job.scenario, job.data.get(), first_shard));
    plan.first_index = job.first_worker;
    plan.groups = job.groups;
    plan.batch_sizes = job.batch_sizes;
    plan.machines = &loaded.scenario.cluster;
    first_shard += static_cast<std::uint32_t>(plan.keys.shards.size());
    if (plans.size() < loaded.jobs.size()) plan.past_shard = first_shard;
  }
  for (JobPlan& plan : plans) plan.absent = absent_at_first(loaded.scenario);
  return plans;
}

const ArrayBound* JobPlan::own_bound_of(const Shard& shard) const {
  const std::vector<ArrayBound>& arrays = scenario.consistency.arrays;
  const auto found = std::ranges::find(arrays, shard.layer, &ArrayBound::layer);
  return found == arrays.end() ? nullptr : &*found;
}

std::shared_ptr<const ConsistencyRule> JobPlan::rule_of(const Shard& shard) const {
  const ArrayBound* bound = own_bound_of(shard);
  if (bound == nullptr) return shared_rule;
  const auto own = std::make_shared<ConsistencyRule>(rule);
  own->bound = {.staleness = bound->staleness};
  own->policy = bounded_policy(own->policy->shape(), own->bound);
  return own;
}

OptimizerSpec JobPlan::with_arrays(OptimizerSpec optimizer, const std::vector<Range>& ranges) const {
  if (!optimizer.kind->whole_arrays) return optimizer;
  optimizer.arrays = arrays_in(scenario.model, ranges).value();
  return optimizer;
}

RetrySpec JobPlan::retry() const {
  const RecoverySpec& recovery = scenario.recovery;
  return {.timeout = recovery.retry.value,
          .backoff = recovery.backoff,
          .longest = recovery.longest_retry.value,
          .limit = recovery.retry_limit};
}

DetectorSpec JobPlan::detector() const {
  const RecoverySpec& recovery = scenario.recovery;
  return {.kind = recovery.detector, .timeout = recovery.timeout.value, .threshold = recovery.threshold};
}

std::optional<Values> JobPlan::initial(const Shard& shard) const {
  if (learner == nullptr) return std::nullopt;
  const auto whole = std::make_shared<Values>(
      learner->first_weights(precision(), static_cast<std::uint64_t>(scenario.seed)));
  const Slice part = part_of(shard, whole);
  return Values::copy_of(*part.values, part.begin, part.count);
}

Epochs JobPlan::epochs() const {
  if (data == nullptr) return {.per_clock = 1};
  const std::int64_t samples = samples_per_step(scenario);
  const auto passes = [&](double batches) {
    return static_cast<double>(samples) * batches / static_cast<double>(data->size());
  };
  return {.per_clock = passes(batches_per_clock(scenario)),
          .first_more = passes(batches_more_at_first(scenario))};
}

LearningRate JobPlan::learning_rate() const {
  const TrainingSpec& training = scenario.training;
  return {.base = training.learning_rate,
          .schedule = training.schedule,
          .step_every = training.schedule_every,
          .step_factor = training.schedule_factor,
          .total_epochs = epochs().after(static_cast<double>(steps))};
}

std::vector<double> JobPlan::step_rates(std::int64_t clock, std::size_t count) const {
  const LearningRate rate = learning_rate();
  const Epochs all = epochs();
  const double begin = all.after(static_cast<double>(clock));
  const double of_step = all.of_clock(clock) / static_cast<double>(count);
  std::vector<double> rates;
  for (std::size_t h = 0; h < count; ++h) rates.push_back(rate.at(begin + static_cast<double>(h) * of_step));
  return rates;
}

std::shared_ptr<Values> gathered(const Values& whole, const std::vector<Range>& ranges, std::size_t count) {
  auto result = std::make_shared<Values>(whole.precision(), count);
  std::size_t end = 0;
  for (const Range& range : ranges) {
    result->copy_from(whole, range.begin, range.count, end);
    end += range.count;
  }
  return result;
}

Slice JobPlan::part_of(const Shard& part, const std::shared_ptr<Values>& whole) {
  if (!whole) return {nullptr, 0, part.count};
  if (part.ranges.size() == 1) return {whole, part.ranges.front().begin, part.count};
  return {gathered(*whole, part.ranges, part.count), 0, part.count};
}

}  // namespace psim
