#include "sim/scenario/spec/rule.hpp"

#include <algorithm>

#include "sim/protocol/task_dag.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/spec/tasks.hpp"

namespace psim {

ConsistencyRule rule_of(const Scenario& scenario) {
  ConsistencyRule rule = make_rule(scenario.consistency, scenario.cluster.workers);
  const TrainingSpec& training = scenario.training;
  rule.stale.settings = training.staleness_settings;
  rule.stale.scales = training.staleness_scales;
  if (training.staleness_aware) rule.stale.function = training.staleness_weight;
  // Every worker's spring moves the centre by its full pull.
  if (scenario.training.algorithm == Algorithm::elastic) rule.aggregation = {.row = "sum"};
  // A message that is lost for one shard may arrive at another.
  if (scenario.may_fail() && rule.drops_stale) rule.shards_advance_independently = true;
  if (rule.told) {
    const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
    rule.told->pushes = tasks_of(program, TaskKind::push);
    rule.told->updates =
        std::max<std::int64_t>(1, tasks_of(program, TaskKind::apply) + tasks_of(program, TaskKind::update));
  }
  // A worker that leaves may have its last push on some shards, but not on others.
  const bool has_several = scenario.cluster.servers > 1 || scenario.messages.unit != MessageUnit::server;
  if (scenario.may_fail() && rule.gate == Gate::own && has_several) rule.first_shard_decides = true;
  return rule;
}

KeySpace key_space_of(const Scenario& scenario) {
  return make_key_space(parameter_arrays(scenario.model),
                        {.placement = scenario.placement,
                         .unit = scenario.messages.unit,
                         .slice = scenario.messages.slice,
                         .servers = static_cast<std::uint32_t>(scenario.cluster.servers),
                         .seed = static_cast<std::uint64_t>(scenario.seed)});
}

}  // namespace psim
