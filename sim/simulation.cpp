#include "sim/simulation.hpp"

#include <Eigen/Core>
#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "model/mutant.hpp"
#include "sim/cluster/engine.hpp"
#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/job.hpp"
#include "sim/progress_watch.hpp"
#include "sim/record/invariants.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

// The namespaces of the run: one, unless there are groups.
std::vector<LoadedJob> jobs_of(const LoadedScenario& loaded) {
  if (!loaded.jobs.empty()) return loaded.jobs;
  return {{.scenario = loaded.scenario, .data = loaded.data}};
}

// Shards are numbered over all namespaces, one after the other.
std::vector<KeySpace> key_spaces(const std::vector<LoadedJob>& jobs) {
  std::vector<KeySpace> spaces;
  for (const LoadedJob& job : jobs) spaces.push_back(key_space_of(job.scenario));
  return spaces;
}

std::vector<std::uint32_t> shard_servers(const std::vector<KeySpace>& spaces) {
  std::vector<std::uint32_t> servers;
  for (const KeySpace& keys : spaces) {
    const std::vector<std::uint32_t> own = keys.servers();
    servers.insert(servers.end(), own.begin(), own.end());
  }
  return servers;
}

class Simulation final : public FaultTarget {
 public:
  Simulation(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks);
  // Threads may be in the middle of what nobody wants any more.
  ~Simulation() override { pool_.stop(); }
  RunResult run();

  // Nodes fail only where there is one job.
  bool crash(NodeId node, bool disk_lost) override {
    const bool was_up = jobs_.front().crew().crash(node);
    return (disk_lost && lose_disk(node)) || was_up;
  }
  bool restart(NodeId node) override {
    const bool was_down = jobs_.front().crew().restart(node);
    if (speeds_.is_frozen(node)) speeds_.apply(node);
    return was_down;
  }
  bool leave(NodeId node) override { return jobs_.front().crew().leave(node); }
  bool join(NodeId node) override { return restart(node); }
  bool lose_disk(NodeId node) override { return jobs_.front().crew().lose_disk(node); }
  void set_speed(NodeId node, double factor) override { speeds_.set_fault(node, factor); }

 private:
  void split_record();
  void start_jobs();
  void end_job(Job& job);
  std::uint32_t rank_of(const Message& message);
  Job& job_of(const Message& message);
  void end_now();
  void close();
  void add_space(const Job& job, RunResult& result) const;
  RunResult result();

  const Scenario& scenario_;
  std::vector<LoadedJob> loaded_;
  Engine engine_;
  Platform platform_;
  std::vector<KeySpace> keys_;  // by namespace
  Recorder recorder_;
  Pool pool_;
  Agenda agenda_;
  Network network_;
  Slowness slowness_;     // of machines, at a date; that of steps is the jobs'
  std::deque<Job> jobs_;  // by namespace
  SpeedControl speeds_;
  ProgressWatch watch_;
  std::unique_ptr<FaultPlan> faults_;  // none without faults
  bool ended_ = false;
  double end_ = 0;
};

Simulation::Simulation(const LoadedScenario& loaded, const RunOptions& options,
                       const std::vector<EventSink*>& sinks)
    : scenario_(loaded.scenario),
      loaded_(jobs_of(loaded)),
      engine_(scenario_, options.context),
      platform_(build_platform(scenario_)),
      keys_(key_spaces(loaded_)),
      recorder_(static_cast<std::size_t>(scenario_.cluster.servers),
                static_cast<std::size_t>(scenario_.cluster.workers), shard_servers(keys_)),
      pool_(options.threads),
      network_(platform_,
               {.header = static_cast<std::uint64_t>(scenario_.cluster.network.header.value),
                .one_by_one = scenario_.messages.order != SendOrder::parallel,
                .stream_from = database_node(scenario_.cluster),
                .rank = [this](const Message& message) { return rank_of(message); },
                .background = first_inference_node(scenario_.cluster)},
               recorder_, agenda_),
      slowness_(scenario_.compute, scenario_.stragglers, static_cast<std::uint64_t>(scenario_.seed),
                std::vector<double>(static_cast<std::size_t>(scenario_.cluster.workers))),
      speeds_(platform_, slowness_, agenda_, network_, static_cast<NodeId>(1 + scenario_.cluster.servers),
              static_cast<std::uint32_t>(scenario_.cluster.workers), [this] { return watch_.is_stuck(); }),
      watch_({scenario_, jobs_, network_, speeds_, recorder_, agenda_}, [this] { end_now(); }) {
  for (EventSink* sink : sinks) recorder_.add_sink(sink);
  if (scenario_.may_fail()) recorder_.watch_failures();
  std::uint32_t first_shard = 0;
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    jobs_.emplace_back(loaded_[i], i, first_shard, keys_[i],
                       Machines{platform_, agenda_, network_, recorder_, pool_});
    first_shard += static_cast<std::uint32_t>(keys_[i].shards.size());
  }
  if (!scenario_.groups.empty()) split_record();
  if (scenario_.faults.empty()) return;
  faults_ = std::make_unique<FaultPlan>(scenario_, network_, recorder_, agenda_, *this,
                                        [this] { return watch_.is_quiet(); });
  watch_.watch(*faults_);
  jobs_.front().world().on_clock = [this](NodeId worker, std::int64_t clock) {
    faults_->on_clock(worker, clock);
  };
}

