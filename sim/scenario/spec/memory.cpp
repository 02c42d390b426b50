#include "sim/scenario/spec/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/protocol/all_reduce.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

double value_bytes(const Scenario& s) { return static_cast<double>(bytes_per_value(s.model.precision)); }
double exact_bytes(const Scenario& s) {
  return static_cast<double>(bytes_per_value(arithmetic_of(s.model.precision)));
}
void add_state(const Scenario& s, const OptimizerSpec& optimizer, double count, NodeMemory& memory) {
  memory.add("optimizer state", static_cast<double>(optimizer.kind->state_arrays) * count * exact_bytes(s));
}
double model_bytes(const Scenario& s) {
  return static_cast<double>(parameter_count(s.model)) * value_bytes(s);
}
bool is_sparse(const Scenario& s) { return s.model.kind->is_sparse; }
bool workers_update(const Scenario& s) { return s.training.update == UpdateAt::worker; }
// For servers without weights.
bool workers_sum(const Scenario& s) {
  return workers_update(s) && make_rule(s.consistency, s.cluster.workers).waits_for_all();
}
bool has_local_steps(const Scenario& s) { return s.training.has_local_steps(); }
// Whether workers run the optimizer in their own steps.
bool steps_alone(const Scenario& s) {
  return has_local_steps(s) || s.training.pull_every > 1 || s.training.algorithm == Algorithm::elastic;
}

// The state of the optimizer that a server runs.
void add_common_optimizer(const Scenario& s, double count, NodeMemory& memory) {
  if (!s.training.workers_step()) return add_optimizer(s, count, memory);
  if (s.training.outer.given) add_state(s, s.training.outer.optimizer, count, memory);
}

// Without servers every worker also runs the outer optimizer.
void add_outer_of_peer(const Scenario& s, NodeMemory& worker) {
  if (!s.architecture.has_servers())
    add_state(s, s.training.outer.optimizer, static_cast<double>(parameter_count(s.model)), worker);
}

// For a sparse model: the features of all batches of a clock, with repetitions.
double pulled_values(const Scenario& s) {
  const auto all = static_cast<double>(parameter_count(s.model));
  if (!is_sparse(s) || s.training.fits_steps()) return all;
  const std::int64_t batches =
      std::max(s.training.local_steps, s.training.local_steps_of(0)) * s.training.accumulate;
  const auto samples = static_cast<double>(s.training.batch_size * batches);
  return std::min(all, samples * s.model.nonzeros + (s.model.mlp.bias ? 1 : 0));
}

bool loses(const Scenario& s) {
  return std::ranges::any_of(filters_on(s.filters, true), &FilterSpec::feeds_back);
}
// For filters of pulls, and of differences, a server remembers values of each worker.
bool server_remembers(const Scenario& s) {
  return std::ranges::any_of(s.filters, &FilterSpec::sends_differences) ||
         std::ranges::any_of(filters_on(s.filters, false),
                             [](const FilterSpec& f) { return f.stage() == FilterStage::select; });
}

void limit(NodeMemory& memory, const std::optional<Bytes>& given, std::string field) {
  if (given) memory.limits.push_back({std::move(field), given->value});
}

NodeMemory host_of_devices(const Scenario& s) {
  const DeviceSpec& d = s.cluster.worker_devices;
  const double model = model_bytes(s);
  const bool on_devices = updates_on_devices(s);
  NodeMemory host{.node = "worker"};
  const bool sums = d.count > 1 && d.aggregate == DeviceAggregation::host;
  if (!on_devices) host.add("weights", model);
  host.add("gradients", (sums ? static_cast<double>(d.count) : 1) * model);
  if (has_local_steps(s) && !(on_devices && !sums)) host.add("weights before local steps", model);
  if (workers_sum(s)) host.add("sums of all workers", model);
  if (!s.architecture.has_servers() || (!on_devices && (steps_alone(s) || workers_update(s))))
    add_optimizer(s, static_cast<double>(parameter_count(s.model)), host);
  add_outer_of_peer(s, host);
  return host;
}

