// All that there is of one shard: its weights, the pushes that wait for their update, and how far each worker
// is. A value: it goes to copies, to the next owner and to the storage as it is. Who hears of what it becomes
// is its server's affair (server.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/range_clock.hpp"
#include "sim/protocol/shard_weights.hpp"
#include "sim/protocol/start_gate.hpp"
#include "sim/protocol/update_rule.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

struct ShardState {
  struct Options {
    std::uint32_t shard = 0, shards = 1;
    NodeId first_worker = 2;
    ConsistencyRule rule;
    std::int64_t steps = 0;          // clocks of each worker (versions, where only fresh pushes count)
    std::int64_t batch_size = 1;     // samples of a push, in the mean over all workers
    std::int64_t clock_samples = 0;  // work stealing: an update is complete with so many samples
    LearningRate learning_rate;
    bool staleness_aware = false;
    bool exactly_once = true;  // a push that comes again is not applied again
    Epochs epochs = {};
    ShardWeights::Options weights = {};
  };
  // `initial`: the weights; none for a phantom model of `count` values.
  ShardState(Options options, std::optional<Values> initial, std::size_t count);

  // An update in the making.
  struct Update {
    std::vector<Push> pushes;
    // Of each push, in updates: version when applied less version computed on.
    std::vector<std::int64_t> staleness = {};
    std::vector<WeightedGradient> gradients = {};  // of each push, or their sum
    double rate = 0;                               // of learning
  };
  // The next update, of these pushes: they count as applied.
  Update prepare(std::vector<Push> pushes);
  // What a log says of it. The gradients become that sum.
  LogEntry::Sum sum_of(Update& update) const;
  // Makes the next version, in ownership epoch `epoch`.
  void apply(const Update& update, std::uint32_t epoch);
  // What the owner of the log in epoch `epoch` has decided.
  void apply(const LogEntry& entry, std::uint32_t epoch);

  // A push is here, to be applied, to wait or to be dropped. Returns whether it is its worker's next one.
  bool count_arrived(const Push& push);
  void count_applied(const PushId& push);
  // Of the worker's first `pushes` those before the first that waits for its group.
  std::int64_t before_pending(std::uint32_t worker, std::int64_t pushes) const;
  // What waits for its group is to come again, though a later push may have been dropped.
  void forget_pending();

  double rate() const;
  Slice snapshot() const { return weights.snapshot(version); }
  UpdateRule::Decided decided() const {
    return UpdateRule::decided(options.rule, options.shard, options.shards);
  }
  // On the network, in bytes: weights and what belongs to them; a count for each worker and range of keys;
  // pushes that wait, as they came, and decisions.
  std::uint64_t bytes() const;
  NodeId node_of(std::uint32_t worker) const { return options.first_worker + worker; }
  std::uint32_t index_of(NodeId worker) const { return worker - options.first_worker; }

  Options options;
  std::int64_t version = 0;
  // The ownership epoch of the last update: with the version, it tells which history this state continues.
  std::uint32_t updated_in = 0;
  std::int64_t applied = 0;  // pushes
  ShardWeights weights;
  WorkerClocks workers;
  UpdateRule updates;
  StartGate gate;
  RangeClock range_clock;  // a worker's: its last push of the range, counted from 1
  std::size_t range_splits = 0;

 private:
  void apply_sum(const LogEntry& entry);
  void take_ids(const std::vector<PushId>& ids);
  std::size_t pushes_in(const std::vector<Push>& group) const;
  double mean_samples(const std::vector<Push>& group) const;
};

}  // namespace psim
