// The source of a worker's batches: their sizes, their samples, and, if a database delivers them, whether
// they have come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/requests.hpp"
#include "sim/nodes/worker/local_work.hpp"

namespace psim {

// The samples of the training set that a worker holds, where samples cost time to move (recovery.data_from).
//
// Decisions:
// - A worker that is present from the beginning holds its part: its share of the data. With lost_data =
//   "reassign" its part also includes a share of the data of absent workers. With iid samples every worker
//   may use every sample, so its part is all samples.
// - A worker that joins, or comes back from a crash, holds nothing. It requests its part, and its first step
//   waits for it. If a worker's part grows because another worker is gone, it requests the missing samples,
//   and its next step waits for them.
// - With data_from = "database" all samples come from the node that holds the training set. With "workers"
//   they come from the workers that held them while the requesting worker was absent. Each of these sends the
//   samples that it held; with iid samples each sends an equal share. The database sends the samples that no
//   worker holds.
// - A worker sends samples in parallel to its computing, also after it has left. It keeps samples that it
//   must give up until the set of members has changed once more.
// - If a holder does not answer before the first repetition, the worker asks the database instead. A holder
//   that lacks a sample says this in its answer.
class Holdings {
 public:
  Holdings(JobContext& job, NodeId worker, Requests& requests);

  // Finds the worker's part for these members (empty: all workers), and requests the samples that the worker
  // lacks.
  void need(const std::vector<bool>& members);
  void on(NodeId from, const Samples& answer);
  bool is_complete() const { return open_.empty(); }
  // Another worker asks for samples. Runs in the simulation kernel.
  void serve(const Message& message) const;

 private:
  using Ids = std::vector<std::uint32_t>;
  bool moves() const;
  std::vector<bool> part_of(std::uint32_t worker, const std::vector<bool>& members) const;
  void ask_workers(std::vector<bool>& missing, const std::vector<bool>& holders);
  void ask(NodeId node, Ids samples);
  void fetch(std::int64_t number, NodeId node, const SharedKeys& samples);

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  Requests& requests_;
  std::vector<bool> members_;        // members of the current part; empty: no part yet
  std::vector<bool> held_, needed_;  // by sample
  std::int64_t asked_ = 0;
  std::map<std::int64_t, SharedKeys> open_;  // open requests, by number
};

class BatchSource {
 public:
  BatchSource(JobContext& job, NodeId worker, Requests& requests);

  // `members`: by worker, whether it takes part (empty: all do). Where the job reassigns lost samples, the
  // members draw them from the next draw on.
  void share_out_among(const std::vector<bool>& members);
  // The scheduler sends an assignment, or the database or another worker sends samples.
  void on(const Message& message, const Samples& samples);
  void on(const Assign& assignment);
  // Another worker asks for samples that this worker holds. Runs in the simulation kernel.
  void serve(const Message& fetch) const { holdings_.serve(fetch); }

  // The worker's step `step` belongs to clock `clock`. Where only fresh pushes count, a step may belong to an
  // older clock than the step before it.
  void align(std::int64_t step, std::int64_t clock) { clocks_ahead_ = clock - step; }
  // Asks the database for the batches of the worker's step `step`, if the run has this step, and for the
  // batches of the steps that the worker prefetches.
  void ask_ahead(std::int64_t step);
  // The same, even if the run has no such step. Returns true when the worker can compute on the step's
  // batches.
  bool prepare(std::int64_t step);

  // Steps that are drawn from now on have this number of local steps instead of the scenario's number.
  void fit(std::int64_t local_steps) { fitted_ = local_steps; }
  // Steps that are drawn from now on have only this many of the batches that a local step accumulates.
  void fit_batches(std::int64_t batches) { fitted_batches_ = batches; }
  // Batches of a local step.
  std::int64_t accumulated() const {
    return fitted_batches_ > 0 ? fitted_batches_ : job_.plan.scenario.training.accumulate;
  }
  // Local steps of step `step`, which the worker has not taken yet.
  std::int64_t local_steps_of(std::int64_t step) const;
  // The other workers have warmed up without this worker.
  void is_late() { warms_up_ = false; }

