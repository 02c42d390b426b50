// The weights of one shard and their optimizer: the effect of an update, the values sent to nodes, and the
// bytes of both. Other classes decide which pushes make an update, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "model/parameters.hpp"
#include "model/values.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

// Delay compensation (DC-ASGD; Zheng et al., ICML 2017): the weights that workers compute on, and the
// correction of late gradients.
class DelayCompensation {
 public:
  struct Rule {
    double strength = 0;  // lambda of equation 10; 0: gradients stay as they are
    double decay = 0;     // of the mean square (equation 14) that divides lambda; 0: nothing divides lambda
  };
  DelayCompensation() = default;
  // `count` values of a shard; no precision: a phantom model.
  DelayCompensation(Rule rule, std::size_t workers, std::size_t count, std::optional<Precision> precision);

  bool is_on() const { return rule_.strength > 0; }
  bool adapts() const { return rule_.decay > 0; }
  // Worker number `worker` may compute on these weights from now on.
  void was_sent(std::size_t worker, const Slice& weights);
  // An estimate of the gradient at `now`: a first-order step from the weights on which it was computed, with
  // g * g for the diagonal of the Hessian. The gradient stays unchanged if the server no longer has these
  // weights, e.g. after a crash that undid their version.
  Slice compensated(const Push& push, std::size_t worker, const Values& now);

  // The compensation of these values only.
  DelayCompensation part(Range range) const;

  const Values& mean_square() const { return mean_square_; }
  void set_mean_square(Values values) { mean_square_ = std::move(values); }
  // How many other versions than `current` are kept.
  std::size_t versions_beside(const Slice& current) const;

 private:
  const Slice* base_of(const Push& push, std::size_t worker) const;

  Rule rule_;
  std::vector<std::deque<Slice>> sent_;  // by worker: the weights that it may compute on, oldest first
  Values mean_square_;                   // of gradients
};

class ShardWeights {
 public:
  struct Options {
    OptimizerSpec optimizer = {};
    Storage storage = {};
    double loss_scale = 1;            // of values that travel in half precision
    std::vector<Range> ranges = {};   // of the shard in the key space; sparse models only
    std::int64_t feature_blocks = 1;  // clock t changes block t mod feature_blocks of the features
    std::int64_t parameters = 0;      // of the key space
    bool sum_only = false;            // workers run the optimizer, and receive the update's sum
    std::size_t bytes_per_key = 4;
    DelayCompensation::Rule compensation = {};
  };
  // No weights: a phantom model of `count` values.
  ShardWeights(Options options, std::size_t workers, std::optional<Values> weights, std::size_t count);

  // The part with these values only; `options` has the keys of the part.
  ShardWeights part(Options options, Range range) const;

  std::size_t count() const { return count_; }
  // The precision in which the optimizer computes.
  Precision precision() const {
    return parameters_ ? parameters_.weights()->precision() : arithmetic_of(options_.storage.precision);
  }
  // The weights in version `version`.
  Slice snapshot(std::int64_t version) const { return {parameters_.weights(), 0, count_, version}; }
  // The values for a worker: weights at first; later, if workers run the optimizer, the last update's sum.
  // `keys`: only these values; null: all.
  Slice reply(const SharedKeys& keys, std::int64_t version) const;
  // The positions in the shard that a push of clock `clock` changes.
  Range range_at(std::int64_t clock) const;

  // Delay compensation needs the values that worker number `worker` was sent, after filters.
  bool only_sums() const { return options_.sum_only; }
  bool compensates() const { return compensation_.is_on(); }
  void was_sent(std::size_t worker, const Slice& weights) { compensation_.was_sent(worker, weights); }
  // The same for a log entry; without values if they are the current weights.
  LogEntry::Shown shown_to(NodeId worker, const Slice& weights) const;
  // A push's gradient, compensated for the updates since its pull.
  Slice gradient_of(const Push& push, std::size_t worker);

  // One update, in clock `clock`.
  void apply(const std::vector<WeightedGradient>& gradients, double rate, std::int64_t clock);
  // The weighted sum of an update of these pushes. Applying it gives the same weights to the last bit.
  // `gradients` become that sum. `is_whole`: it has values at all places, whatever keys the pushes have.
  LogEntry::Sum sum_of(const std::vector<Push>& group, std::vector<WeightedGradient>& gradients,
                       bool is_whole = false) const;
  void apply(const LogEntry::Sum& sum, double rate);
  // Scales or clips every weight.
  void change(TaskKind function, double amount);
  // Over all weights, in double precision; 0 for a phantom model.
  double sum_of_squares() const;
  // Where workers run the optimizer: whether the server has the last update's sum, for a worker with the
  // previous version.
  bool has_sum() const { return has_sum_; }
  // The server has no sum any more; `copy`: the workers' weights.
  void adopt(const Parameters* copy) {
    if (copy != nullptr) parameters_ = Parameters(*copy);
    sum_.reset();
    has_sum_ = false;
  }
  // Bytes of a worker's copy.
  std::uint64_t copy_bytes() const {
    return count_ * bytes_per_value(options_.storage.precision) +
           state_bytes(options_.optimizer, options_.storage, count_);
  }

  // A hash of all data on which the next update depends, computed from the hash of the weights; 0: a phantom
  // model.
  std::uint64_t hash(std::uint64_t hash_of_weights) const;
  // Bytes in version `version`: the weights, the optimizer's state, and for delay compensation every version
  // on which a worker may compute (once each) and the mean square. If workers run the optimizer: only the
  // last sum.
  std::uint64_t bytes(std::int64_t version) const;

 private:
  std::vector<Range> block_at(std::int64_t clock) const;

  Options options_;
  Parameters parameters_;
  std::size_t count_;
  std::shared_ptr<Values> sum_;  // sum_only: of the last update; the parameters are then those of the workers
  bool has_sum_ = false;
  DelayCompensation compensation_;
};

}  // namespace psim
