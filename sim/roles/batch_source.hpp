// Where a worker's batches come from: how large they are, which samples they hold, and whether they are here,
// if a database delivers them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/roles/job_context.hpp"
#include "sim/roles/local_work.hpp"

namespace psim {

class BatchSource {
 public:
  BatchSource(JobContext& job, NodeId worker);

  // From the next draw on the samples of workers that take no part are seen by the others.
  void share_out_among(const std::vector<bool>& members);
  // An assignment of the scheduler, or samples of the database.
  void on(const Samples& samples);
  void on(const Assign& assignment);

  // Asks the database for the batches of the worker's step `step`, if there is such a step, and of those that
  // it prefetches.
  void ask_ahead(std::int64_t step);
  // The same, whether or not this step is one of the run's clocks. True when its batches can be computed on.
  bool prepare(std::int64_t step);

  // Steps that are asked for from now on have so many local steps, instead of what the scenario says of them.
  void fit(std::int64_t local_steps) { fitted_ = local_steps; }
  // Of step `step`, which is not taken yet.
  std::int64_t local_steps_of(std::int64_t step) const;

  // Of the step that is prepared: samples of each batch, and that over the scenario's batch size.
  std::int64_t batch_size() const { return drawn_.front().batch_size; }
  std::int64_t next_batch_size() const { return drawn_.empty() ? size_ : batch_size(); }
  double scale() const;
  const std::vector<std::vector<Batch>>& batches() const { return drawn_.front().batches; }
  // The first step that is asked for is `step`.
  void skip_to(std::int64_t step);

  // Hands out its batches, by local step; no samples for a phantom model.
  std::vector<std::vector<Batch>> take();

  // The step that was taken last was computed in `seconds`, but for samples that others took; tells the
  // scheduler if it wants to know: where work is dynamic, or slow workers are looked for.
  void computed(double seconds, std::int64_t given_away = 0);
  // So many samples of other workers' batches were computed here.
  void computed_for_others(std::int64_t samples) { samples_computed_ += samples; }

  // Of the step that was taken last.
  std::int64_t in_hand() const { return in_hand_; }
  std::int64_t samples_computed() const { return samples_computed_; }
  std::int64_t last_batch_size() const { return size_; }

 private:
  struct Drawn {
    std::int64_t batch_size;
    std::vector<std::vector<Batch>> batches;
  };
  bool has_size(std::int64_t step) const;
  void ask(std::int64_t step);
  Drawn draw(std::int64_t step);
  std::uint64_t bytes_of(const Drawn& drawn, std::int64_t step) const;
  std::int64_t samples_of(const Drawn& drawn, std::int64_t step) const;
  bool delivered() const;

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  std::int64_t fitted_ = 0;             // local steps of a clock of local_time
  std::int64_t size_ = 0, before_ = 0;  // of a batch, and of those of the workers before this one
  std::int64_t clock_samples_;          // of all batches of a clock
  std::vector<bool> members_;           // workers that share out all samples; empty: everybody
  std::int64_t assignments_ = 0;        // by the scheduler
  std::int64_t asked_ = 0, here_ = 0;   // steps whose batches are drawn, and here
  std::int64_t batches_ = 0;            // drawn
  std::int64_t position_ = 0;           // in the worker's own shard
  std::deque<Drawn> drawn_;             // and not taken
  std::int64_t taken_ = 0;              // steps
  std::int64_t in_hand_ = 0;            // samples of the one that was taken last
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
