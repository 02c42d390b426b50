// The work between a pull and the end of its push. make_step() has the table of the kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/worker/batch_source.hpp"
#include "sim/nodes/worker/client_actor.hpp"
#include "sim/nodes/worker/local_work.hpp"

namespace psim {

// The data that a worker and its steps share.
struct StepContext {
  JobContext& job;
  NodeId node;
  std::uint32_t index;  // of the worker
  Requests requests{job, node};
  ClientActor kv{job, node, &requests};
  BatchSource source{job, node, requests};
  Processor processor{job, node};

  // Number of the current step: the count of begun computations, kept or not, and of skipped ones.
  std::int64_t number = 0;
  std::int64_t clock = 0;        // clock of the current step
  std::int64_t begun_again = 0;  // stopped steps whose clocks the worker began again
  std::int64_t batch_size = 0;   // batch size of the current step
  // The current step runs before the worker knows that the servers are there.
  bool is_ahead = false;
  bool on_own_copy = false;  // the step uses the worker's own weights, not pulled ones

  // wait_for_batches() waits until the step's batches are here. prepare() also begins the step's work.
  void wait_for_batches();
  void prepare();
  // The worker has given the step up. The next one belongs to the same clock, and uses the same weights.
  void begin_again();
  // From here on the step counts as begun. Takes its batches. `keep`: the step leaves its weights in the
  // local copy.
  LocalWork begin(bool keep);
  // The weights that the worker pulled for `keys` (null: for all); they are here.
  std::shared_ptr<Assembly> take_weights(const BatchKeys* keys);

  // Records a phase of the current step. `samples`: the samples with complete gradients.
  void record(ComputePhase phase, std::optional<std::int64_t> samples = {});
  // The same for its begin. `number`: of the step.
  void record_begun(std::int64_t number_of_step);
  // The values to push for `computed` values of the current step: the same, unless a fault corrupts them.
  std::shared_ptr<Values> to_push(const std::shared_ptr<Values>& computed);
  // Sends each of these shards its part of the current step's `gradient`.
  Timestamp push(const ShardIds& shards, const std::shared_ptr<Values>& gradient);

  // Operations of the current step: those of its samples, without slowness, and those of the whole step, with
  // slowness.
  double flops_of_samples() const;
  double flops_of_step() const;
  // Operations of the current step, beside copies of `copies` seconds, after which it is given up; infinite:
  // it is not.
  double flops_until_given_up(double copies) const;
  // Operations of an update on the worker, without slowness.
  double update_flops() const;
  // Seconds at the machine's current speed: for the part of the current step that does not depend on local
  // steps, and for each local step.
  double seconds_beside_local_steps() const;
  double seconds_of_local_step() const;
  // The same for a clock of one local step: what does not depend on its batches, and each batch.
  double seconds_beside_batches() const;
  double seconds_of_batch() const;
  // Seconds of all copies between host and devices, both ways: in the current step, and for these shards in
  // one local step.
  double copy_seconds() const;
  double copies_of_local_step(const ShardIds& shards) const;
};

class Step {
 public:
  virtual ~Step() = default;

  // Weights that must be here before the step begins.
  virtual const ShardIds& needs() const = 0;
  // Computes the step's real numbers, and spends the simulated time that they take. Returns false if a newer
  // version has made the step pointless: then there is nothing to push.
  virtual bool compute() = 0;
  // Sends the servers the parts that are not on their way yet; returns the task to wait for.
  virtual Timestamp push() = 0;

  // The worker leaves; `completes`: all its clocks are done.
  virtual void leave(bool /*completes*/) {}

  // A message for this worker has arrived; the worker may be computing. Runs in the simulation kernel.
  virtual void on_arrival(const Message&) {}
  // A message from another worker.
  virtual void on_peer(const Message&) {}
};

std::unique_ptr<Step> make_step(StepContext& context);

}  // namespace psim
