// What the roles of one run share.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "model/learner.hpp"
#include "model/parameters.hpp"
#include "model/sampler.hpp"
#include "sim/cluster/agenda.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/cluster/slowness.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/membership.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/record/recorder.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The ranges of `whole`, `count` values in all, one after the other.
std::shared_ptr<Values> gathered(const Values& whole, const std::vector<Range>& ranges, std::size_t count);

// What the roles ask about the run as a whole, and tell it.
class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual bool is_stuck() = 0;       // nothing can happen any more
  virtual bool is_hopeless() = 0;    // nothing has come of anything for too long; the run then ends
  virtual void give_up(NodeId) = 0;  // a request of this node was repeated as often as is allowed
  // Whether a fault that is planned starts this node again. Faults with a condition are not planned before
  // their condition holds.
  virtual bool comes_back(NodeId) const = 0;
};

// What a record of a wait keeps of the message that ended it.
struct Heard {
  Heard() = default;
  explicit Heard(const Message& message) : from(message.from), sent(message.sent) {
    if (message.is<Answer>() || message.is<Ack>()) shard = message.shard;
  }
  NodeId from = 0;
  std::optional<std::uint32_t> shard = {};
  std::optional<std::uint64_t> sent = {};
};
struct World;
// Worker `node` has waited since the date `since`, until now, for `last`.
void record_wait(World& world, NodeId node, Awaited what, double since, std::optional<std::int64_t> clock,
                 const Heard& last);

KeySpace key_space_of(const Scenario& scenario);
ConsistencyRule rule_of(const Scenario& scenario);

// One namespace: its parameters, and the workers that train them. What it shares with other namespaces are
// the servers, the network and the clock; in most runs there is only one.
struct World {
  const Scenario& scenario;  // as if its workers were alone
  ConsistencyRule rule;
  std::int64_t steps;  // clocks of each worker; very large when something else ends the run
  KeySpace keys;
  std::int64_t training_samples;  // 0 for a phantom model
  // Of the run's workers and shards, the first that belong here.
  std::uint32_t first_index = 0, first_shard = 0;
  std::vector<std::int64_t> batch_sizes = {};  // by worker, where they differ from the beginning

  Agenda& agenda;
  Network& network;
  Recorder& recorder;
  Pool& pool;
  Slowness& slowness;
  const Learner* learner = nullptr;    // none for a phantom model
  Sampler* sampler = nullptr;          // likewise
  const Dataset* data = nullptr;       // likewise: the training set
  const Dataset* evaluated = nullptr;  // likewise: what the learner evaluates on

  std::vector<std::uint64_t> keys_used = {};  // sparse models: of all steps, by worker
  double last_finish = 0;                     // when a worker was through, or known to be gone for good
  std::uint32_t left = 0;                     // workers that have told the scheduler so
  bool over = false;                          // it has ended, although others may go on
  std::vector<NodeId> absent = {};            // nodes that are not there at first
  // Of each worker: it has done all its steps; it has left before that, or has not joined yet.
  std::vector<bool> completed = std::vector<bool>(workers()), left_early = std::vector<bool>(workers());
  // Of each worker: the scheduler has taken it out, and not heard of it since.
  std::vector<bool> taken_out = std::vector<bool>(workers());
  std::vector<int> busy = {};  // computations going on, of workers and servers
  // Counts a computation as long as it lives, even if its actor is killed meanwhile.
  class Busy {
   public:
    Busy(World& world, NodeId node) : count_(world.busy[node]) { ++count_; }
    ~Busy() { --count_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    int& count_;
  };

  std::function<void()> on_update;                          // after a server's update
  std::function<void()> on_end;                             // when every worker here has left
  std::function<void(NodeId, std::int64_t)> on_clock = {};  // a worker starts a clock, or has done the last
  RunWatch* watch = nullptr;                                // from the start of the run on

  // By shard: what its last owner had when it went down, or gave the shard up.
  struct Last {
    std::uint32_t epoch = 0;
    Slice weights = {};
  };
  std::vector<Last> last_weights = std::vector<Last>(keys.shards.size());
  // By shard: what is on the storage's disk, from the owner of this epoch.
  struct Snapshot {
    std::uint32_t epoch = 0;
    State state = {};
  };
  std::map<std::uint32_t, Snapshot> snapshots = {};

