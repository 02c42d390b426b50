#include "sim/scenario/spec/activations.hpp"

#include <algorithm>
#include <numeric>

namespace psim {
namespace {

constexpr double bytes_per_position = 4;

}  // namespace

std::vector<double> activation_bytes(const Scenario& scenario) {
  const ModelSpec& model = scenario.model;
  const auto value = static_cast<double>(bytes_per_value(model.precision));
  std::vector<double> bytes;
  if (model.kind->has_layers) {
    for (const std::int64_t width : model.mlp.layers) bytes.push_back(value * static_cast<double>(width));
  } else if (model.kind->is_sparse) {
    const double features = model.nonzeros + (model.mlp.bias ? 1 : 0);
    bytes = {features * (bytes_per_position + value), value};
  } else if (model.kind->has_numbers) {
    bytes = {static_cast<double>(model.features) * value, static_cast<double>(model.outputs) * value};
  } else {
    const std::size_t layers = parameter_arrays(model).size();
    bytes.assign(layers, scenario.activations_per_sample.value / static_cast<double>(layers));
    bytes.push_back(0);
  }
  return bytes;
}

Recomputation least_recomputation(const std::vector<double>& bytes) {
  const std::size_t layers = bytes.size() - 1;
  std::vector<double> before(bytes.size() + 1, 0);  // before[l]: of all values before place l
  std::partial_sum(bytes.begin(), bytes.end(), before.begin() + 1);
  Recomputation least;
  for (std::size_t runs = 1; runs <= layers; ++runs) {
    Recomputation one;
    double longest = 0;
    for (std::size_t r = 0; r < runs; ++r) {
      const Range run = even_range(layers, runs, r);
      one.ends.push_back(run.begin + run.count);
      one.bytes += bytes[run.begin];
      // What is behind a run is kept as the next one's inputs.
      const std::size_t behind = one.ends.back() + (r + 1 == runs ? 1 : 0);
      longest = std::max(longest, before[behind] - before[run.begin + 1]);
    }
    one.bytes += longest;
    if (least.ends.empty() || one.bytes < least.bytes) least = std::move(one);
  }
  return least;
}

double kept_activations(const Scenario& scenario) {
  const std::vector<double> bytes = activation_bytes(scenario);
  if (scenario.training.recompute) return least_recomputation(bytes).bytes;
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

double forward_share(const ModelSpec& model) {
  if (!model.kind->has_numbers) return 1.0 / 3;
  double share = 0;
  for (const LayerWork& work : layer_work(model)) share += work.forward;
  return share;
}

std::vector<LayerWork> step_work(const Scenario& scenario) {
  std::vector<LayerWork> layers = layer_work(scenario.model);
  if (!scenario.training.recompute) return layers;
  double forward = 0;
  for (const LayerWork& layer : layers) forward += layer.forward;
  const double again = forward_share(scenario.model) / forward, all = recompute_factor(scenario);
  std::size_t begin = 0;
  std::vector<LayerWork> work = layers;
  for (const std::size_t end : least_recomputation(activation_bytes(scenario)).ends) {
    for (std::size_t l = begin; l < end; ++l) work[end - 1].backward += again * layers[l].forward;
    begin = end;
  }
  for (LayerWork& layer : work) layer = {layer.forward / all, layer.backward / all};
  return work;
}

double recompute_factor(const Scenario& scenario) {
  if (!scenario.training.recompute) return 1;
  return 1 + forward_share(scenario.model);
}

}  // namespace psim
