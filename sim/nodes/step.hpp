// What a worker does between a pull and the end of its push: a table of the kinds is in make_step().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/nodes/batch_source.hpp"
#include "sim/nodes/client_actor.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/local_work.hpp"
#include "sim/nodes/processor.hpp"

namespace psim {

// What a worker and its steps share.
struct StepContext {
  JobContext& job;
  NodeId node;
  std::uint32_t index;  // of the worker
  Requests requests{job, node};
  ClientActor kv{job, node, &requests};
  BatchSource source{job, node, requests};
  Processor processor{job, node};

  std::int64_t number = 0;      // of the step in hand: computations begun, kept or not, or skipped
  std::int64_t clock = 0;       // of the step in hand
  std::int64_t batch_size = 0;  // of the step in hand
  bool is_ahead = false;        // the step in hand is done before the servers are known to be there
  bool on_own_copy = false;     // the step begins with the worker's own weights, not with pulled ones

  // Waits until the batches of the step are here; and its work begins.
  void wait_for_batches();
  void prepare();
  // From here on the step counts as begun. Takes its batches; `keep`: it leaves its weights in the local
  // copy.
  LocalWork begin(bool keep);
  // The weights that were pulled for `keys` (null: for all); they are here.
  std::shared_ptr<Assembly> take_weights(const BatchKeys* keys);

  // What the step in hand does; `samples`: whose gradients are complete.
  void record(ComputePhase phase, std::optional<std::int64_t> samples = {});
  // Sends each of these shards its part of `gradient`, of the step in hand.
  Timestamp push(const ShardIds& shards, const std::shared_ptr<Values>& gradient);

  // Operations of the step in hand: of its samples, without slowness; and of all that it does, with it.
  double flops_of_samples() const;
  double flops_of_step() const;
  // Of an update on the worker, without slowness.
  double update_flops() const;
  // On the machine as it is now: of what the step in hand does once, however many local steps it has, and of
  // each of these.
  double seconds_beside_local_steps() const;
  double seconds_of_local_step() const;
  // Of all copies between host and devices, both ways: of the step in hand, and of these shards in one local
  // step.
  double copy_seconds() const;
  double copies_of_local_step(const ShardIds& shards) const;
};

class Step {
 public:
  virtual ~Step() = default;

  // Weights that must be here before the step begins.
  virtual const ShardIds& needs() const = 0;
  // The step's real numbers, and the simulated time that they take. False when a newer version made it
  // pointless: then there is nothing to push.
  virtual bool compute() = 0;
  // Sends the servers what is not on its way yet; returns the task to wait for.
  virtual Timestamp push() = 0;

  // The worker goes; `completes`: all its clocks are done.
  virtual void leave(bool /*completes*/) {}

  // A message for this worker has come in, while it may be computing. Runs in the simulation kernel.
  virtual void on_arrival(const Message&) {}
  // A message from another worker.
  virtual void on_peer(const Message&) {}
};

std::unique_ptr<Step> make_step(StepContext& context);

}  // namespace psim
