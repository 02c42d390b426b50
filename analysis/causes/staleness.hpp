// How stale the gradients of a run were.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// Ages: seconds from when a server sends weights until it applies the gradient of these weights. Torn:
// computations on shards of unequal versions.
struct StalenessCost {
  std::int64_t applied = 0, computations = 0, torn = 0,
               widest = 0;  // widest: largest difference of versions within one model
  double age_mean = 0, age_max = 0, updates_mean = 0;
};

// Computes staleness from the moments: the weights that each worker computes on, and when they left their
// server.
class StalenessBook {
 public:
  explicit StalenessBook(const CausalGraph& graph) : graph_(graph) {}
  void on(const Moment& moment) {
    const std::string_view word = graph_.word_of(moment);
    if (moment.type == Name("sent") && word == "weights")
      left_[{moment.shard, moment.peer, moment.version}] = moment.at;
    if (moment.type == Name("received") && word == "weights")
      here_[moment.node][moment.shard] = moment.version;
    if (moment.type == Name("begun") && word == "step") on_step(moment);
    if (moment.type == Name("applied")) on_applied(moment);
  }
  StalenessCost cost() const {
    StalenessCost cost = cost_;
    if (cost.applied > 0) cost.age_mean /= static_cast<double>(cost.applied);
    if (outcomes_ > 0) cost.updates_mean /= static_cast<double>(outcomes_);
    return cost;
  }

 private:
  void on_step(const Moment& moment) {
    const auto& shards = here_[moment.node];
    ++cost_.computations;
    if (shards.empty()) return;
    const auto [least, most] =
        std::ranges::minmax_element(shards, {}, [](const auto& one) { return one.second; });
    cost_.torn += least->second != most->second ? 1 : 0;
    cost_.widest = std::max(cost_.widest, most->second - least->second);
  }
  void on_applied(const Moment& moment) {
    ++outcomes_;
    cost_.updates_mean += static_cast<double>(moment.staleness);
    const auto left = left_.find({moment.shard, moment.peer, moment.version});
    if (left == left_.end()) return;
    const double age = moment.at - left->second;
    ++cost_.applied;
    cost_.age_mean += age;
    cost_.age_max = std::max(cost_.age_max, age);
  }

  const CausalGraph& graph_;
  StalenessCost cost_;
  std::int64_t outcomes_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, double> left_;  // shard, worker, version
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> here_;            // worker, shard: version
};

}  // namespace psim::analysis
