#include "sim/simulation.hpp"

#include <Eigen/Core>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <deque>
#include <exception>

#include "model/mutant.hpp"
#include "sim/job.hpp"
#include "sim/machines.hpp"
#include "sim/node_faults.hpp"
#include "sim/progress_watch.hpp"
#include "sim/run_result.hpp"

namespace psim {
namespace {

class Simulation final : public RunObserver {
 public:
  Simulation(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks);
  // Threads may be in the middle of what nobody wants any more.
  ~Simulation() override { machines_.pool.stop(); }
  RunResult run();

 private:
  void on_end(Job& job) override;
  void on_update(std::int64_t updates) override {
    if (faults_) faults_->on_update(updates);
  }
  void on_clock(NodeId worker, std::int64_t clock) override {
    if (faults_) faults_->on_clock(worker, clock);
  }
  bool waits_for_evaluations() const override { return faults_ && faults_->waits_for_evaluations(); }
  void on_evaluation(const Evaluation& result) override { faults_->on_evaluation(result); }
  RunWatch& watch() override { return watch_; }

  void start();
  void end_now();
  void close();

  const Scenario& scenario_;
  std::vector<JobPlan> plans_;
  Machines machines_;
  Slowness slowness_;  // of machines, at a date; that of steps is the jobs'
  std::deque<Job> jobs_;
  SpeedControl speeds_;
  ProgressWatch watch_;
  std::unique_ptr<NodeFaults> node_faults_;  // none without faults, as the next
  std::unique_ptr<FaultPlan> faults_;
  bool ended_ = false;
  double end_ = 0;
};

Simulation::Simulation(const LoadedScenario& loaded, const RunOptions& options,
                       const std::vector<EventSink*>& sinks)
    : scenario_(loaded.scenario),
      plans_(plan_jobs(loaded)),
      machines_(scenario_, plans_, options, sinks),
      slowness_(scenario_.compute, scenario_.stragglers, static_cast<std::uint64_t>(scenario_.seed),
                std::vector<double>(static_cast<std::size_t>(scenario_.cluster.workers))),
      speeds_(machines_.platform, slowness_, machines_.agenda, machines_.network,
              static_cast<NodeId>(1 + scenario_.cluster.servers),
              static_cast<std::uint32_t>(scenario_.cluster.workers), [this] { return watch_.is_stuck(); }),
      watch_({scenario_, jobs_, machines_.network, speeds_, machines_.recorder, machines_.agenda},
             [this] { end_now(); }) {
  for (std::size_t i = 0; i < plans_.size(); ++i) jobs_.emplace_back(plans_[i], i, machines_, *this);
  if (scenario_.faults.empty()) return;
  node_faults_ = std::make_unique<NodeFaults>(jobs_.front().crew(), speeds_);
  faults_ = std::make_unique<FaultPlan>(scenario_, machines_.network, machines_.recorder, machines_.agenda,
                                        *node_faults_, [this] { return watch_.is_quiet(); });
  watch_.watch(*faults_);
}

RunResult Simulation::run() {
  start();
  machines_.engine.run();
  for (const Job& job : jobs_) {
    if (job.crew().failure()) std::rethrow_exception(job.crew().failure());
  }
  // Where all nodes are down for good SimGrid sees no deadlock.
  if (!ended_ && watch_.stuck().empty()) watch_.note_stuck();
  close();
  return result_of({scenario_, machines_.recorder, jobs_, faults_.get(), end_, watch_.stuck()});
}

void Simulation::start() {
  std::vector<JobContext*> contexts;
  for (Job& job : jobs_) contexts.push_back(&job.context());
  for (Job& job : jobs_) {
    job.start(contexts);
    if (&job != &jobs_.front()) jobs_.front().crew().act_for(job.crew());
  }
  machines_.network.on_arrival([this](const Message& message) {
    for (Job& job : jobs_) job.crew().on_arrival(message);
  });
  speeds_.start();
  if (faults_) faults_->start();
  for (Job& job : jobs_) job.plan_evaluations();
  for (Job& job : jobs_) job.plan_end();
  simgrid::s4u::Engine::on_deadlock_cb([this] {
    if (!ended_) watch_.note_stuck();
  });
}

// From an agenda entry. The run ends with its last job.
void Simulation::on_end(Job& job) {
  if (job.is_over()) return;
  job.end();
  if (std::ranges::all_of(jobs_, &Job::is_over)) return end_now();
  job.crew().end();
  job.finish_curve();
}

// From an agenda entry, never from an actor. Pending entries would keep the clock running.
void Simulation::end_now() {
  close();
  machines_.agenda.clear();
  for (NodeId node = 0; node < machines_.platform.hosts.size(); ++node) machines_.network.let_go(node);
  simgrid::s4u::Actor::kill_all();
}

// After this nothing is recorded any more.
void Simulation::close() {
  if (ended_) return;
  ended_ = true;
  for (Job& job : jobs_) {
    if (!job.is_over()) job.end();
    end_ = std::max(end_, job.finished());
  }
  machines_.network.close([this](const Message& message) {
    for (Job& job : jobs_) {
      if (message.is<Push>() && job.plan().has_shard(message.shard)) job.crew().discard(message);
    }
  });
  for (Job& job : jobs_) job.crew().discard_rest();
  if (mutant("end-is-late")) end_ += 0.5;
  machines_.recorder.close(end_);
}

}  // namespace

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks) {
  // Eigen blocks its products by cache size, and blocking decides rounding: pinned, not asked of the machine.
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 8 << 20);
  return Simulation(loaded, options, sinks).run();
}

}  // namespace psim
