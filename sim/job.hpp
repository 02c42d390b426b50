// One job of a run: its workers and how their training goes and ends. What it shares with other jobs are the
// machines. Most runs have one job.
//
// [[group]] divides the workers: each group trains a job of its own, or shares that of the group before (Li
// et al., OSDI 2014, section 3). Jobs share what belongs to the machines: network, recorder, agenda, pool,
// speeds, scheduler. Decisions:
// - A job's scenario is the file read again with the group's set put in, by the code of --set, and then
//   narrowed to its workers. So every field, default, preset, check and diagnostic is there for groups too.
//   What belongs to the machines cannot be set.
// - A job draws what it would draw alone: batches, weights, slowness and random filters go by its own
//   worker numbers and its seed. So under bsp a job's weights are those of a run of it alone, bit for bit;
//   only dates differ, by what the neighbours cost (tests/oracles/groups_test.cpp).
// - A server is one actor with a part for each job, and takes messages in order of arrival: its time and
//   its links are what jobs contend for.
// - Groups that share a job may differ in batch size; clocks, optimizer, consistency model and end are the
//   job's.
// - A job that ends before others leaves the cluster: its workers stop, and what its pushes would still
//   have done does not happen. Its shards are thrown away, unless inference nodes read them. What it has
//   learned is what its servers have at its end, whatever becomes of them. The last one ends the run.
// - Conditions of faults on updates, loss and accuracy concern the first job.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/evaluator.hpp"
#include "sim/machines.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/node_actors.hpp"
#include "sim/record/result.hpp"

namespace psim {

class Job;

// The run, as its jobs see it.
class RunObserver : public RunWatch {
 public:
  virtual void on_end(Job& job) = 0;  // from the agenda: it is through, or has reached what it was for
  virtual void on_update(std::int64_t updates) = 0;  // so many are done
  virtual bool waits_for_evaluations() const = 0;    // their results are wanted at once
  virtual void on_evaluation(const Evaluation& result) = 0;
  virtual std::optional<Economy> economy(double date) const = 0;  // where power or prices are given
};

class Job final : private JobObserver {
 public:
  // `number`: of the job in the run, from 0. `gradients`: see RunOptions.
  Job(const JobPlan& plan, std::size_t number, Machines& machines, RunObserver& run,
      GradientProbe* gradients);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Before the simulation runs.
  void start(const std::vector<JobContext*>& jobs);
  void plan_evaluations();
  void plan_end();

  // It is over; the others may go on, and then their end is not its own.
  void end();
  // The last point of its curve, when its weights change no more.
  void finish_curve();

  const JobPlan& plan() const { return plan_; }
  std::size_t number() const { return number_; }
  const JobState& state() const { return state_; }
  JobContext& context() { return context_; }
  NodeActors& actors() { return actors_; }
  const JobNodes& nodes() const { return actors_.nodes(); }
  bool is_over() const { return state_.progress.is_over(); }
  double finished() const { return finished_; }
  std::vector<CurvePoint> curve() const;
  std::optional<CurvePoint> target() const;
  std::optional<double> last_miss() const;
  DataPart judged_on() const;  // the curve and the target
  // The last weights over the test set, where the curve is over the validation set.
  const std::optional<Evaluation>& tested() const { return tested_; }
  std::vector<Slice> weights() const { return is_over() ? last_weights_ : nodes().weights(); }
  std::uint64_t hash_of_weights() const;
  // The last point of the curve is not of the last weights: a mistake of psim's. With PSIM_INVARIANTS in the
  // environment they are evaluated again.
  bool final_differs() const;
  // It came to its end by itself, though not every worker that may still come was through.
  bool ended_early() const { return ended_early_; }

 private:
  void on_version() override;
  void on_end() override;
  void start_spare(NodeId worker) override { actors_.start_spare(worker); }
  void on_applied(const PushOutcome& push) override;
  bool take_point(double date);
  std::int64_t version() const;
  bool is_evaluation_due();
  void plan_evaluation(std::int64_t turn);
  void take_points_before(double now);
  void end_soon();
  bool decides_faults() const { return number_ == 0; }

  const JobPlan& plan_;
  std::size_t number_;
  RunObserver& run_;
  Slowness slowness_;                     // of its workers' steps
  std::unique_ptr<Evaluator> evaluator_;  // none of a phantom model
  std::optional<Evaluation> tested_;
  JobState state_;
  JobContext context_;
  NodeActors actors_;
  EvaluationPeriod evaluate_every_;
  std::int64_t version_ = 0;         // of the model, when that was looked at last
  std::int64_t periods_ = 0;         // that had passed then; by time: that have been evaluated
  std::vector<Slice> last_weights_;  // once it is over
  bool curve_finished_ = false, ended_early_ = false;
  double finished_ = 0;
};

std::deque<Job> make_jobs(const std::vector<JobPlan>& plans, Machines& machines, RunObserver& run,
                          GradientProbe* gradients);
// Before the simulation runs; messages find their way to the jobs' actors.
void start_jobs(std::deque<Job>& jobs, Machines& machines);

}  // namespace psim