NodeMemory device_of(const Scenario& s) {
  const DeviceSpec& d = s.cluster.worker_devices;
  const double model = model_bytes(s);
  NodeMemory device{.node = "device"};
  device.add("weights", model);
  device.add("gradients", model);
  if (d.count > 1 && d.aggregate == DeviceAggregation::device)
    device.add("sums of devices", static_cast<double>(d.count) * std::ranges::max(shares_of_sums(s)) * model);
  if (updates_on_devices(s)) {
    add_optimizer(s, static_cast<double>(parameter_count(s.model)), device);
    if (has_local_steps(s) && d.aggregate == DeviceAggregation::device)
      device.add("weights before local steps", model);
  }
  device.add("activations",
             static_cast<double>(device_parts(s.training.batch_size, d.count).front()) * kept_activations(s));
  limit(device, d.memory, "cluster.worker.device.memory");
  return device;
}

// A worker that computes in its own memory.
NodeMemory whole_worker(const Scenario& s) {
  const double pulled = pulled_values(s) * value_bytes(s);
  NodeMemory worker{.node = "worker"};
  worker.add("weights", pulled);
  if (is_sparse(s)) worker.add("keys", pulled_values(s) * 4);
  worker.add("gradients", pulled);
  if (has_local_steps(s)) worker.add("weights before local steps", pulled);
  if (s.training.outer.fragments > 1) worker.add("weights of the last fragments", pulled);
  if (s.architecture.has_servers() && workers_sum(s)) worker.add("sums of all workers", pulled);
  if (!s.architecture.has_servers() || steps_alone(s) || workers_update(s))
    add_optimizer(s, static_cast<double>(parameter_count(s.model)), worker);
  add_outer_of_peer(s, worker);
  worker.add("activations", static_cast<double>(s.training.batch_size) * kept_activations(s));
  limit(worker, s.cluster.worker_devices.memory, "cluster.worker.device.memory");
  return worker;
}

// The memory that a worker needs for what it sends.
void add_send_buffers(const Scenario& s, NodeMemory& worker) {
  const double pulled = pulled_values(s) * value_bytes(s);
  if (s.training.algorithm == Algorithm::elastic) worker.add("centre and move", 2 * pulled);
  if (s.training.pull_every > 1) worker.add("gradient on its way", pulled);
  if (loses(s)) worker.add("residuals", static_cast<double>(parameter_count(s.model)) * exact_bytes(s));
}

// The largest part that a worker receives from another worker.
double received_chunk(const Scenario& s) {
  const auto workers = static_cast<std::uint32_t>(s.cluster.workers);
  const auto total = static_cast<std::size_t>(parameter_count(s.model));
  const std::uint32_t chunks = chunk_count(s.architecture.algorithm, workers);
  std::size_t most = 0;
  for (const std::uint32_t worker : {0U, workers - 1}) {
    for (const Exchange& round : exchanges(s.architecture.algorithm, workers, worker)) {
      if (round.receive) most = std::max(most, range_of(round.receive->chunks, total, chunks).count);
    }
  }
  return static_cast<double>(most) * value_bytes(s);
}

// The number of a job's values on each server.
std::vector<std::size_t> load_of(const Scenario& s) {
  return key_space_of(s).load(static_cast<std::uint32_t>(s.cluster.servers));
}

constexpr const char* kept_gradients = "the last gradient of every worker";

// The memory of a server for `count` values of a job.
void add_shard(const Scenario& s, double count, NodeMemory& server) {
  const ConsistencyRule rule = make_rule(s.consistency, s.cluster.workers);
  const auto workers = static_cast<double>(s.cluster.workers);
  if (!workers_sum(s)) server.add("weights", count * value_bytes(s));
  add_common_optimizer(s, count, server);
  const AggregationRow& aggregation = *s.consistency.aggregation.row;
  const double group = rule.asks_all ? workers : std::min(static_cast<double>(rule.group), workers);
  if (aggregation.combine && group > 1) server.add("gradients of an update", group * count * exact_bytes(s));
  else if (group > 1) server.add("sum of gradients", count * exact_bytes(s));
  server.add("a push", count * value_bytes(s));
  if (aggregation.keeps) server.add(kept_gradients, workers * count * exact_bytes(s));
  if (s.training.delay_compensation > 0)
    server.add("weights that workers have", workers * count * value_bytes(s));
  if (s.training.delay_compensation > 0 && s.training.delay_compensation_decay > 0)
    server.add("mean squares", count * exact_bytes(s));
  if (server_remembers(s)) server.add("values that workers have", workers * count * exact_bytes(s));
}

