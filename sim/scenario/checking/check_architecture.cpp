// Architectures without servers.
#include <fmt/format.h>

#include <bit>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void Checker::check_architecture() {
  const ArchitectureSpec& a = s_.architecture;
  const std::int64_t workers = s_.cluster.workers;
  const std::string kind = "architecture.kind", algorithm = "architecture.algorithm",
                    micro_batches = "architecture.micro_batches", cluster = "cluster.workers",
                    layers = "model.layers", batch = "training.batch_size";
  if (a.kind == Architecture::all_reduce && a.algorithm == AllReduceAlgorithm::halving_doubling &&
      !std::has_single_bit(static_cast<std::uint64_t>(workers))) {
    add({algorithm, kind, cluster}, "halving-doubling needs a power of two of workers",
        fmt::format("there are {}", workers), "use algorithm = \"ring\", or 2, 4, 8, 16, ... workers");
  }
  if (!a.has_servers()) check_without_servers();
  if (a.kind != Architecture::model_parallel) return;
  const std::int64_t depth = static_cast<std::int64_t>(s_.model.mlp.layers.size()) - 1;
  if (s_.model.kind == ModelKind::mlp && depth >= 1 && workers > depth) {
    add({cluster, kind, layers, "model.kind"}, fmt::format("`cluster.workers` is {}", workers),
        fmt::format("the model has only {} of weights to share out", counted(depth, "layer")),
        "a stage has at least one layer; use fewer workers, or more `layers`");
  }
  const std::int64_t samples = s_.training.batch_size * workers;
  if (a.micro_batches && *a.micro_batches > samples) {
    add({micro_batches, kind, cluster, batch},
        fmt::format("`architecture.micro_batches` is {}", *a.micro_batches),
        fmt::format("a step's batch has only {}", counted(samples, "sample")),
        fmt::format("{} x {}", counted(workers, "worker"), counted(s_.training.batch_size, "sample")));
  }
}

// What workers and servers agree on has no meaning where there are no servers.
void Checker::check_without_servers() {
  const TrainingSpec& t = s_.training;
  const std::string kind = "architecture.kind";
  const auto refuse = [&](bool used, const std::string& field) {
    if (used)
      add({field, kind}, fmt::format("`{}` has no meaning here", field),
          fmt::format("there are no servers with {}", name_of(s_.architecture.kind)),
          "leave it at its default");
  };
  refuse(t.algorithm != Algorithm::gradient, "training.algorithm");
  refuse(t.update != UpdateAt::server, "training.update");
  refuse(t.local_steps > 1, "training.local_steps");
  refuse(t.accumulate > 1, "training.accumulate");
  refuse(t.warmup_steps > 0, "training.warmup_steps");
  refuse(t.pull_every > 1, "training.pull_every");
  refuse(t.delay_compensation > 0, "training.delay_compensation");
  refuse(s_.messages.acknowledge, "messages.acknowledge");
  refuse(s_.messages.overlap && s_.messages.unit == MessageUnit::array, "messages.overlap");
  refuse(!s_.filters.empty(), "filter.0");
}

}  // namespace psim
