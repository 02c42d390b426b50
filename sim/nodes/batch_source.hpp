// Where a worker's batches come from: how large they are, which samples they hold, and whether they are here,
// if a database delivers them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "sim/nodes/holdings.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/local_work.hpp"
#include "sim/nodes/requests.hpp"

namespace psim {

class BatchSource {
 public:
  BatchSource(JobContext& job, NodeId worker, Requests& requests);

  // Who takes part, by worker (empty: everybody). Where lost samples are reassigned, those who take part see
  // them from the next draw on.
  void share_out_among(const std::vector<bool>& members);
  // An assignment of the scheduler, or samples of the database or of another worker.
  void on(const Message& message, const Samples& samples);
  void on(const Assign& assignment);
  // Another worker asks for samples that this one holds. Runs in the simulation kernel.
  void serve(const Message& fetch) const { holdings_.serve(fetch); }

  // The worker's step `step` is that of clock `clock`: where only fresh pushes count, a step may be of an
  // older clock than the last one.
  void align(std::int64_t step, std::int64_t clock) { clocks_ahead_ = clock - step; }
  // Asks the database for the batches of the worker's step `step`, if there is such a step, and of those that
  // it prefetches.
  void ask_ahead(std::int64_t step);
  // The same, whether or not this step is one of the run's clocks. True when its batches can be computed on.
  bool prepare(std::int64_t step);

  // Steps that are asked for from now on have so many local steps, instead of what the scenario says of them.
  void fit(std::int64_t local_steps) { fitted_ = local_steps; }
  // Of step `step`, which is not taken yet.
  std::int64_t local_steps_of(std::int64_t step) const;
  // The others have warmed up without this worker.
  void is_late() { warms_up_ = false; }

  // Of the step that is prepared: samples of each batch, and that over the scenario's batch size.
  std::int64_t batch_size() const { return drawn_.front().batch_size; }
  std::int64_t next_batch_size() const { return drawn_.empty() ? share_of(taken_).size : batch_size(); }
  double scale() const;
  const std::vector<std::vector<Batch>>& batches() const { return drawn_.front().batches; }
  // The first step that is asked for is `step`.
  void skip_to(std::int64_t step);

  // Hands out its batches, by local step; no samples for a phantom model.
  std::vector<std::vector<Batch>> take();

  // The step that was taken last was computed in `seconds`, but for samples that others took; tells the
  // scheduler if it wants to know: where work is dynamic, or slow workers are looked for.
  void computed(double seconds, std::int64_t given_away = 0);
  // So many samples that were given away, or of other workers' batches, were computed here.
  void computed_more(std::int64_t samples) { samples_computed_ += samples; }

  // Of the step that was taken last.
  std::int64_t in_hand() const { return in_hand_; }
  std::int64_t samples_computed() const { return samples_computed_; }
  std::int64_t last_batch_size() const { return share_of(std::max<std::int64_t>(0, taken_ - 1)).size; }

 private:
  struct Drawn {
    std::int64_t batch_size;
    std::vector<std::vector<Batch>> batches;
  };
  // Of a batch, of those of the workers before this one, and of all batches of a clock.
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
  std::int64_t fitted_ = 0;                  // local steps of a clock of local_time
  Share share_;                              // of work that is not dynamic
  std::vector<bool> members_;                // workers that share out all samples; empty: everybody
  std::map<std::int64_t, Assign> assigned_;  // dynamic: by clock in step; else only the newest, by number
  std::int64_t clocks_ahead_ = 0;            // of steps
  std::int64_t asked_ = 0;                   // steps whose batches are drawn
  std::set<std::int64_t> awaited_;           // of these, those whose batches are on their way
  std::map<std::int64_t, std::int64_t> arrivals_;  // events, by step that has not begun
  std::int64_t batches_ = 0;                       // drawn
  std::int64_t position_ = 0;                      // in the worker's own shard
  std::deque<Drawn> drawn_;                        // and not taken
  std::int64_t taken_ = 0;                         // steps
  bool warms_up_ = true;                           // in the first clock, if workers do
  std::int64_t in_hand_ = 0;                       // samples of the one that was taken last
  std::int64_t samples_computed_ = 0;
  double round_seconds_ = 0;  // since the last report
  std::int64_t round_samples_ = 0;
};

// Of samples on the network: what the scenario says, or 4 bytes a feature and a label; of a sparse sample, 8
// bytes a nonzero, its index and value. `samples` may be empty where there is no data.
std::uint64_t sample_bytes(const JobContext& job, std::span<const std::uint32_t> samples, std::int64_t count);

// The batch sizes with which a run begins, by worker.
std::vector<std::int64_t> first_batch_sizes(const JobContext& job);

}  // namespace psim
