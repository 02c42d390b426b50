#include "sim/protocol/pipeline.hpp"

#include <algorithm>
#include <cmath>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

// One weight layer: its part of the flat weight vector, and its share of the work.
struct Layer {
  std::size_t parameters;
  double forward, backward;
  std::size_t outputs;
};

std::vector<Layer> layers_of(const MlpShape& shape) {
  std::vector<Layer> layers;
  const double all = shape.flops_per_sample();
  for (std::size_t l = 1; l < shape.layers.size(); ++l) {
    const auto in = static_cast<std::size_t>(shape.layers[l - 1]);
    const auto out = static_cast<std::size_t>(shape.layers[l]);
    const double weights = static_cast<double>(in) * static_cast<double>(out);
    layers.push_back(
        {in * out + (shape.bias ? out : 0), 2 * weights / all, (l == 1 ? 2 : 4) * weights / all, out});
  }
  return layers;
}

std::vector<Stage> cut_phantom(const ModelSpec& model, std::size_t count) {
  std::vector<Stage> stages;
  const double work = 1 / static_cast<double>(count);
  for (std::size_t s = 0; s < count; ++s) {
    stages.push_back({.parameters = even_range(static_cast<std::size_t>(parameter_count(model)), count, s),
                      .forward = work / 3,
                      .backward = work * 2 / 3,
                      .outputs = s + 1 < count ? static_cast<std::size_t>(model.activations) : 0});
  }
  return stages;
}

}  // namespace

std::vector<Stage> cut_in_stages(const ModelSpec& model, std::size_t count) {
  if (!model.kind->has_layers) return cut_phantom(model, count);
  const std::vector<Layer> layers = layers_of(model.mlp);
  const double share = 1 / static_cast<double>(count);
  std::vector<Stage> stages;
  double done = 0;
  std::size_t next = 0, begin = 0;
  while (stages.size() < count) {
    const std::size_t left = count - stages.size() - 1;  // stages after this one
    const double goal = share * static_cast<double>(stages.size() + 1);
    Stage stage{.parameters = {begin, 0}};
    for (bool first = true; next + left < layers.size(); first = false) {
      const Layer& layer = layers[next];
      const double after = done + layer.forward + layer.backward;
      if (!first && left > 0 && std::abs(after - goal) >= std::abs(done - goal)) break;
      stage.parameters.count += layer.parameters;
      stage.forward += layer.forward;
      stage.backward += layer.backward;
      stage.outputs = left > 0 ? layer.outputs : 0;
      done = after;
      ++next;
    }
    begin += stage.parameters.count;
    stages.push_back(stage);
  }
  return stages;
}

std::vector<StageWork> stage_work(PipelineSchedule schedule, std::int64_t stages, std::int64_t stage,
                                  std::int64_t micro_batches) {
  expects(0 <= stage && stage < stages, "a stage has a place in its pipeline");
  std::vector<StageWork> work;
  if (schedule == PipelineSchedule::gpipe) {
    for (std::int64_t m = 0; m < micro_batches; ++m) work.push_back({StageWork::forward, m});
    for (std::int64_t m = micro_batches; m-- > 0;) work.push_back({StageWork::backward, m});
    return work;
  }
  // Forward computations until the first error comes back; then one backward for each forward.
  const std::int64_t ahead = std::min(stages - 1 - stage, micro_batches);
  for (std::int64_t m = 0; m < ahead; ++m) work.push_back({StageWork::forward, m});
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    if (m + ahead < micro_batches) work.push_back({StageWork::forward, m + ahead});
    work.push_back({StageWork::backward, m});
  }
  return work;
}

std::int64_t micro_batches_of(const ArchitectureSpec& spec, std::int64_t stages, std::int64_t samples) {
  return spec.micro_batches.value_or(std::min(4 * stages, samples));
}

}  // namespace psim