// The recorder keeps books for each group and each namespace.
void Simulation::split_record() {
  std::vector<SpaceStats> spaces;
  for (const Job& job : jobs_) {
    const World& world = job.world();
    spaces.push_back({.first_worker = world.first_index,
                      .workers = world.workers(),
                      .first_shard = world.first_shard,
                      .shards = static_cast<std::uint32_t>(world.keys.shards.size())});
  }
  std::vector<GroupStats> groups;
  std::uint32_t first_worker = 0;
  for (const GroupSpec& group : scenario_.groups) {
    groups.push_back({.first_worker = first_worker, .workers = static_cast<std::uint32_t>(*group.workers)});
    first_worker += groups.back().workers;
  }
  recorder_.split(std::move(spaces), std::move(groups));
}

RunResult Simulation::run() {
  start_jobs();
  speeds_.start();
  if (faults_) faults_->start();
  for (Job& job : jobs_) job.plan_evaluations();
  for (Job& job : jobs_) job.plan_end();
  sg4::Engine::on_deadlock_cb([this] {
    if (!ended_) watch_.note_stuck();
  });
  engine_.run();
  for (const Job& job : jobs_) {
    if (job.crew().failure()) std::rethrow_exception(job.crew().failure());
  }
  // Where all nodes are down for good SimGrid sees no deadlock either.
  if (!ended_ && watch_.stuck().empty()) watch_.note_stuck();
  return result();
}

void Simulation::start_jobs() {
  std::vector<World*> worlds;
  for (Job& job : jobs_) worlds.push_back(&job.world());
  for (Job& job : jobs_) {
    Job::Hooks hooks{.on_end = [this](Job& ended) { end_job(ended); }, .watch = &watch_};
    if (faults_) hooks.on_update = [this](std::int64_t updates) { faults_->on_update(updates); };
    if (faults_ && faults_->waits_for_evaluations())
      hooks.on_evaluation = [this](const Evaluation& result) { faults_->on_evaluation(result); };
    job.start(std::move(hooks), worlds);
    if (&job != &jobs_.front()) jobs_.front().crew().act_for(job.crew());
  }
  network_.on_arrival([this](const Message& message) {
    for (Job& job : jobs_) job.crew().on_arrival(message);
  });
}

// From an agenda entry. The run ends with its last job.
void Simulation::end_job(Job& job) {
  if (job.is_over()) return;
  job.end();
  if (std::ranges::all_of(jobs_, &Job::is_over)) return end_now();
  job.crew().end();
  job.finish_curve();
}

Job& Simulation::job_of(const Message& message) {
  return *std::ranges::find_if(jobs_,
                               [&message](const Job& job) { return job.world().has_shard(message.shard); });
}

// Control messages first, then the shards of the first layers.
std::uint32_t Simulation::rank_of(const Message& message) {
  const Answer* answer = message.as<Answer>();
  const bool moves_values = message.is<Push>() || (answer != nullptr && !answer->finished);
  if (scenario_.messages.order != SendOrder::priority || !moves_values) return 0;
  const World& world = job_of(message).world();
  return 1 + world.keys.shards[message.shard - world.first_shard].layer;
}