  bool some_completed() const { return std::ranges::find(completed, true) != completed.end(); }
  // Whether a worker is, or will be, there, with steps to do. When another has done all of them a worker that
  // takes no part finds nothing left: it would go on from where the others are. That is one that has left, or
  // is down or taken out where lost workers are removed.
  bool awaits(NodeId worker) const;
  // Whether nobody is awaited, and the steps are done, or all workers have left of their own accord.
  bool is_through() const;

  static constexpr NodeId scheduler = scheduler_node;
  NodeId first_server() const { return 1; }
  std::uint32_t servers() const { return static_cast<std::uint32_t>(scenario.cluster.servers); }
  std::uint32_t workers() const { return static_cast<std::uint32_t>(scenario.cluster.workers); }
  NodeId first_worker() const { return 1 + servers() + first_index; }
  NodeId database() const { return first_worker() + workers(); }
  NodeId snapshot_node() const { return storage_node(scenario.cluster).value_or(0); }
  RetrySpec retry() const;
  DetectorSpec detector() const;
  // The first weights of a shard; none of a phantom model.
  std::optional<Values> initial(std::uint32_t shard) const;
  LearningRate learning_rate() const;
  bool elastic() const { return scenario.training.algorithm == Algorithm::elastic; }
  bool steals() const { return scenario.training.work == WorkPolicy::stealing; }
  bool workers_update() const { return scenario.training.update == UpdateAt::worker; }
  // A phantom model counts clocks.
  Epochs epochs() const {
    if (training_samples == 0) return {.per_clock = 1};
    const TrainingSpec& training = scenario.training;
    const std::int64_t samples = training.batch_size * scenario.cluster.workers;  // of a batch of each worker
    const auto passes = [&](std::int64_t batches) {
      return static_cast<double>(samples * batches) / static_cast<double>(training_samples);
    };
    return {.per_clock = passes(training.batches_per_clock()),
            .first_more = passes(training.batches_more_at_first())};
  }
  bool has_shard(std::uint32_t of_run) const {
    return of_run >= first_shard && of_run - first_shard < keys.shards.size();
  }
  NodeId server_of(std::uint32_t shard) const { return first_server() + keys.shards[shard].server; }
  Precision precision() const { return scenario.model.precision; }
  Storage storage() const { return {precision(), scenario.training.multi_precision}; }
  double loss_scale() const { return scenario.training.loss_scale; }

  // Of a key in a sparse message: its place in the shard, or the whole key.
  std::size_t bytes_per_key() const { return std::max<std::size_t>(scenario.messages.key_bytes(), 4); }

  // A shard's part of an array over the whole key space; a copy only if it is not in one piece.
  Slice part_of(std::uint32_t shard, const std::shared_ptr<Values>& whole) const;

  // One assembled copy of the weights for all workers that pulled the same version.
  std::shared_ptr<Assembly> assemble(std::vector<Slice> parts) {
    std::shared_ptr<Assembly> last = last_assembly.lock();
    if (!last || !last->same_parts(parts) || !last->join()) {
      last = std::make_shared<Assembly>(std::move(parts), layout());
      last_assembly = last;
    }
    return last;
  }
  std::weak_ptr<Assembly> last_assembly = {};
  Assembly::Places places = keys.places();
  // Where the parts of the whole model belong; without servers they stand in their order.
  const Assembly::Places* layout() const { return places.empty() ? nullptr : &places; }

  // The filters of one direction between a worker and a shard; none if messages go as they are.
  std::unique_ptr<FilterChain> make_chain(std::uint32_t shard, NodeId worker, bool push) const;
  std::shared_ptr<FilterBuffers> filter_buffers = std::make_shared<FilterBuffers>();

  // Records number shards over all namespaces.
  void record(NodeId node, Subject what) {
    if (on_clock) {
      const auto* step = std::get_if<Computation>(&what);
      const auto* end = std::get_if<Finish>(&what);
      if (step != nullptr && step->phase == ComputePhase::begun && step->work == Work::step)
        on_clock(node, *step->clock);
      if (end != nullptr) on_clock(node, end->clock);
    }
    recorder.record({Agenda::now(), node, std::move(what)});
  }
};

}  // namespace psim
