#include "sim/record/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/record/notes.hpp"
#include "sim/record/serving.hpp"
#include "sim/record/summary_schema.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/memory.hpp"

// The source of the values in summary_schema.hpp, as `s` there.
namespace psim::summary_values {
namespace {

using Json = nlohmann::ordered_json;

// An evaluation, or none.
struct Judged {
  std::optional<double> loss = {}, accuracy = {}, auc = {};
  std::optional<std::int64_t> nonzero_weights = {};
};
Judged judged(const Evaluation& e) { return {e.loss, e.accuracy, e.auc, e.nonzero_weights}; }

// Samples whose gradients are in the model, per second; none for a run of 0 s.
std::optional<double> samples_per_second(std::span<const WorkerStats> workers, double seconds) {
  std::int64_t used = 0;
  for (const WorkerStats& worker : workers) used += worker.samples_used;
  return seconds > 0 ? std::optional(static_cast<double>(used) / seconds) : std::nullopt;
}

WorkerTime total_time(std::span<const WorkerStats> workers) {
  WorkerTime all;
  for (const WorkerStats& worker : workers) all += worker.time;
  return all;
}

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(bytes); }

// The training of one namespace.
struct Training {
  const TrainingResult& result;
  const Scenario& scenario;

  const TrainingSpec& spec() const { return scenario.training; }
  Judged initial() const { return result.curve.empty() ? Judged() : judged(result.curve.front().result); }
  Judged last() const { return result.curve.empty() ? Judged() : judged(result.curve.back().result); }
  // Of the last weights.
  Judged final() const { return result.tested ? judged(*result.tested) : last(); }
  std::optional<Judged> validation() const {
    return result.judged_on == DataPart::validation ? std::optional(last()) : std::nullopt;
  }
  std::string_view tested_on() const { return name_of(result.tested ? DataPart::test : result.judged_on); }
};

struct Worker {
  std::size_t worker;
  const WorkerStats& stats;
  std::uint64_t host_bytes, device_bytes;
  std::optional<double> keys_per_step = {};
  std::optional<std::uint64_t> bus_bytes = {}, peer_bytes = {};
};

struct Server {
  std::uint32_t server;
  const RunResult& result;
  const ServerStats& stats() const { return result.stats.servers[server]; }
  const ServerParameters& parameters() const { return result.server_parameters[server]; }
  const ServerRanges& ranges() const { return result.server_ranges[server]; }
  auto shards() const { return std::ranges::count(result.stats.shard_owner, std::optional(server)); }
  auto shards_at_first() const { return std::ranges::count(result.stats.shard_server, server); }
};

struct Group {
  const GroupSpec& spec;
  std::size_t space;
  const GroupStats& stats;
  Training training;
  const RunStats& run;
  auto workers() const { return std::span(run.workers).subspan(stats.first_worker, stats.workers); }
  WorkerTime time() const { return total_time(workers()); }
  std::optional<double> samples_per_s() const { return samples_per_second(workers(), stats.finished); }
};

struct Task {
  const TaskSpec& task;
  const TaskResult& result;
};

struct Slow {
  std::size_t worker;
  const FoundSlow& found;
};

struct NodeUse {
  std::string name;
  NodeMemory memory;
  std::uint64_t bytes() const { return whole(memory.bytes()); }
  std::optional<std::uint64_t> limit() const {
    const std::optional<double> limit = memory.limit();
    return limit ? std::optional(whole(*limit)) : std::nullopt;
  }
  Json parts() const {
    Json parts = Json::object();
    for (const NodePart& part : memory.parts) parts[std::string(part.name)] = whole(part.bytes);
    return parts;
  }
};

// When each worker and each server was up, in seconds from the beginning.
struct Startup {
  std::vector<double> workers, servers;
};

// Requests, latencies in seconds, staleness in updates and age in seconds, in total and over time.
struct Served {
  const InferenceStats& stats;
  ServingWindow all;
  std::vector<ServingWindow> windows;
  std::vector<double> latencies = {};  // by rising latency