// Copies of the shards of the previous servers.
void add_replicas(const Scenario& s, const std::vector<std::size_t>& load, std::size_t server,
                  NodeMemory& memory) {
  for (std::int64_t copy = 1; copy <= s.replication.copies; ++copy) {
    const std::size_t owner = (server + load.size() - static_cast<std::size_t>(copy)) % load.size();
    NodeMemory replica;
    const auto count = static_cast<double>(load[owner]);
    replica.add("weights", count * value_bytes(s));
    add_common_optimizer(s, count, replica);
    if (s.consistency.aggregation.row->keeps)
      replica.add(kept_gradients, static_cast<double>(s.cluster.workers) * count * exact_bytes(s));
    memory.add("replicas", replica.bytes());
  }
}

}  // namespace

double NodeMemory::bytes() const {
  double sum = 0;
  for (const NodePart& part : parts) sum += part.bytes;
  return sum;
}

std::optional<double> NodeMemory::limit() const {
  const auto least = std::ranges::min_element(limits, {}, &MemoryLimit::bytes);
  return least == limits.end() ? std::nullopt : std::optional(least->bytes);
}

double NodeMemory::of(std::string_view name) const {
  const auto part = std::ranges::find(parts, name, &NodePart::name);
  return part == parts.end() ? 0 : part->bytes;
}

void NodeMemory::add(std::string_view name, double bytes) {
  if (bytes == 0) return;
  const auto part = std::ranges::find(parts, name, &NodePart::name);
  if (part == parts.end()) parts.push_back({name, bytes});
  else part->bytes += bytes;
}

void add_optimizer(const Scenario& s, double count, NodeMemory& memory) {
  add_state(s, s.training.optimizer, count, memory);
  if (s.training.multi_precision) memory.add("master copy", count * exact_bytes(s));
}

std::vector<NodeMemory> worker_memory(const Scenario& s) {
  if (s.architecture.kind == Architecture::model_parallel) return stage_memory(s);
  std::vector<NodeMemory> all;
  if (s.cluster.worker_devices.bus()) {
    all = {host_of_devices(s), device_of(s)};
  } else {
    all = {whole_worker(s)};
  }
  add_send_buffers(s, all.front());
  if (!s.architecture.has_servers()) all.front().add("a part of the sum", received_chunk(s));
  limit(all.front(), s.cluster.worker.memory, "cluster.worker.memory");
  return all;
}

NodeMemory server_memory(std::span<const Scenario* const> jobs) {
  const Scenario& cluster = *jobs.front();
  NodeMemory fullest{.node = "server"};
  std::vector<std::vector<std::size_t>> loads;
  for (const Scenario* job : jobs) loads.push_back(load_of(*job));
  for (std::size_t server = 0; server < static_cast<std::size_t>(cluster.cluster.servers); ++server) {
    NodeMemory one{.node = "server"};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      add_shard(*jobs[j], static_cast<double>(loads[j][server]), one);
      add_replicas(*jobs[j], loads[j], server, one);
    }
    if (one.bytes() > fullest.bytes()) fullest = std::move(one);
  }
  limit(fullest, cluster.cluster.server.memory, "cluster.server.memory");
  return fullest;
}

std::string size_text(double bytes, int digits) {
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return fmt::format("{:.{}g} {}", bytes, digits, unit);
}

std::string parts_text(const NodeMemory& memory) {
  std::string text;
  for (const NodePart& part : memory.parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", part.name, size_text(part.bytes, 6));
  return text;
}

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
