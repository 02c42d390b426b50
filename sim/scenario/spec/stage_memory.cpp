#include "sim/scenario/spec/stage_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {
namespace {

// Bytes of one sample in a stage: its inputs, and all activations without recomputation.
struct StageActivations {
  double inputs = 0, all = 0;
};

std::vector<StageActivations> activations_of(const Scenario& s, const std::vector<Stage>& stages) {
  const auto value = static_cast<double>(bytes_per_value(s.model.precision));
  std::vector<StageActivations> result;
  if (!s.model.kind->has_layers) {
    const double all = s.activations_per_sample.value / static_cast<double>(stages.size());
    result.assign(stages.size(), {std::min(all, static_cast<double>(s.model.activations) * value), all});
    return result;
  }
  const std::vector<double> bytes = activation_bytes(s);
  std::size_t first = 0, layer = 0;
  for (const ParameterArray& array : parameter_arrays(s.model)) {
    const Range range = stages[result.size()].parameters;
    layer = array.layer + 1;
    if (array.range.begin + array.range.count < range.begin + range.count) continue;
    result.push_back(
        {bytes[first], std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(layer) + 1, 0.0)});
    first = layer;
  }
  return result;
}

}  // namespace

std::int64_t samples_held(PipelineSchedule schedule, std::int64_t stages, std::int64_t stage,
                          std::int64_t micro_batches, std::int64_t samples) {
  std::int64_t held = 0, most = 0;
  for (const StageWork& work : stage_work(schedule, stages, stage, micro_batches)) {
    const auto size = static_cast<std::int64_t>(even_range(static_cast<std::size_t>(samples),
                                                           static_cast<std::size_t>(micro_batches),
                                                           static_cast<std::size_t>(work.micro_batch))
                                                    .count);
    held += work.direction == StageWork::forward ? size : -size;
    most = std::max(most, held);
  }
  return most;
}

std::vector<NodeMemory> stage_memory(const Scenario& s) {
  const std::vector<Stage> stages = cut_in_stages(s.model, static_cast<std::size_t>(s.cluster.workers));
  const std::vector<StageActivations> activations = activations_of(s, stages);
  const auto value = static_cast<double>(bytes_per_value(s.model.precision));
  const std::int64_t samples = samples_per_step(s),
                     parts = micro_batches_of(s.architecture, s.cluster.workers, samples);
  const auto largest = static_cast<double>((samples + parts - 1) / parts);  // micro-batch
  std::vector<NodeMemory> all;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    NodeMemory stage{.node = fmt::format("stage {}", i)};
    const auto count = static_cast<double>(stages[i].parameters.count);
    stage.add("weights", count * value);
    stage.add("gradients", count * value);
    add_optimizer(s, count, stage);
    const auto held = static_cast<double>(samples_held(s.architecture.schedule, s.cluster.workers,
                                                       static_cast<std::int64_t>(i), parts, samples));
    const auto& [inputs, everything] = activations[i];
    stage.add("activations",
              s.training.recompute ? held * inputs + largest * (everything - inputs) : held * everything);
    stage.add("errors", largest * static_cast<double>(stages[i].outputs) * value);
    const bool on_devices = s.architecture.is_on_one_machine();
    const auto limit = [&](const std::optional<Bytes>& given, const char* field) {
      if (given) stage.limits.push_back({field, given->value});
    };
    if (!on_devices) limit(s.cluster.worker.memory, "cluster.worker.memory");
    limit(s.cluster.worker_devices.memory, "cluster.worker.device.memory");
    all.push_back(std::move(stage));
  }
  return all;
}

}  // namespace psim
