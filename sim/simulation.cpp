#include "sim/simulation.hpp"

#include <deque>

#include "sim/economy.hpp"
#include "sim/job.hpp"
#include "sim/machines.hpp"
#include "sim/progress_watch.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/run_end.hpp"
#include "sim/run_faults.hpp"
#include "sim/run_result.hpp"
#include "sim/scenario/spec/one_machine.hpp"

namespace psim {
namespace {

// The parts of a run. Each part needs the parts before it.
class Simulation final : public RunObserver {
 public:
  Simulation(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks)
      : scenario_(loaded.scenario),
        plans_(plan_jobs(loaded)),
        machines_(scenario_, plans_, options, sinks),
        jobs_(make_jobs(plans_, machines_, *this, options.gradients)),
        speeds_(scenario_.cluster, machines_.cpus, machines_.slowness, machines_.agenda, machines_.network),
        links_(scenario_, machines_.network, machines_.agenda),
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
  void give_up(NodeId node) override { watch_.give_up(node); }
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
