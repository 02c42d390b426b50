#include "sim/run_result.hpp"

#include <algorithm>

#include "model/dataset.hpp"
#include "sim/cluster/slowest_messages.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/record/invariants.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

void add_workers(const Job& job, RunResult& result) {
  const JobPlan& plan = job.plan();
  for (std::uint32_t w = 0; w < plan.workers(); ++w) {
    WorkerStats& worker = result.stats.workers[plan.first_index + w];
    worker.batch_size = job.nodes().last_batch_size(w);
    result.samples_told[plan.first_index + w] = job.nodes().samples_computed(w);
    result.keys_used[plan.first_index + w] = job.state().totals.keys_used(w);
  }
}

void add_servers(const Job& job, RunResult& result) {
  const JobPlan& plan = job.plan();
  const std::vector<std::size_t> load = plan.keys.load(plan.servers());
  const std::vector<ServerRanges> ranges = job.nodes().server_ranges();
  for (std::size_t s = 0; s < ranges.size(); ++s) {
    result.server_parameters[s].at_first += load[s];
    result.server_ranges[s].now += ranges[s].now;
    result.server_ranges[s].split_off += ranges[s].split_off;
  }
  const std::vector<Shard>& shards = plan.keys_in(job.state().layouts.newest()).shards;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    if (const auto owner = result.stats.shard_owner[plan.first_shard + s])
      result.server_parameters[*owner].at_end += shards[s].count;
  }
  if (plan.scenario.consistency.arrays.empty() || !plan.rule.has_bound()) return;
  for (std::uint32_t s = 0; s < shards.size(); ++s) {
    ShardBound bound{.shard = plan.first_shard + s, .layer = shards[s].layer};
    if (const ArrayBound* own = plan.own_bound_of(shards[s])) bound.staleness = own->staleness;
    result.shard_bounds.push_back(bound);
  }
}

std::vector<TaskResult> tasks_of(const Job& job) {
  std::vector<TaskResult> results;
  const std::vector<TaskUse>& uses = job.state().tasks.all();
  // The run ended before its tasks began.
  if (std::ranges::all_of(uses, [](const TaskUse& use) { return use.times == 0; })) return results;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const TaskUse& use = uses[i];
    const TaskKind kind = job.plan().tasks->program()[i].kind;
    TaskResult& one = results.emplace_back();
    one = {.times = use.times, .seconds = use.seconds};
    if (!is_of_server(kind)) one.by_worker = use.by_worker;
    if (kind == TaskKind::norm) one.value = use.value;
  }
  return results;
}

// Startup times of all workers, then of all servers. With several groups each job draws by its own worker
// numbers.
std::vector<double> startups(const std::deque<Job>& jobs) {
  const Scenario& scenario = jobs.front().plan().scenario;
  if (!scenario.cluster.worker.startup.given() && !scenario.cluster.server.startup.given()) return {};
  std::vector<double> seconds;
  for (const Job& job : jobs) {
    for (std::uint32_t w = 0; w < job.plan().workers(); ++w)
      seconds.push_back(startup_seconds(job.plan().scenario, NodeRole::worker, w));
  }
  for (std::uint32_t s = 0; s < jobs.front().plan().servers(); ++s)
    seconds.push_back(startup_seconds(scenario, NodeRole::server, s));
  return seconds;
}

TrainingResult training_of(const Job& job) {
  return {.curve = job.curve(),
          .target = job.target(),
          .last_miss = job.last_miss(),
          .judged_on = job.judged_on(),
          .tested = job.tested(),
          .parameters = static_cast<std::int64_t>(job.plan().keys.parameters),
          .weights = job.hash_of_weights(),
          .last_weights = job.last_weights()};
}

// The digest includes the date of the end and the last weights.
std::string finish_digest(const EndedRun& run) {
  run.recorder.add_to_digest(&run.end, sizeof run.end);
  for (const Job& job : run.jobs) {
    for (const Slice& part : job.weights()) {
      if (part.values) run.recorder.add_to_digest(part.values->raw(), part.values->bytes());
    }
  }
  return run.recorder.digest();
}

}  // namespace

RunResult result_of(const EndedRun& run) {
  const auto servers = static_cast<std::size_t>(run.scenario.cluster.servers);
  const std::size_t workers = run.recorder.stats().workers.size();
  Job& first = run.jobs.front();
  const FailureStats* failures = run.recorder.failures();
  RunResult result{.stats = run.recorder.stats(),
                   .sim_time = run.end,
                   .server_parameters = std::vector<ServerParameters>(servers),
                   .server_ranges = std::vector<ServerRanges>(servers),
                   .keys_used = std::vector<std::uint64_t>(workers),
                   .flops_per_sample = flops_per_sample(first.plan().scenario.model),
                   .samples_told = std::vector<std::int64_t>(workers),
                   .failures = failures != nullptr ? std::optional(*failures) : std::nullopt,
                   .economy = run.economy,
                   .sums = aggregator_count(run.scenario.cluster) > 0
                               ? std::optional(first.context().network.sum_traffic())
                               : std::nullopt,
                   .startup_s = startups(run.jobs),
                   .stuck = run.stuck};
  if (run.faults != nullptr) result.faults = run.faults->uses();
  if (run.scenario.may_fail()) result.slowest_heartbeat = slowest_heartbeat(run.scenario);
  for (Job& job : run.jobs) {
    job.finish_curve();
    add_workers(job, result);
    add_servers(job, result);
    if (!run.scenario.groups.empty())
      result.spaces.push_back({training_of(job), job.plan().scenario, job.plan().groups});
    result.filters_used.merge(job.state().filter_buffers->used);
    result.filters_overflowed.merge(job.state().filter_buffers->overflowed);
    result.sum_overflows = result.sum_overflows || job.state().totals.sum_overflows();
    result.scale_overflows = result.scale_overflows || job.state().totals.scale_overflows();
    result.final_differs = result.final_differs || job.final_differs();
    result.ended_early = result.ended_early || job.ended_early();
    if (job.plan().served) result.inference = job.actors().finish_inference(run.end);
    result.copies_differ = result.copies_differ || (job.nodes().peers() && !job.nodes().peers()->agree());
  }
  result.tasks = tasks_of(first);
  static_cast<TrainingResult&>(result) = training_of(first);
  result.digest = finish_digest(run);
  check_invariants(result, resolved_toml(run.scenario));
  return result;
}

}  // namespace psim