  std::optional<double> mean() const {
    return all.mean(std::accumulate(latencies.begin(), latencies.end(), 0.0));
  }
  std::optional<double> percentile(double share) const {  // nearest rank
    const auto answered = static_cast<double>(latencies.size());
    if (latencies.empty()) return std::nullopt;
    return latencies[static_cast<std::size_t>(std::ceil(share * answered)) - 1];
  }
  std::optional<double> accuracy() const {
    if (stats.samples == 0) return std::nullopt;
    return static_cast<double>(stats.hits) / static_cast<double>(stats.samples);
  }
};

// If a clock has a fixed time, a worker's samples give the number of its local steps.
DeviceCopies copies_of(const Scenario& scenario, const WorkerStats& worker) {
  const TrainingSpec& training = scenario.training;
  if (!training.fits_steps() || worker.batch_size == 0) return copies_of_clocks(scenario, worker.clocks);
  const double steps =
      static_cast<double>(worker.samples) / static_cast<double>(worker.batch_size * training.accumulate);
  return copies_of_steps(scenario, static_cast<double>(worker.clocks), steps);
}

// The whole run.
struct Whole {
  const RunIdentity& identity;
  const Scenario& scenario;
  const RunResult& result;
  const RunStats& stats = result.stats;
  // Of the first namespace.
  Training training = {result, result.spaces.empty() ? scenario : result.spaces.front().scenario};

  std::string program() const { return version_text(); }
  std::string processor() const { return cpu_family(); }
  auto libraries() const { return psim::libraries(); }
  std::string build() const { return build_id(); }
  // Acknowledgements add messages and change times.
  std::string_view acknowledgement() const {
    if (scenario.may_fail()) return "repeats";
    return scenario.messages.acknowledge ? "waits" : "none";
  }
  std::optional<double> samples_per_s() const { return samples_per_second(stats.workers, result.sim_time); }
  WorkerTime time() const { return total_time(stats.workers); }
  Json bytes_by_kind() const {
    Json all = Json::object();
    for (std::size_t kind = 0; kind < message_names.size(); ++kind) {
      if (stats.bytes_of_kind[kind] > 0) all[std::string(message_names[kind])] = stats.bytes_of_kind[kind];
    }
    return all;
  }
  // As written in the scenario: "10 updates".
  std::optional<std::string> evaluate_every() const {
    auto period = training.spec().evaluate_every;
    const std::optional<std::string> text = toml_text(&period);
    return text ? std::optional(text->substr(1, text->size() - 2)) : std::nullopt;
  }
  std::vector<Worker> workers() const;
  std::vector<Server> servers() const {
    std::vector<Server> all;
    for (std::uint32_t i = 0; i < stats.servers.size(); ++i) all.push_back({i, result});
    return all;
  }
  std::vector<NodeUse> memory() const;
  std::vector<Note> notes() const { return psim::notes(scenario, result); }
  std::optional<std::vector<Slow>> slow_workers() const {
    if (!result.failures || !scenario.recovery.slow.given) return std::nullopt;
    std::vector<Slow> all;
    for (const FoundSlow& one : result.failures->slow)
      all.push_back({one.what.worker - 1 - stats.servers.size(), one});
    return all;
  }
  std::optional<Startup> startup() const {
    const std::vector<double>& s = result.startup_s;
    if (s.empty()) return std::nullopt;
    const auto workers = s.begin() + std::ssize(stats.workers);
    return Startup{{s.begin(), workers}, {workers, s.end()}};
  }
  std::optional<Served> inference() const;
  std::vector<Task> tasks() const {
    std::vector<Task> all;
    for (std::size_t i = 0; i < result.tasks.size(); ++i) all.push_back({scenario.tasks[i], result.tasks[i]});
    return all;
  }
  std::vector<Group> groups() const {
    std::vector<Group> all;
    for (std::size_t n = 0; n < result.spaces.size(); ++n) {
      const SpaceResult& space = result.spaces[n];
      for (const std::size_t g : space.groups)
        all.push_back({scenario.groups[g], n, stats.groups[g], {space, space.scenario}, stats});
    }
    return all;
  }

