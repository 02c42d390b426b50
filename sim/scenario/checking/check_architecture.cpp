// Checks of the numbers of architectures without servers.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void check_architecture(const Check& check) {
  const ArchitectureSpec& a = check.s.architecture;
  const std::int64_t workers = check.s.cluster.workers;
  const std::string kind = "architecture.kind", micro_batches = "architecture.micro_batches",
                    cluster = a.is_on_one_machine() ? "cluster.worker.device.count" : "cluster.workers",
                    layers = "model.layers", batch = "training.batch_size";
  if (a.kind != Architecture::model_parallel) return;
  const std::int64_t depth = static_cast<std::int64_t>(check.s.model.mlp.layers.size()) - 1;
  if (check.s.model.kind->has_layers && depth >= 1 && workers > depth) {
    check.add({cluster, kind, layers, "model.kind"}, fmt::format("`{}` is {}", cluster, workers),
              fmt::format("the model has only {} with weights", counted(depth, "layer")),
              "a stage has at least one layer; use fewer stages, or more `layers`");
  }
  const std::int64_t samples = check.s.training.batch_size * workers;
  if (a.micro_batches && *a.micro_batches > samples) {
    check.add({micro_batches, kind, cluster, batch},
              fmt::format("`architecture.micro_batches` is {}", *a.micro_batches),
              fmt::format("a step's batch has only {}", counted(samples, "sample")),
              fmt::format("that is {} x {} (`batch_size`)", counted(workers, "stage"),
                          counted(check.s.training.batch_size, "sample")));
  }
}

}  // namespace psim
