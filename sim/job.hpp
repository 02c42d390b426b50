// One job of a run: its workers, and the progress and end of their training. Jobs share the machines. Most
// runs have one job.
//
// [[group]] divides the workers. Each group trains its own job, or shares the job of the group before it (Li
// et al., OSDI 2014, section 3). Jobs share what belongs to the machines: network, recorder, agenda, pool,
// speeds, scheduler. Decisions:
// - psim makes a job's scenario in two steps. It reads the file again with the group's `set`, by the code of
//   --set. Then it keeps only the job's workers. So groups have every field, default, preset, check and
//   diagnostic. A group cannot set fields of the machines.
// - A job draws the same random numbers as in a run of its own: batches, weights, slowness and random filters
//   depend on the job's own worker numbers and seed. So under bsp a job's weights equal those of a run with
//   this job alone, bit for bit. Only the dates differ, because the neighbours use the same machines
//   (tests/oracles/groups_test.cpp).
// - A server is one actor with a part for each job. It takes messages in order of arrival. Jobs compete for
//   its time and its links.
// - Groups that share a job may differ in batch size. Clocks, optimizer, consistency model and end belong to
//   the job.
// - A job that ends before others leaves the cluster. Its workers stop, and its outstanding pushes have no
//   effect. The servers drop its shards, unless inference nodes read them. The result of a job is the weights
//   of its servers at its end; later events on the servers do not change this result. The last job ends the
//   run.
// - Fault conditions on updates, loss and accuracy refer to the first job.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/learner.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/machines.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/node_actors.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Measures loss and accuracy of the servers' weights at chosen moments. An evaluation takes no simulated time
// and changes nothing: the same run without evaluations has the same digest.

// A hash of all values: psim takes weights with the same hash for equal.
std::uint64_t hash_of(const Values& weights);

class Evaluator {
 public:
  // `set`: the samples that the evaluator uses.
  Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool);

  // Adds a point to the curve and evaluates these weights for it. Returns true when the target is reached and
  // has been held for the required number of points. Only a target that stops the run gives this result at
  // once.
  bool evaluate(CurvePoint point, std::shared_ptr<Assembly> weights);

  // Waits for all open evaluations. Then the curve is complete.
  void finish();

  const std::deque<CurvePoint>& curve() const { return curve_; }
  // The first of `hold` successive points that all reach the target; null if there are no such points.
  const CurvePoint* reached() const;
  // The date of the point before reached().
  std::optional<double> last_miss() const;

 private:
  bool reaches(const Evaluation& evaluation) const;
  std::deque<CurvePoint>::const_iterator find_reached() const;

  const Learner& learner_;
  const Dataset& set_;
  Target target_;
  Pool& pool_;
  std::deque<CurvePoint> curve_;  // a deque: tasks write to elements while others are added
  std::deque<Pool::Handle> tasks_;
};

class Job;

// The run as its jobs see it.
class RunObserver : public RunWatch {
 public:
  // Called from the agenda when the job has finished or has reached its goal.
  virtual void on_end(Job& job) = 0;
  virtual void on_update(std::int64_t updates) = 0;  // the number of updates so far
  virtual bool waits_for_evaluations() const = 0;    // the run needs each result at once
  virtual void on_evaluation(const Evaluation& result) = 0;
  virtual std::optional<Economy> economy(double date) const = 0;  // none without power or prices
};

class Job final : private JobObserver {
 public:
  // `number`: the job's number in the run, from 0. `gradients`: see RunOptions.
  Job(const JobPlan& plan, std::size_t number, Machines& machines, RunObserver& run,
      GradientProbe* gradients);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Before the simulation runs.
  void start(const std::vector<JobContext*>& jobs);
  void plan_evaluations();
  void plan_end();

  // Ends the job. Other jobs may go on; later this job ignores the end of the run.
  void end();
  // Adds the last point of the curve, when the weights no longer change.
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
  DataPart judged_on() const;  // data of the curve and the target
  // The evaluation of the last weights on the test set, if the curve uses the validation set.
  const std::optional<Evaluation>& tested() const { return tested_; }
  std::vector<Slice> weights() const { return is_over() ? last_weights_ : nodes().weights(); }
  // The whole model; null for a phantom.
  std::shared_ptr<const Values> last_weights() const;
  std::uint64_t hash_of_weights() const;
  // Whether the curve's last point differs from the last weights, which would be a defect of psim. With
  // PSIM_INVARIANTS in the environment psim evaluates the last weights again.
  bool final_differs() const;
  // The job ended by itself, although a worker that may still come had not finished.
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
  Slowness slowness_;                     // of the workers' steps
  std::unique_ptr<Evaluator> evaluator_;  // null for a phantom model
  std::optional<Evaluation> tested_;
  JobState state_;
  JobContext context_;
  NodeActors actors_;
  EvaluationPeriod evaluate_every_;
  std::int64_t version_ = 0;  // the model's version at the last check
  // Periods until the last check; evaluated periods if the period is a time.
  std::int64_t periods_ = 0;
  std::vector<Slice> last_weights_;  // set when the job ends
  bool curve_finished_ = false, ended_early_ = false;
  double finished_ = 0;
};

std::deque<Job> make_jobs(const std::vector<JobPlan>& plans, Machines& machines, RunObserver& run,
                          GradientProbe* gradients);
// Call it before the simulation runs. It also connects arriving messages with the jobs' actors.
void start_jobs(std::deque<Job>& jobs, Machines& machines);

}  // namespace psim