 private:
  // The scenario that worker `w` works for.
  const Scenario& scenario_of(std::size_t w) const {
    for (std::size_t i = 0; i < result.spaces.size(); ++i) {
      const SpaceStats& space = stats.spaces[i];
      if (w >= space.first_worker && w < space.first_worker + space.workers) return result.spaces[i].scenario;
    }
    return scenario;
  }
};

std::vector<Worker> Whole::workers() const {
  const Scenario* of = nullptr;  // the scenario that `memory` belongs to
  std::vector<NodeMemory> memory;
  std::vector<Worker> all;
  for (std::size_t w = 0; w < stats.workers.size(); ++w) {
    const WorkerStats& worker = stats.workers[w];
    const Scenario& own = scenario_of(w);
    if (&own != std::exchange(of, &own)) memory = worker_memory(own);
    // A stage holds its own part; a worker without a bus computes in its own memory.
    const bool is_stage = own.architecture.kind == Architecture::model_parallel;
    Worker& one =
        all.emplace_back(Worker{.worker = w,
                                .stats = worker,
                                .host_bytes = whole(memory[is_stage ? w : 0].bytes()),
                                .device_bytes = whole(memory[is_stage ? w : memory.size() - 1].bytes())});
    if (w < result.keys_used.size() && result.keys_used[w] > 0 && worker.starts > 0)
      one.keys_per_step = static_cast<double>(result.keys_used[w]) / static_cast<double>(worker.starts);
    if (is_stage) continue;
    const DeviceCopies copies = copies_of(own, worker);
    one.bus_bytes = whole(copies.bus_bytes);
    one.peer_bytes = whole(copies.peer_bytes);
  }
  return all;
}

// The workers of each job, and the servers that all jobs share.
std::vector<NodeUse> Whole::memory() const {
  std::vector<NodeUse> all;
  std::vector<const Scenario*> jobs;
  for (const SpaceResult& space : result.spaces) jobs.push_back(&space.scenario);
  if (jobs.empty()) jobs.push_back(&scenario);
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    for (const NodeMemory& one : worker_memory(*jobs[n]))
      all.push_back({result.spaces.empty() ? one.node : fmt::format("{} of namespace {}", one.node, n), one});
  }
  if (scenario.architecture.has_servers()) all.push_back({"server", server_memory(jobs)});
  return all;
}

std::optional<Served> Whole::inference() const {
  if (!result.inference) return std::nullopt;
  const InferenceStats& served = *result.inference;
  const std::optional<Seconds>& window = scenario.cluster.inference.window;
  const std::optional<double> length = window ? std::optional(window->value) : std::nullopt;
  Served all{served, served_in_all(served, result.sim_time),
             served_over_time(served, length, result.sim_time)};
  for (const InferenceStats::Answered& answer : served.answers) all.latencies.push_back(answer.latency);
  std::ranges::sort(all.latencies);
  return all;
}

template <class T>
concept MayLack = requires(const T& value) {
  *value;
  static_cast<bool>(value);
};

template <class... Rows>
Json object_of(const summary_schema::Keys<Rows...>& keys, const auto& of);

template <class List>
Json json_of(const List* keys, const auto& value) {
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (MayLack<Value>) {
    return value ? json_of(keys, *value) : Json();
  } else if constexpr (std::is_same_v<List, summary_schema::NoKeys>) {
    return value;
  } else if constexpr (std::ranges::range<Value>) {
    Json all = Json::array();
    for (const auto& one : value) all.push_back(json_of(keys, one));
    return all;
  } else {
    return object_of(*keys, value);
  }
}

template <class Value, class List>
void add(const summary_schema::Row<Value, List>& row, const auto& of, Json& object) {
  Json value = json_of(row.keys, row.value(of));
  const bool is_missing = value.is_null() && row.key.there == There::given;
  if (!is_missing) object[std::string(row.key.name)] = std::move(value);
}
template <class Value, class List>
void add(const summary_schema::Part<Value, List>& part, const auto& of, Json& object) {
  const Json keys = json_of(part.keys, part.value(of));
  if (!keys.is_null()) object.update(keys);
}

template <class... Rows>
Json object_of(const summary_schema::Keys<Rows...>& keys, const auto& of) {
  Json object = Json::object();
  std::apply([&](const auto&... row) { (add(row, of, object), ...); }, keys.rows);
  return object;
}

}  // namespace
}  // namespace psim::summary_values

namespace psim {

std::string summary_schema::hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

nlohmann::ordered_json make_summary(const RunIdentity& identity, const Scenario& scenario,
                                    const RunResult& result) {
  return summary_values::object_of(summary_schema::all, summary_values::Whole{identity, scenario, result});
}

}  // namespace psim