// From an agenda entry, never from an actor. Pending entries would keep the clock running.
void Simulation::end_now() {
  close();
  agenda_.clear();
  for (NodeId node = 0; node < platform_.hosts.size(); ++node) network_.let_go(node);
  sg4::Actor::kill_all();
}

// After this nothing is recorded any more.
void Simulation::close() {
  if (ended_) return;
  ended_ = true;
  for (Job& job : jobs_) {
    if (!job.is_over()) job.end();
    end_ = std::max(end_, job.finished());
  }
  network_.close([this](const Message& message) {
    if (message.is<Push>()) job_of(message).crew().discard(message);
  });
  for (Job& job : jobs_) job.crew().discard_rest();
  if (mutant("end-is-late")) end_ += 0.5;
  recorder_.close(end_);
}

void Simulation::add_space(const Job& job, RunResult& result) const {
  const World& world = job.world();
  for (std::uint32_t w = 0; w < world.workers(); ++w) {
    WorkerStats& worker = result.stats.workers[world.first_index + w];
    const Worker* one = job.crew().worker(w);
    worker.batch_size = one ? one->source().last_batch_size() : world.scenario.training.batch_size;
    result.samples_told[world.first_index + w] =
        one ? job.crew().samples_computed(w) : worker.clocks * worker.batch_size;
    if (!world.keys_used.empty()) result.keys_used[world.first_index + w] = world.keys_used[w];
  }
  const std::vector<std::size_t> load = world.keys.load(world.servers());
  const std::vector<ServerRanges> ranges = job.crew().server_ranges();
  for (std::size_t s = 0; s < ranges.size(); ++s) {
    result.server_parameters[s].at_first += load[s];
    result.server_ranges[s].now += ranges[s].now;
    result.server_ranges[s].split_off += ranges[s].split_off;
  }
  for (std::size_t s = 0; s < world.keys.shards.size(); ++s) {
    if (const auto owner = result.stats.shard_owner[world.first_shard + s])
      result.server_parameters[*owner].at_end += world.keys.shards[s].count;
  }
  if (scenario_.groups.empty()) return;
  result.spaces.push_back({.scenario = world.scenario,
                           .groups = job.loaded().groups,
                           .curve = job.curve(),
                           .target = job.target(),
                           .parameters = static_cast<std::int64_t>(world.keys.parameters),
                           .weights = job.hash_of_weights()});
}

RunResult Simulation::result() {
  close();
  const auto servers = static_cast<std::size_t>(scenario_.cluster.servers);
  Job& first = jobs_.front();
  const World& world = first.world();
  RunResult result{.stats = recorder_.stats(),
                   .sim_time = end_,
                   .parameters = static_cast<std::int64_t>(world.keys.parameters),
                   .server_parameters = std::vector<ServerParameters>(servers),
                   .server_ranges = std::vector<ServerRanges>(servers),
                   .keys_used = std::vector<std::uint64_t>(recorder_.stats().workers.size()),
                   .flops_per_sample = flops_per_sample(world.scenario.model),
                   .samples_told = std::vector<std::int64_t>(recorder_.stats().workers.size()),
                   .weights = first.hash_of_weights(),
                   .stuck = mutant("silent-hang") ? std::vector<std::string>{} : watch_.stuck()};
  result.failures = recorder_.failures();
  result.inference = first.crew().finish_inference(end_);
  for (Job& job : jobs_) {
    job.finish_curve();
    add_space(job, result);
  }
  for (const Job& job : jobs_) {
    result.filters_used.merge(job.world().filter_buffers->used);
    result.ended_early = result.ended_early || job.ended_early();
  }
  if (faults_) result.faults = faults_->uses();
  result.curve = first.curve();
  result.target = first.target();
  recorder_.add_to_digest(&end_, sizeof end_);
  for (const Job& job : jobs_) {
    for (const Slice& part : job.crew().weights()) {
      if (part.values) recorder_.add_to_digest(part.values->raw(), part.values->bytes());
    }
  }
  result.digest = recorder_.digest();
  check_invariants(result, resolved_toml(scenario_));
  return result;
}

}  // namespace

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks) {
  // Eigen blocks its products by cache size, and blocking decides rounding: pinned, not asked of the machine.
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 8 << 20);
  return Simulation(loaded, options, sinks).run();
}

}  // namespace psim
