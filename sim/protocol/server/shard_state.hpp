// The whole state of one shard: its weights, the pending pushes, and the progress of each worker. It is a
// value: copies, the next owner and the storage receive it unchanged. The shard's server (shard_server.hpp)
// tells others about its changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_weights.hpp"
#include "sim/protocol/server/update_rule.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

// Which pushes of each worker the keys of a shard have received: a vector clock for each range of keys,
// instead of one for each key (Li et al., OSDI 2014, section 4.1). Keys are positions within the shard.
//
// At first a shard is one range. A push is for the block of features of its clock, even if the batch has only
// some of the block's keys. So set() changes the clock of the whole block. With feature_blocks = 1 the block
// is the whole shard, and no range is ever split.

// set() splits at most the ranges at its two ends (algorithm 2 of the paper: one range becomes at most
// three). So m workers whose pushes are for k different ranges make O(m k) clocks, whatever the number of
// keys.
class RangeClock {
 public:
  // One range of all keys, every worker at 0.
  RangeClock(std::size_t keys, std::size_t workers) : keys_(keys), parts_{{0, Clocks(workers)}} {}

  // The smallest of the worker's clocks in the range; the range is not empty.
  std::int64_t least(Range range, std::size_t worker) const;
  // Whether some key of the range has a clock of this worker below `clock`.
  bool is_new(Range range, std::size_t worker, std::int64_t clock) const {
    return range.count > 0 && least(range, worker) < clock;
  }
  // Raises the worker's clock of these keys to `clock` where it is lower. Returns the number of new ranges;
  // neighbouring ranges merge when their clocks become equal.
  std::size_t set(Range range, std::size_t worker, std::int64_t clock);
  std::size_t ranges() const { return parts_.size(); }
  // The clocks of these keys only.
  RangeClock part(Range range) const;

 private:
  using Clocks = std::vector<std::int64_t>;  // by worker
  struct ClockedRange {
    std::size_t begin;  // up to the beginning of the next range
    Clocks clocks;
  };
  std::size_t cut(std::size_t key);

  std::size_t keys_;
  std::vector<ClockedRange> parts_;  // rising
};

struct ShardState {
  struct Options {
    std::uint32_t shard = 0, shards = 1;
    NodeId first_worker = 2;
    std::shared_ptr<const ConsistencyRule> rule;
    std::int64_t steps = 0;       // clocks of each worker (versions, if only fresh pushes count)
    std::int64_t batch_size = 1;  // mean samples of a push over all workers
    LearningRate learning_rate;
    bool exactly_once = true;  // a repeated push is not applied again
    Epochs epochs = {};
    ShardWeights::Options weights = {};
    Part part = {};  // of the shards of the plan
  };
  // `initial`: the weights; none for a phantom model of `count` values.
  ShardState(Options options, std::optional<Values> initial, std::size_t count);

  // The part of this state that `given.part` names: that part of the weights, the optimizer and the pending
  // pushes, and all counts unchanged. Both parts of a shard continue as the whole shard would.
  ShardState piece(Options given) const;

  // An update in preparation.
  struct Update {
    std::vector<Push> pushes;
    std::vector<double> weights = {};  // of the pushes, as the policy says; none: 1
    // For each push, in updates: version when applied minus version computed on.
    std::vector<std::int64_t> staleness = {};
    std::vector<WeightedGradient> gradients = {};  // one for each push, or their sum
    double rate_factor = 1;                        // of stale pushes
    double rate = 0;                               // learning rate, with all its factors
  };
  // The next update, made of these pushes. They count as applied from now on.
  Update prepare(WeighedPushes pushes);
  // The update's sum for the log. Replaces its gradients by that sum.
  LogEntry::Sum sum_of(Update& update) const;
  // Makes the next version, in ownership epoch `epoch`.
  void apply(const Update& update, std::uint32_t epoch);
  // Makes the next version without a push: scale or clip.
  void change(TaskKind function, double amount, std::uint32_t epoch);
  // Applies a decision of the log's owner in epoch `epoch`.
  void apply(const LogEntry& entry, std::uint32_t epoch);

  // Counts a push that has arrived, whether it is applied, waits or is dropped. Returns whether it is its
  // worker's next one.
  bool count_arrived(const Push& push);
  void count_applied(const PushId& push);
  // In updates: current version minus the version on which the push was computed.
  std::int64_t staleness_of(const Push& push) const;
  // The number of the worker's first `pushes` pushes that come before its first pending one.
  std::int64_t before_pending(std::uint32_t worker, std::int64_t pushes) const;
  // Forgets the pending pushes; their workers have to send them again, even if a later push was dropped.
  void forget_pending();

  const ConsistencyPolicy& policy() const { return *options.rule->policy; }
  ShardView view(double now) const { return updates.view(workers, version, now); }
  // The policy's memory, and its estimates.
  std::span<double> own_memory() { return std::span(memory).first(policy().shape().memory); }
  std::span<const double> own_memory() const { return std::span(memory).first(policy().shape().memory); }
  std::span<double> estimates() { return std::span(memory).subspan(policy().shape().memory); }

  double rate() const;
  Slice snapshot() const { return weights.snapshot(version); }
  UpdateRule::Decided decided() const {
    return UpdateRule::decided(*options.rule, options.shard, options.shards);
  }
  // Bytes on the network: the weights and the optimizer's state; a count for each worker and range of keys;
  // the pending pushes in the size in which they came; and decisions.
  std::uint64_t bytes() const;
  // A hash of the data on which replicas and owners must agree.
  std::uint64_t hash(std::uint64_t hash) const;
  NodeId node_of(std::uint32_t worker) const { return options.first_worker + worker; }
  std::uint32_t index_of(NodeId worker) const { return worker - options.first_worker; }

  Options options;
  std::int64_t version = 0;
  // The ownership epoch of the last update. The epoch and the version together identify the history of this
  // state.
  std::uint32_t updated_in = 0;
  std::int64_t applied = 0;  // pushes
  std::int64_t changes = 0;  // versions that were made without a push
  ShardWeights weights;
  GradientAggregation aggregation;
  WorkerClocks workers;
  UpdateRule updates;
  std::vector<double> memory;  // of the consistency policy, followed by its estimates
  RangeClock range_clock;      // by worker: its last push of the range, counted from 1
  std::size_t range_splits = 0;

 private:
  void apply_sum(const LogEntry& entry);
  void mark_applied(const std::vector<PushId>& ids);
  double mean_samples(const std::vector<Push>& group) const;
  bool scales_rate() const;
};

}  // namespace psim
