// Checks that the memory of each node has room for its contents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/memory.hpp"

namespace psim {
namespace {

// Ways to use less of a node's memory, the largest part first.
std::vector<std::string> remedies(const Scenario& s, const NodeMemory& memory, const std::string& field) {
  std::vector<std::string> all;
  const bool is_server = memory.node == "server", is_stage = memory.node.starts_with("stage");
  const double activations = memory.of("activations");
  if (memory.of("sums of devices") > 0) all.emplace_back("aggregate = \"host\" in [cluster.worker.device]");
  if (activations > 0) {
    if (is_stage)
      all.emplace_back(
          "more micro_batches and schedule = \"1f1b\" in [architecture], or a smaller batch_size");
    else if (s.training.batch_size > 1)
      all.emplace_back(s.architecture.has_servers() ? "a smaller batch_size, with more of `accumulate`"
                                                    : "a smaller batch_size");
    if (!s.training.recompute) all.emplace_back("recompute = true in [training]");
  }
  if (memory.of("optimizer state") > 0) all.emplace_back("an optimizer with less state");
  if (is_server) all.emplace_back("more servers");
  else if (is_stage) all.emplace_back("more stages");
  else if (memory.bytes() - activations > activations)
    all.emplace_back("kind = \"model-parallel\" in [architecture]");
  all.push_back(fmt::format("more `{}`", field));
  return all;
}

void check_room(const Check& check, const NodeMemory& memory) {
  for (const MemoryLimit& limit : memory.limits) {
    if (memory.bytes() <= limit.bytes) continue;
    const std::string help = fmt::format("{}; less with {}", parts_text(memory),
                                         fmt::join(remedies(check.s, memory, limit.field), ", or "));
    check.add({limit.field, "model", "training", "architecture", "cluster.worker.device.count",
               "cluster.worker.device.aggregate", "cluster.servers", "cluster.workers"},
              fmt::format("not enough memory: {} needs {}", memory.node, size_text(memory.bytes(), 6)),
              fmt::format("it has {}", size_text(limit.bytes, 6)), help);
  }
}

}  // namespace

void check_memory(const Check& check) {
  const std::size_t speeds = check.s.cluster.worker_devices.speeds.values.size();
  const bool sound = knows_model(check) && check.s.cluster.workers > 0 && speeds < 65;
  const bool is_pipeline = check.s.architecture.kind == Architecture::model_parallel;
  const std::int64_t layers = std::ssize(check.s.model.mlp.layers) - 1;
  const bool has_stages = !check.s.model.kind->has_layers || check.s.cluster.workers <= layers;
  if (!sound || (is_pipeline && !has_stages) || !check.reading.reliable("cluster")) return;
  const std::vector<NodeMemory> workers = worker_memory(check.s);
  // Stages are alike, so psim reports only the fullest.
  const bool is_over =
      std::ranges::any_of(workers, [](const NodeMemory& one) { return !one.limits.empty(); });
  if (is_pipeline && is_over)
    check_room(check, *std::ranges::max_element(workers, {}, [](const auto& one) { return one.bytes(); }));
  else if (!is_pipeline)
    for (const NodeMemory& one : workers) check_room(check, one);
  if (check.group.empty() && check.s.architecture.has_servers() && check.s.cluster.server.memory &&
      check.s.cluster.servers <= parameter_count(check.s.model)) {
    const Scenario* const job = &check.s;
    check_room(check, server_memory({&job, 1}));
  }
}

void check_servers_of(const Check& check, const std::vector<const Scenario*>& jobs) {
  if (check.s.cluster.server.memory) check_room(check, server_memory(jobs));
}

}  // namespace psim
