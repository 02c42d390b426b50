#include "sim/simulation.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/slowest_messages.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/job.hpp"
#include "sim/machines.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/progress_watch.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/record/invariants.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

// The energy (joules) and the money (dollars) that each role costs until a date.

namespace {

void add_node(const EconomySpec& spec, const std::vector<const NodeUsage*>& usages, NodeId node, double date,
              RoleCost& cost) {
  constexpr double hour = 3600;
  double on = 0, busy = 0;
  for (const NodeUsage* usage : usages) {
    on += usage->on_seconds(node, date);
    busy += usage->busy_seconds(node, date);
  }
  const double idle = spec.power.idle.value;
  cost.on_s += on;
  cost.busy_s += busy;
  cost.joules += idle * on + (spec.power.full.value - idle) * busy;
  cost.dollars += spec.price * on / hour;
}

}  // namespace

// P = idle + load * (full - idle), where the load is 1 while a node computes or copies. A node costs dollars
// for the hours in which it is on. `usages`: those of the run's jobs. On one node the computations of
// different jobs follow each other.
Economy economy_until(const Scenario& scenario, const std::vector<const NodeUsage*>& usages,
                      std::uint64_t bytes, double date) {
  Economy total;
  const ClusterSpec& cluster = scenario.cluster;
  const auto servers = static_cast<NodeId>(cluster.servers), workers = static_cast<NodeId>(cluster.workers);
  for (NodeId node = 1; node <= servers; ++node)
    add_node(cluster.server.economy, usages, node, date, total.servers);
  for (NodeId node = servers + 1; node <= servers + workers; ++node)
    add_node(cluster.worker.economy, usages, node, date, total.workers);
  total.network_joules = cluster.network.joules_per_byte * static_cast<double>(bytes);
  return total;
}

// Ends a run: with its last job, or when the run can make no more progress.
class RunEnd {
 public:
  RunEnd(Machines& machines, std::deque<Job>& jobs) : machines_(machines), jobs_(jobs) {}

  // A job has finished. Call this and end_now() from the agenda, never from an actor.
  void end_job(Job& job);
  // Ends all remaining jobs.
  void end_now();
  // The record takes no more events after this.
  void close();

  bool has_ended() const { return ended_; }
  double date() const { return date_; }

 private:
  Machines& machines_;
  std::deque<Job>& jobs_;
  bool ended_ = false;
  double date_ = 0;
};

void RunEnd::end_job(Job& job) {
  if (job.is_over()) return;
  job.end();
  if (std::ranges::all_of(jobs_, &Job::is_over)) return end_now();
  job.actors().end(job.finished());
  job.finish_curve();
  if (!job.plan().served) machines_.recorder.end_space(job.number());
}

// Pending entries would keep the clock running.
void RunEnd::end_now() {
  close();
  machines_.agenda.clear();
  Actors::kill_all();
}

void RunEnd::close() {
  if (ended_) return;
  ended_ = true;
  for (Job& job : jobs_) {
    if (!job.is_over()) job.end();
    date_ = std::max(date_, job.finished());
  }
  machines_.network.close([this](const Message& message) {
    for (Job& job : jobs_) {
      if (message.is<Push>() && job.plan().has_shard(message.shard)) job.actors().discard(message);
    }
  });
  for (Job& job : jobs_) job.actors().discard_rest();
  machines_.recorder.close(date_);
}

// The faults of a run: their dates (sim/cluster/fault_plan) and their effects on nodes. A worker belongs to
// its job, the inference group to the job that it serves, and every other node to the first job.
class RunFaults final : private FaultTarget {
 public:
  RunFaults(const Scenario& scenario, Machines& machines, std::deque<Job>& jobs, SpeedControl& speeds,
            LinkControl& links)
      : jobs_(jobs), speeds_(speeds), links_(links) {
    if (!scenario.faults.empty())
      plan_.emplace(scenario, machines.network, machines.recorder, machines.agenda,
                    static_cast<FaultTarget&>(*this));
  }

  // Null without faults.
  const FaultPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  // `is_quiet`: see FaultPlan.
  void start(std::function<bool()> is_quiet) {
    if (plan_) plan_->start(std::move(is_quiet));
  }
  // These three calls may make the condition of a fault true.
  void on_update(std::int64_t updates) {
    if (plan_) plan_->on_update(updates);
  }
  void on_clock(NodeId worker, std::int64_t clock) {
    if (plan_) plan_->on_clock(worker, clock);
  }
  void on_evaluation(const Evaluation& result) {
    if (plan_) plan_->on_evaluation(result);
  }
  bool waits_for_evaluations() const { return plan_ && plan_->waits_for_evaluations(); }

