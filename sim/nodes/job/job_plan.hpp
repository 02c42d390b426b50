// The plan of a job: all facts that its scenario alone decides. It does not change while the job runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "model/learner.hpp"
#include "model/parameters.hpp"
#include "model/sampler.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/scheduler/membership.hpp"
#include "sim/protocol/tasks.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class TaskDag;
struct Dataset;
struct DataSplit;

// Copies the ranges of `whole`, one after the other, to an array of `count` values.
std::shared_ptr<Values> gathered(const Values& whole, const std::vector<Range>& ranges, std::size_t count);

// A job: parameters, and the workers that train them. The jobs of a run share the servers, the network and
// the clock. Most runs have only one job.
struct JobPlan {
  const Scenario& scenario;  // as if its workers were alone
  // The job's rule; clients and shards refer to it.
  std::shared_ptr<const ConsistencyRule> shared_rule;
  std::int64_t steps;  // clocks of each worker; very large if something else ends the run
  KeySpace keys;
  // This job's first worker and first shard, counted over the run.
  std::uint32_t first_index = 0, first_shard = 0;
  std::uint32_t past_shard = std::numeric_limits<std::uint32_t>::max();  // the next job's first shard
  // Groups of the run's scenario that train here; empty without groups.
  std::vector<std::size_t> groups = {};
  std::vector<std::int64_t> batch_sizes = {};  // by worker, if they differ from the beginning
  std::vector<NodeId> absent = {};             // nodes of the run that are absent at first
  // The cluster with all workers of the run and the nodes that they share; null: the scenario's cluster.
  const ClusterSpec* machines = nullptr;
  bool served = false;                        // by the inference group
  std::shared_ptr<const TaskDag> tasks = {};  // tasks that the scheduler gives out; null under most models
  std::vector<NodeId> spares = {};            // absent workers that may replace others

  // All of the following are empty for a phantom model.
  std::shared_ptr<const Learner> learner = {};
  std::shared_ptr<Sampler> sampler = {};  // it keeps the orders that it drew last
  // The keys that clock t pushes: those of fragment t modulo their number; empty: all keys in each clock.
  std::vector<std::shared_ptr<const BatchKeys>> fragments = {};
  const DataSplit* split = nullptr;  // all samples
  const Dataset* data = nullptr;     // the training set

  const ConsistencyRule& rule = *shared_rule;
  Assembly::Places places = keys.places();

  NodeId first_server() const { return 1; }
  std::uint32_t servers() const { return static_cast<std::uint32_t>(scenario.cluster.servers); }
  std::uint32_t workers() const { return static_cast<std::uint32_t>(scenario.cluster.workers); }
  NodeId first_worker() const { return 1 + servers() + first_index; }
  NodeId past_workers() const { return first_worker() + workers(); }
  const ClusterSpec& cluster() const { return machines != nullptr ? *machines : scenario.cluster; }
  NodeId database() const { return 1 + servers() + static_cast<NodeId>(cluster().workers); }
  NodeId snapshot_node() const { return storage_node(cluster()).value_or(0); }
  bool is_server(NodeId node) const { return node >= first_server() && node <= servers(); }
  bool is_worker(NodeId node) const { return node >= first_worker() && node < past_workers(); }
  // By worker of this job: whether it takes part.
  std::vector<bool> members_in(const View& view) const {
    const auto first = view.workers.begin() + first_index;
    return {first, first + workers()};
  }
  const Owner& owner_in(const View& view, std::uint32_t shard) const {
    return view.owners[first_shard + shard];
  }

  // A plan numbers its shards from 0; messages and records number shards over all jobs. Shards that the
  // scheduler cuts off during the run get the next free numbers.
  bool has_shard(std::uint32_t of_run) const { return of_run >= first_shard && of_run < past_shard; }
  NodeId server_of(std::uint32_t shard) const { return first_server() + keys.shards[shard].server; }
  // The first weights of a shard; none for a phantom model.
  std::optional<Values> initial(const Shard& shard) const;
  // A shard's part of an array over the whole key space. It is a copy only if the part has several ranges.
  static Slice part_of(const Shard& shard, const std::shared_ptr<Values>& whole);
  // The shards of a view's layout; null: those of the plan.
  const KeySpace& keys_in(const Layout* layout) const { return layout != nullptr ? layout->keys : keys; }
  // The places of the parts in the whole model; null: the parts are in order, as without servers.
  const Assembly::Places* places_in(const Layout* layout) const {
    if (layout != nullptr) return &layout->places;
    return places.empty() ? nullptr : &places;
  }

  // The own bound of a shard's layer, if it has one, and the consistency rule of one shard.
  const ArrayBound* own_bound_of(const Shard& shard) const;
  std::shared_ptr<const ConsistencyRule> rule_of(const Shard& shard) const;
  RetrySpec retry() const;
  DetectorSpec detector() const;
  LearningRate learning_rate() const;
  // The rates of `count` steps of a worker in this clock. The steps share out the clock's epochs.
  std::vector<double> step_rates(std::int64_t clock, std::size_t count) const;
  Epochs epochs() const;  // a phantom model counts clocks
  bool sparse() const { return learner != nullptr && learner->sparse(); }
  bool elastic() const { return scenario.training.algorithm == Algorithm::elastic; }
  bool steals() const { return scenario.training.work == WorkPolicy::stealing; }
  bool warms_up_before_servers() const {
    return scenario.training.warmup_steps > 0 && scenario.training.warmup == Warmup::before_servers;
  }
  bool workers_update() const { return scenario.training.update == UpdateAt::worker; }
  // Every worker runs the optimizer on the sum of every update, which servers send.
  bool workers_sum() const { return workers_update() && rule.waits_for_all(); }
  // Every worker runs the optimizer, with its own state, in each of its steps. It pushes the weights before
  // the clock minus those after it.
  bool pushes_moves() const {
    return !elastic() && (scenario.training.has_local_steps() || (workers_update() && !workers_sum()));
  }
  // The optimizer of the common weights. Workers that run it on the sum of every update all have these
  // weights.
  const OptimizerSpec& update_optimizer() const {
    return adds_moves() ? scenario.training.common_optimizer() : scenario.training.optimizer;
  }
  LearningRate update_rate() const {
    return adds_moves() ? LearningRate{.base = scenario.training.outer.learning_rate} : learning_rate();
  }
  // The optimizer for the weights in these ranges, which are stored one after the other.
  OptimizerSpec with_arrays(OptimizerSpec optimizer, const std::vector<Range>& ranges) const;
  bool adds_moves() const { return elastic() || pushes_moves(); }
  Precision precision() const { return scenario.model.precision; }
  Storage storage() const { return {precision(), scenario.training.multi_precision}; }
  double loss_scale() const { return scenario.training.loss_scale; }
  // Whether the filter key-caching works on pushes (or, if not `push`, on pulls).
  bool caches_keys(bool push) const {
    return std::ranges::any_of(filters_on(scenario.filters, push),
                               [](const FilterSpec& filter) { return filter.stage() == FilterStage::keys; });
  }
  KeyBytes key_bytes() const { return {scenario.messages.key_bytes(), !fragments.empty()}; }
  // Bytes of a key in a message with a list of keys.
  std::size_t bytes_per_key() const { return key_bytes().of(true); }
};

// The jobs of a run; one job unless the scenario has groups. `loaded` must live as long as the plans.
std::vector<JobPlan> plan_jobs(const LoadedScenario& loaded);

}  // namespace psim
