#include "sim/scenario/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr double program = 40e6;
constexpr double stack = 8 << 20, arena = 64 << 20;
constexpr double per_shard = 3.2e3, per_shard_and_copy = 6.5e3;

// Bytes. SimGrid's flows need a route for each pair that exchanges messages; queues hold only messages on
// their way.
struct NetworkCosts {
  double node, shard_and_worker;
};
NetworkCosts costs_of(const Scenario& s) {
  if (s.cluster.network.model == NetworkModel::nic) return {.node = 16e3, .shard_and_worker = 1.2e3};
  return {.node = 100e3, .shard_and_worker = 3e3};
}

double shards_of(const Scenario& s) {
  if (s.messages.unit == MessageUnit::server)
    return static_cast<double>(std::max<std::int64_t>(s.cluster.servers, 1));
  if (s.messages.unit == MessageUnit::range) {
    const bool on_ring = s.placement.kind == PlacementKind::hash_ring;
    return static_cast<double>(std::max<std::int64_t>(s.cluster.servers, 1) *
                               (on_ring ? s.placement.virtual_nodes : 1));
  }
  double shards = 0;
  for (const ParameterArray& array : parameter_arrays(s.model)) {
    const auto values = static_cast<double>(array.range.count);
    shards += s.messages.slice > 0 ? std::ceil(values / static_cast<double>(s.messages.slice)) : 1;
  }
  return std::max(shards, static_cast<double>(s.cluster.servers));
}

// Times the size of the model.
double copies_of_model(const Scenario& s) {
  const auto workers = static_cast<double>(s.cluster.workers),
             copies = static_cast<double>(s.replication.copies);
  const auto arrays = static_cast<double>(s.training.optimizer.kind->state_arrays +
                                          s.training.outer.optimizer.kind->state_arrays);
  if (s.architecture.kind == Architecture::model_parallel) return 3 + arrays;
  if (!s.architecture.has_servers()) return workers * (3 + arrays + (s.filters.empty() ? 0 : 2));
  double times = 2.5 + arrays + workers + copies * (2 + arrays);
  if (s.training.update == UpdateAt::worker) times += workers * (1 + arrays);
  if (s.training.has_local_steps() || s.consistency.cache || s.training.algorithm == Algorithm::elastic)
    times += workers;
  if (!s.filters.empty()) times += workers;
  if (s.training.delay_compensation > 0) times += workers;
  const AggregationRow& aggregation = *s.consistency.aggregation.row;
  if (aggregation.combine) times += workers;  // all gradients of an update
  if (aggregation.keeps) times += workers;
  return times;
}

// Clocks of each worker until the run ends by its steps, epochs, samples or duration.
double clocks_of(const Scenario& s, std::int64_t samples) {
  double clocks = HUGE_VAL;
  if (const auto steps = steps_of(s, samples)) clocks = static_cast<double>(*steps);
  const double step =
      mean_step_seconds(s, 0) * (s.training.fits_steps() ? static_cast<double>(mean_local_steps(s, 0)) : 1);
  if (s.training.duration && step > 0) clocks = std::min(clocks, s.training.duration->value / step);
  return clocks;
}

double messages_of(const Scenario& s, double shards, double clocks) {
  const auto workers = static_cast<double>(s.cluster.workers);
  if (!s.architecture.has_servers()) return clocks * workers * 2 * shards * std::max(1.0, workers - 1);
  const double answers = 2.0 / static_cast<double>(s.training.pull_every);  // a pull, and the weights
  const double updates = s.consistency.model->group == Group::all ? 1 : workers;
  const double copied = 2 * static_cast<double>(s.replication.copies) * updates;
  return clocks * shards * (workers * (1 + answers + (s.messages.acknowledge ? 1 : 0)) + copied);
}

// The memory of one namespace.
void add(Estimate& sum, const Scenario& s, const DataSplit* data, double threads,
         std::vector<MemoryPart>& parts) {
  const auto workers = static_cast<double>(s.cluster.workers);
  const double shards = shards_of(s);
  sum.shards += shards;
  const std::int64_t samples = data != nullptr ? data->train.size() : 0;
  const double clocks = clocks_of(s, samples);
  sum.messages += messages_of(s, shards, clocks);
  parts.push_back({shards * (per_shard + costs_of(s).shard_and_worker * workers +
                             per_shard_and_copy * static_cast<double>(s.replication.copies)),
                   fmt::format("the model in {}", counted(std::llround(shards), "message")),
                   "fewer messages: a larger messages.slice, or --set messages.unit=server"});
  if (data == nullptr) return;
  sum.flops +=
      clocks * static_cast<double>(s.cluster.workers * s.training.batch_size) * flops_per_sample(s.model);
  const auto parameters = static_cast<double>(parameter_count(s.model));
  const auto value = static_cast<double>(bytes_per_value(arithmetic_of(s.model.precision)));
  parts.push_back({value * parameters * copies_of_model(s),
                   fmt::format("{} on all nodes", counted(std::llround(parameters), "parameter")),
                   "a smaller model, or fewer workers"});
  const auto& layers = s.model.mlp.layers;
  const double outputs = std::accumulate(layers.begin(), layers.end(), 0.0);
  parts.push_back({8 * outputs * static_cast<double>(s.training.batch_size) * std::min(threads, workers),
                   fmt::format("batches of {}", counted(s.training.batch_size, "sample")),
                   "a smaller training.batch_size, or fewer --threads"});
  double numbers = 0, rows = 0;
  for (const Dataset* set : {&data->train, &data->validation, &data->test}) {
    rows += static_cast<double>(set->size());
    numbers += set->is_sparse() ? 2 * static_cast<double>(set->sparse_inputs.index.size())
                                : static_cast<double>(set->inputs.size() + set->targets.size());
  }
  parts.push_back({8 * numbers + 12 * rows, counted(std::llround(rows), "sample"), "less data"});
}

}  // namespace

double Estimate::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const MemoryPart& part) { return sum + part.bytes; });
}

Estimate estimate(const LoadedScenario& loaded, unsigned threads) {
  Estimate sum;
  const double nodes = node_count(loaded.scenario.cluster);
  sum.parts.push_back({program + nodes * costs_of(loaded.scenario).node, fmt::format("{:.0f} nodes", nodes),
                       "fewer workers"});
  if (loaded.jobs.empty()) add(sum, loaded.scenario, loaded.data.get(), threads, sum.parts);
  for (const LoadedJob& job : loaded.jobs) add(sum, job.scenario, job.data.get(), threads, sum.parts);
  sum.nodes = nodes;
  const double actors = nodes + static_cast<double>(loaded.scenario.cluster.inference.count()) + 3;
  const double more_threads = std::max(1.0, static_cast<double>(threads)) - 1;
  const double arenas = std::min(more_threads, 8.0 * std::max(1U, std::thread::hardware_concurrency()));
  sum.stacks = (actors + more_threads) * stack + arenas * arena;
  std::ranges::stable_sort(sum.parts, std::greater{}, &MemoryPart::bytes);
  return sum;
}

}  // namespace psim