  // The prepared step: the samples of each batch, and (scale) the samples of a local step over the
  // scenario's.
  std::int64_t batch_size() const { return drawn_.front().batch_size; }
  std::int64_t next_batch_size() const { return drawn_.empty() ? share_of(taken_).size : batch_size(); }
  double scale() const;
  const std::vector<std::vector<Batch>>& batches() const { return drawn_.front().batches; }
  // The next step to draw is `step`.
  void skip_to(std::int64_t step);

  // Takes the batches of the prepared step, by local step; a phantom model has no samples.
  std::vector<std::vector<Batch>> take();

  // The worker computed the step that it took last in `seconds`, except for samples that other workers took.
  // Tells the scheduler if the scheduler needs this time: where work is dynamic, or where the scheduler looks
  // for slow workers.
  void computed(double seconds, std::int64_t given_away = 0);
  // This worker also computed `samples` samples: its own that it had given away, or samples of other workers'
  // batches.
  void computed_more(std::int64_t samples) { samples_computed_ += samples; }

  // Samples of the step that the worker took last.
  std::int64_t in_hand() const { return in_hand_; }
  std::int64_t samples_computed() const { return samples_computed_; }
  std::int64_t last_batch_size() const { return share_of(std::max<std::int64_t>(0, taken_ - 1)).size; }

 private:
  struct Drawn {
    std::int64_t batch_size;
    std::vector<std::vector<Batch>> batches;
  };
  // Samples of a batch, of the batches of the workers before this one, and of all batches of a clock.
  struct Share {
    std::int64_t size = 0, before = 0, of_clock = 0;
  };
  Share share_of(std::int64_t step) const;
  Share share_in(const Assign& assignment) const;
  std::int64_t round_of(std::int64_t step) const;
  bool has_size(std::int64_t step) const;
  void report(std::int64_t clock, std::optional<double> seconds_per_sample);
  void ask(std::int64_t step);
  Drawn draw(std::int64_t step);
  std::uint64_t bytes_of(const Drawn& drawn, std::int64_t step) const;
  std::int64_t samples_of(const Drawn& drawn, std::int64_t step) const;
  bool delivered() const;
  bool is_dynamic() const { return job_.plan.scenario.training.work == WorkPolicy::dynamic; }
  bool in_step() const { return job_.plan.rule.waits_for_all(); }

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  Requests& requests_;
  Holdings holdings_;
  std::int64_t fitted_ = 0;          // local steps of a clock with local_time
  std::int64_t fitted_batches_ = 0;  // batches of a local step with accumulate_time
  Share share_;                      // the share where work is not dynamic
  std::vector<bool> members_;        // workers that share out all samples; empty: all
  // Dynamic work: the assignments by clock in step, otherwise only the newest, by number.
  std::map<std::int64_t, Assign> assigned_;
  std::int64_t clocks_ahead_ = 0;                  // clocks ahead of steps
  std::int64_t asked_ = 0;                         // steps with drawn batches
  std::set<std::int64_t> awaited_;                 // those of them with batches on their way
  std::map<std::int64_t, std::int64_t> arrivals_;  // events, by step that has not begun
  std::int64_t batches_ = 0;                       // drawn batches
  std::int64_t position_ = 0;                      // in the worker's own data
  std::deque<Drawn> drawn_;                        // drawn and not taken
  std::int64_t taken_ = 0;                         // steps taken
  bool warms_up_ = true;                           // in the first clock, if the scenario has a warmup
  std::int64_t in_hand_ = 0;                       // samples of the step that was taken last
  std::int64_t samples_computed_ = 0;
  double round_seconds_ = 0;  // since the last report
  std::int64_t round_samples_ = 0;
};

// The bytes of samples on the network. This is the scenario's value, or 4 bytes for each feature and label. A
// sparse sample has 8 bytes for each nonzero value: its index and its value. `samples` may be empty without
// data.
std::uint64_t sample_bytes(const JobContext& job, std::span<const std::uint32_t> samples, std::int64_t count);

// The batch sizes at the beginning of a run, by worker.
std::vector<std::int64_t> first_batch_sizes(const JobContext& job);

}  // namespace psim
