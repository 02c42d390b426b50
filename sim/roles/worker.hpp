// A worker: pulls weights, computes a gradient, pushes it; again and again.
#pragma once

#include <simgrid/s4u/Exec.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/roles/batch_source.hpp"
#include "sim/roles/kv_client.hpp"
#include "sim/roles/local_work.hpp"
#include "sim/roles/work_sharing.hpp"
#include "sim/roles/world.hpp"

namespace psim {

class Worker {
 public:
  // `back`: it was there before, and crashed.
  Worker(World& world, NodeId node, bool back = false);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The actor's body.
  void run();

  // A message for this worker has come in, while it may be computing. Runs in the simulation kernel.
  void on_arrival(const Message& message);

  const BatchSource& source() const { return source_; }
  std::int64_t samples_computed() const {
    return source_.samples_computed() + (sharing_ ? sharing_->stolen() : 0);
  }
  std::int64_t view() const { return kv_.view(); }
  bool is_through() const { return through_; }
  // Through, but it goes on listening: a shard may be set back that counts on its pushes.
  bool stays() const { return stays_; }
  // It was through, and such a shard has been: it is to begin again, as after a crash.
  bool is_needed() const { return is_needed_; }
  // After the step in hand.
  void leave_soon() { leaves_ = true; }
  bool is_leaving() const { return leaves_ && !through_; }

 private:
  // A part of a step that goes on without stop: one if a step begins when all weights are here and pushes
  // when it is done; with `overlap` two for each layer, forward and backward.
  struct Phase {
    double share;     // of the step's work
    ShardIds needs;   // weights that must be here
    ShardIds pushes;  // gradients that are ready after it
    double copies;    // between host and devices, in seconds of a local step
  };

  static std::vector<Phase> phases_of(const World& world);
  bool pull();  // false when training is over
  void prepare();
  void record(ComputePhase phase, std::optional<std::int64_t> samples = {});
  bool compute();  // false when a newer version made it pointless
  void compute_shared();
  bool copy(double seconds);
  bool execute(double flops, bool may_stop = true);
  void await(const ShardIds& shards);
  void choose_keys();
  void watch_for_newer();
  void pull_announced(ShardIds& wanted);
  void start_gradient();
  void pull_to_centre();
  bool goes_on_alone() const;
  bool may_begin() const;
  void push(const ShardIds& shards);
  bool is_over() const;
  void wait_for_all();
  void go_on();
  void pull_other_keys();
  bool is_behind() const { return kv_.ahead() > ahead_; }
  void catch_up();
  double flops_of_samples() const;  // of the step in hand; this one without slowness
  double flops_of_step() const;

  World& world_;
  NodeId node_;
  std::uint32_t index_;
  KvClient kv_;
  std::vector<Phase> phases_;
  std::size_t last_forward_;      // phase from which on all weights are here
  LocalCopy local_;               // what the worker keeps from one step to the next
  std::int64_t steps_begun_ = 0;  // computations, kept or not, or skipped: numbers slowness
  std::int64_t ahead_ = 0;        // of them skipped
  BatchSource source_;
  bool back_;
  bool leaves_ = false;
  bool has_copy_ = false;  // of the weights, to go on alone with
  bool through_ = false;   // all its clocks are done, or it has left
  bool stays_ = false, is_needed_ = false;
  std::int64_t batch_size_ = 0;  // of the step in hand
  double seconds_ = 0;           // that it has been computed
  std::int64_t clock_ = 0;       // of the step in hand
  Timestamp last_push_ = 0;
  std::shared_ptr<const BatchKeys> keys_;  // sparse models: of the step in hand
  std::int64_t keys_of_ = -1;              // that step
  Pool::Handle task_;
  std::shared_ptr<Values> gradient_;
  simgrid::s4u::ExecPtr computing_;  // what may be stopped
  double left_ = 0;                  // of it when it was
  bool is_copying_ = false, is_stopped_ = false;
  std::unique_ptr<WorkSharing> sharing_;  // work stealing
};

}  // namespace psim
