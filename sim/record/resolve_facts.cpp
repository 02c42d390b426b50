// Resolves a scenario into the facts that readers of the run's events need.
#include <algorithm>
#include <optional>

#include "sim/record/facts.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {
namespace {

std::optional<double> seconds(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value) : std::nullopt;
}

void add_rule(const Scenario& scenario, RunFacts& facts) {
  const ConsistencySpec& spec = scenario.consistency;
  const ConsistencyRow& row = *spec.model;
  const ConsistencyRule rule = rule_of(scenario);
  facts.rule = rule;
  facts.k = spec.numbers(rule.workers).k;
  facts.cache = spec.cache;
  if (rule.stale.beyond == TooStale::drop) facts.limit = rule.stale.limit;
  facts.promises = spec.promises;
  facts.promises.insert(facts.promises.end(), row.promises.begin(), row.promises.end());
  if (row.is_custom()) {
    facts.start_rule = spec.custom.start;
    facts.update_rule = spec.custom.update;
  }
}

void add_work(const TrainingSpec& training, RunFacts& facts) {
  facts.steps = training.steps.value_or(0);
  facts.pull_every = training.pull_every;
  facts.duration = seconds(training.duration);
  facts.pushes_early = training.algorithm == Algorithm::elastic || training.outer.delay > 0;
  facts.shares_out = training.work == WorkPolicy::dynamic;
  facts.steals = training.work == WorkPolicy::stealing;
  facts.sums = training.update == UpdateAt::worker;
  facts.dynamic_steps = training.inner.dynamic ? training.local_steps : 0;
  facts.batches = training.batches_per_clock();
  facts.warms_up = training.warmup_steps > 0;
  facts.first_batches = training.accumulate * training.local_steps_of(0);
  facts.batch_size = training.batch_size;
  if (training.work != WorkPolicy::fixed) return;
  if (training.fits_steps()) {
    facts.local_batch = training.batch_size * (training.accumulate_time ? 1 : training.accumulate);
    return;
  }
  facts.samples = training.batch_size * facts.batches;
  facts.first_samples = training.batch_size * facts.first_batches;
}

void add_messages(const Scenario& scenario, RunFacts& facts) {
  facts.header = static_cast<std::uint64_t>(scenario.cluster.network.header.value);
  facts.bytes_per_value = bytes_per_value(scenario.model.precision);
  facts.bytes_per_key = scenario.messages.key_bytes();
  const bool in_ranges = scenario.training.outer.fragments > 1;
  facts.bytes_per_listed_key = KeyBytes{facts.bytes_per_key, in_ranges}.of(true);
  facts.overlap = scenario.messages.overlap;
  facts.filtered = !scenario.filters.empty();
  const auto keys = std::ranges::find(scenario.filters, "key-caching",
                                      [](const FilterSpec& filter) { return filter.kind->name; });
  if (keys == scenario.filters.end()) {
    facts.plain_values = !facts.filtered;
    return;
  }
  const bool on_push = keys->works_on(true), on_pull = keys->works_on(false);
  facts.caches_keys = on_push && on_pull ? "both" : on_push ? "push" : "pull";
  facts.plain_values = scenario.filters.size() == 1;
}

void add_tasks(const Scenario& scenario, RunFacts& facts) {
  if (scenario.tasks.empty()) return;
  const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
  for (const ProgramTask& task : program) {
    TaskFact& fact = facts.tasks.emplace_back();
    fact.does = name_of(task.kind);
    fact.is_of_server = is_of_server(task.kind);
    fact.units = task.units.value_or(-1);
    fact.worker = task.worker ? static_cast<std::int64_t>(*task.worker) : -1;
    fact.anywhere = task.anywhere;
    for (const TaskInput& input : task.after)
      fact.after.push_back({.task = input.task, .clocks_back = input.clocks_back(0), .all = input.all});
  }
}

}  // namespace

RunFacts facts_of(const Scenario& scenario) {
  RunFacts facts;
  const ClusterSpec& cluster = scenario.cluster;
  facts.workers = static_cast<std::uint32_t>(cluster.workers);
  facts.servers = static_cast<std::uint32_t>(cluster.servers);
  facts.has_servers = scenario.architecture.has_servers();
  if (scenario.may_fail()) facts.longest_retry = scenario.recovery.longest_retry.value;
  facts.slow_factor = scenario.recovery.slow.given ? scenario.recovery.slow.factor : 0;
  facts.copies = scenario.replication.copies;
  facts.window = scenario.replication.window;
  facts.every_push = scenario.replication.when == ReplicateWhen::every_push;
  facts.at_least_once = scenario.recovery.semantics == Semantics::at_least_once;
  facts.serves = cluster.inference.given;
  facts.copies_over_bus = cluster.worker_devices.count > 1;
  if (scenario.snapshot.every) facts.disk = scenario.snapshot.bandwidth.value;
  facts.sends_at_once = scenario.messages.order == SendOrder::parallel;
  facts.servers_work = cluster.server.flops_per_value > 0 ||
                       std::ranges::any_of(scenario.filters, [](const FilterSpec& filter) {
                         return filter.flops_per_value > 0;
                       });
  if (facts.has_servers) add_rule(scenario, facts);
  add_work(scenario.training, facts);
  // A worker that gets faster or slower during a clock misses its time. A server on its machine slows it
  // down.
  const bool shares = scenario.cluster.colocate && facts.servers_work;
  if (!shares && std::ranges::none_of(scenario.profiles,
                                      [](const ProfileSpec& one) { return one.of == ProfileOf::speed; })) {
    facts.give_up = seconds(scenario.training.give_up);
    facts.local_time = seconds(scenario.training.accumulate_time ? scenario.training.accumulate_time
                                                                 : scenario.training.local_time);
  }
  if (scenario.training.accumulate_time) facts.most_batches = scenario.training.accumulate;
  add_messages(scenario, facts);
  add_tasks(scenario, facts);
  for (const StragglerSpec& one : scenario.stragglers) {
    facts.stragglers.push_back({.workers = {one.workers.begin(), one.workers.end()},
                                .slowdown = one.slowdown,
                                .from = one.from.value_or(Seconds{0}).value,
                                .until = seconds(one.until),
                                .every = seconds(one.every),
                                .probability = one.probability});
  }
  for (const FaultSpec& fault : scenario.faults) facts.fault_factors.push_back(fault.factor.value_or(1));
  // The devices of one machine are nodes like workers, but they share a batch, and their bus is not a
  // network.
  if (scenario.architecture.is_on_one_machine()) {
    facts.workers = static_cast<std::uint32_t>(cluster.worker_devices.count);
    facts.header = 0;
    facts.samples.reset();
    facts.first_samples.reset();
  }
  return facts;
}

}  // namespace psim