 private:
  bool crash(NodeId node, bool disk_lost) override {
    const bool was_up = actors_of(node).crash(node);
    return (disk_lost && lose_disk(node)) || was_up;
  }
  bool restart(NodeId node) override { return actors_of(node).restart(node); }
  bool leave(NodeId node) override { return actors_of(node).leave(node); }
  bool join(NodeId node) override { return restart(node); }
  bool lose_disk(NodeId node) override { return actors_of(node).lose_disk(node); }
  void set_speed(NodeId node, double factor) override { speeds_.set_fault(node, factor); }
  void set_bandwidth(NodeId node, double factor) override { links_.set_fault(node, factor); }
  bool corrupt(NodeId worker, const FaultSpec& fault, bool begins) override {
    JobContext& job = job_of(worker).context();
    job.state.corrupt_pushes.set(worker - job.plan.first_worker(), fault, begins);
    return true;
  }

  Job& job_of(NodeId node) {
    const auto job = std::ranges::find_if(jobs_, [node](Job& one) { return one.actors().has(node); });
    return job != jobs_.end() ? *job : jobs_.front();
  }
  NodeActors& actors_of(NodeId node) { return job_of(node).actors(); }

  std::deque<Job>& jobs_;
  SpeedControl& speeds_;
  LinkControl& links_;
  std::optional<FaultPlan> plan_;
};

// The parts of a finished run from which its result is made.
struct EndedRun {
  const Scenario& scenario;
  Recorder& recorder;  // closed; result_of() adds the last weights to its digest
  std::deque<Job>& jobs;
  const FaultPlan* faults;  // null without faults
  double end;               // in simulated seconds
  std::vector<std::string> stuck;
  std::optional<Economy> economy;
};

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

// Throws BrokenInvariant if the record contradicts itself.
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

namespace {

// The parts of a run. Each part needs the parts before it.
class Simulation final : public RunObserver {
 public:
  Simulation(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks)
      : scenario_(loaded.scenario),
        plans_(plan_jobs(loaded)),
        machines_(scenario_, plans_, options, sinks),
        jobs_(make_jobs(plans_, machines_, *this, options.gradients)),
        speeds_(scenario_.cluster, machines_.cpus, machines_.slowness, machines_.agenda, machines_.network,
                machines_.recorder),
        links_(scenario_, machines_.network, machines_.agenda, machines_.recorder),
        faults_(scenario_, machines_, jobs_, speeds_, links_),
        end_(machines_, jobs_),
        watch_({scenario_, jobs_, machines_.network, speeds_, machines_.recorder, machines_.agenda,
                faults_.plan()},
               [this] { end_.end_now(); }) {}
  // Threads may still compute results that the run no longer needs.
  ~Simulation() override { machines_.pool.stop(); }

  RunResult run() {
    start_jobs(jobs_, machines_);
    speeds_.start([this] { return watch_.is_stuck(); });
    links_.start([this] { return watch_.is_stuck(); });
    faults_.start([this] { return watch_.is_quiet(); });
    for (Job& job : jobs_) job.plan_evaluations();
    for (Job& job : jobs_) job.plan_end();
    machines_.engine.run([this] { note_stuck(); });
    for (Job& job : jobs_) job.actors().rethrow();
    if (watch_.stuck().empty()) note_stuck();  // SimGrid sees no deadlock if all nodes stay down
    end_.close();
    return result_of({scenario_, machines_.recorder, jobs_, faults_.plan(), end_.date(), watch_.stuck(),
                      economy(end_.date())});
  }

 private:
  void on_end(Job& job) override { end_.end_job(job); }
  void on_update(std::int64_t updates) override { faults_.on_update(updates); }
  void on_clock(NodeId worker, std::int64_t clock) override { faults_.on_clock(worker, clock); }
  bool waits_for_evaluations() const override { return faults_.waits_for_evaluations(); }
  void on_evaluation(const Evaluation& result) override { faults_.on_evaluation(result); }
  std::optional<Economy> economy(double date) const override {
    if (!has_economy(scenario_)) return std::nullopt;
    std::vector<const NodeUsage*> usages;
    for (const Job& job : jobs_) usages.push_back(&job.state().usage);
    return economy_until(scenario_, usages, machines_.recorder.stats().bytes_sent, date);
  }
  bool is_stuck() override { return watch_.is_stuck(); }
  bool is_hopeless() override { return watch_.is_hopeless(); }
  void give_up(NodeId node, std::string_view what) override { watch_.give_up(node, what); }
  bool comes_back(NodeId node) const override {
    return faults_.plan() != nullptr && faults_.plan()->comes_back(node);
  }
  void note_stuck() {
    if (!end_.has_ended()) watch_.note_stuck();
  }

  const Scenario& scenario_;
  std::vector<JobPlan> plans_;
  Machines machines_;
  std::deque<Job> jobs_;
  SpeedControl speeds_;
  LinkControl links_;
  RunFaults faults_;
  RunEnd end_;
  ProgressWatch watch_;
};

}  // namespace

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks) {
  seed_of_this_run = loaded.scenario.seed;
  LoadedScenario wired = loaded;
  wired.scenario = on_its_bus(loaded.scenario);
  return Simulation(wired, options, sinks).run();
}

}  // namespace psim
