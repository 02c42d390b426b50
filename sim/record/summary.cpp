#include "sim/record/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/record/notes.hpp"
#include "sim/record/serving.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/memory.hpp"

namespace psim {
namespace {

using Json = nlohmann::ordered_json;

Json shares(const WorkerTime& time) {
  const double total = time.total();
  const bool any = total > 0;
  return {{"compute_share", any ? time.compute / total : 0.0},
          {"wait_share", any ? time.wait / total : 1.0},
          {"network_share", any ? time.network / total : 0.0},
          {"absent_share", any ? time.absent / total : 0.0},
          {"total_s", total}};
}

Json evaluation(const Evaluation& e) {
  Json json = {{"loss", e.loss}, {"accuracy", e.accuracy ? Json(*e.accuracy) : Json(nullptr)}};
  if (e.auc) json["auc"] = *e.auc;
  if (e.nonzero_weights) json["nonzero_weights"] = *e.nonzero_weights;
  return json;
}

Json evaluation_or_none(const CurvePoint* point) {
  return point != nullptr ? evaluation(point->result) : Json{{"loss", nullptr}, {"accuracy", nullptr}};
}

Json point(const CurvePoint& p) {
  Json json = {{"sim_time_s", p.at}, {"updates", p.updates}, {"epoch", p.epoch}, {"bytes_sent", p.bytes}};
  if (p.economy) json.update({{"joules", p.economy->joules()}, {"dollars", p.economy->dollars()}});
  json.update(evaluation(p.result));
  return json;
}

Json servers(const RunResult& r) {
  Json all = Json::array();
  for (std::uint32_t i = 0; i < r.stats.servers.size(); ++i) {
    const ServerStats& server = r.stats.servers[i];
    all.push_back({{"server", i},
                   {"parameters", r.server_parameters[i].at_end},
                   {"shards", std::ranges::count(r.stats.shard_owner, std::optional(i))},
                   {"parameters_at_first", r.server_parameters[i].at_first},
                   {"shards_at_first", std::ranges::count(r.stats.shard_server, i)},
                   {"ranges", r.server_ranges[i].now},
                   {"range_splits", r.server_ranges[i].split_off},
                   {"updates", r.stats.server_updates(i)},
                   {"pushes_applied", server.pushes},
                   {"bytes_sent", server.bytes_sent},
                   {"bytes_received", server.bytes_received}});
  }
  return all;
}

Json shard_bounds(const RunResult& r) {
  Json all = Json::array();
  for (const ShardBound& bound : r.shard_bounds)
    all.push_back({{"shard", bound.shard},
                   {"layer", bound.layer},
                   {"staleness", bound.staleness ? Json(*bound.staleness) : Json(nullptr)}});
  return all;
}

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(bytes); }

// Pairs [staleness in updates, pushes], by rising staleness.
Json counts(const std::map<std::int64_t, std::int64_t>& of) {
  Json all = Json::array();
  for (const auto& [staleness, pushes] : of) all.push_back({staleness, pushes});
  return all;
}

// The scenario that worker `w` works for.
const Scenario& scenario_of(std::size_t w, const Scenario& scenario, const RunResult& r) {
  for (std::size_t i = 0; i < r.spaces.size(); ++i) {
    const SpaceStats& space = r.stats.spaces[i];
    if (w >= space.first_worker && w < space.first_worker + space.workers) return r.spaces[i].scenario;
  }
  return scenario;
}

// If a clock has a fixed time, a worker's samples give the number of its local steps.
DeviceCopies copies_of(const Scenario& scenario, const WorkerStats& worker) {
  const TrainingSpec& training = scenario.training;
  if (!training.local_time || worker.batch_size == 0) return copies_of_clocks(scenario, worker.clocks);
  const double steps =
      static_cast<double>(worker.samples) / static_cast<double>(worker.batch_size * training.accumulate);
  return copies_of_steps(scenario, static_cast<double>(worker.clocks), steps);
}

Json workers(const Scenario& scenario, const RunResult& r) {
  const RunStats& s = r.stats;
  const Scenario* of = nullptr;  // the scenario that `memory` belongs to
  std::vector<NodeMemory> memory;
  Json all = Json::array();
  for (std::size_t w = 0; w < s.workers.size(); ++w) {
    const WorkerStats& worker = s.workers[w];
    const Json time = shares(worker.time);
    all.push_back(
        {{"worker", w},
         {"clocks", worker.clocks},
         {"cancelled", worker.cancelled},
         {"samples", worker.samples},
         {"samples_used", worker.samples_used},
         {"batch_size", worker.batch_size},
         {"mean_step_s", worker.mean_step()},
         {"compute_share", time["compute_share"]},
         {"wait_share", time["wait_share"]},
         {"network_share", time["network_share"]},
         {"absent_share", time["absent_share"]},
         {"staleness",
          {{"histogram", counts(worker.staleness.applied)}, {"dropped", counts(worker.staleness.dropped)}}},
         {"time", time}});
    if (w < r.keys_used.size() && r.keys_used[w] > 0 && worker.starts > 0) {
      all.back()["keys_per_step"] = static_cast<double>(r.keys_used[w]) / static_cast<double>(worker.starts);
    }
    const Scenario& own = scenario_of(w, scenario, r);
    if (&own != std::exchange(of, &own)) memory = worker_memory(own);
    // A stage holds its own part; a worker without a bus computes in its own memory.
    const bool is_stage = own.architecture.kind == Architecture::model_parallel;
    all.back().update({{"host_bytes", whole(memory[is_stage ? w : 0].bytes())},
                       {"device_bytes", whole(memory[is_stage ? w : memory.size() - 1].bytes())}});
    if (is_stage) continue;
    const DeviceCopies copies = copies_of(own, worker);
    all.back().update({{"bus_bytes", whole(copies.bus_bytes)}, {"peer_bytes", whole(copies.peer_bytes)}});
  }
  return all;
}

Json memory_of_node(const NodeMemory& node, const std::string& name) {
  Json parts = Json::object();
  for (const NodePart& part : node.parts) parts[std::string(part.name)] = whole(part.bytes);
  const std::optional<double> limit = node.limit();
  return {{"node", name},
          {"bytes", whole(node.bytes())},
          {"limit_bytes", limit ? Json(whole(*limit)) : Json(nullptr)},
          {"parts", parts}};
}

// The memory of every kind of node: the workers of each job, and the servers that all jobs share.
Json memory(const Scenario& scenario, const RunResult& r) {
  Json all = Json::array();
  std::vector<const Scenario*> jobs;
  for (const SpaceResult& space : r.spaces) jobs.push_back(&space.scenario);
  if (jobs.empty()) jobs.push_back(&scenario);
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    for (const NodeMemory& one : worker_memory(*jobs[n]))
      all.push_back(
          memory_of_node(one, r.spaces.empty() ? one.node : fmt::format("{} of namespace {}", one.node, n)));
  }
  if (scenario.architecture.has_servers()) all.push_back(memory_of_node(server_memory(jobs), "server"));
  return all;
}

Json target(const TrainingSpec& training, const TrainingResult& result) {
  const std::optional<CurvePoint>& reached = result.target;
  const Target& t = training.target;
  Json json = {{"given", t.given()}, {"reached", reached.has_value()}};
  if (t.accuracy) json["accuracy"] = *t.accuracy;
  if (t.loss) json["loss"] = *t.loss;
  if (t.hold) json["hold"] = *t.hold;
  json["sim_time_s"] = reached ? Json(reached->at) : Json(nullptr);
  json["updates"] = reached ? Json(reached->updates) : Json(nullptr);
  json["last_miss_s"] = result.last_miss ? Json(*result.last_miss) : Json(nullptr);
  json["budget_s"] = training.duration ? Json(training.duration->value) : Json(nullptr);
  return json;
}

// Samples whose gradients are in the model, per second; null for a run of 0 s.
Json samples_per_second(std::span<const WorkerStats> workers, double seconds) {
  std::int64_t used = 0;
  for (const WorkerStats& worker : workers) used += worker.samples_used;
  return seconds > 0 ? Json(static_cast<double>(used) / seconds) : Json(nullptr);
}

WorkerTime total_time(std::span<const WorkerStats> workers) {
  WorkerTime all;
  for (const WorkerStats& worker : workers) all += worker.time;
  return all;
}

Json points(const std::vector<CurvePoint>& curve) {
  Json all = Json::array();
  for (const CurvePoint& p : curve) all.push_back(point(p));
  return all;
}

Json first_of(const std::vector<CurvePoint>& curve) {
  return evaluation_or_none(curve.empty() ? nullptr : &curve.front());
}
Json last_of(const std::vector<CurvePoint>& curve) {
  return evaluation_or_none(curve.empty() ? nullptr : &curve.back());
}

// The evaluation of the last weights.
Json final_of(const TrainingResult& training) {
  return training.tested ? evaluation(*training.tested) : last_of(training.curve);
}
Json validation_of(const TrainingResult& training) {
  return training.judged_on == DataPart::validation ? last_of(training.curve) : Json(nullptr);
}

// The samples over which the curve, the target and the last weights are evaluated.
Json evaluated_on(const TrainingResult& training) {
  if (training.curve.empty()) return nullptr;
  const std::string_view judged_on = name_of(training.judged_on);
  return {{"curve", judged_on},
          {"target", judged_on},
          {"final", training.tested ? name_of(DataPart::test) : judged_on}};
}

// As written in the scenario: "10 updates"; null: about once an epoch.
Json evaluate_every(const TrainingSpec& training) {
  auto period = training.evaluate_every;
  const std::optional<std::string> text = toml_text(&period);
  return text ? Json(text->substr(1, text->size() - 2)) : Json(nullptr);
}

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Json groups(const Scenario& scenario, const RunResult& r) {
  Json all = Json::array();
  for (std::size_t n = 0; n < r.spaces.size(); ++n) {
    const SpaceResult& space = r.spaces[n];
    for (const std::size_t g : space.groups) {
      const GroupStats& group = r.stats.groups[g];
      const auto workers = std::span(r.stats.workers).subspan(group.first_worker, group.workers);
      all.push_back({{"name", scenario.groups[g].name},
                     {"namespace", n},
                     {"consistency", name_of(space.scenario.consistency.model)},
                     {"first_worker", group.first_worker},
                     {"workers", group.workers},
                     {"updates", r.stats.updates(n)},
                     {"finished_s", group.finished},
                     {"samples_per_s", samples_per_second(workers, group.finished)},
                     {"messages", group.messages},
                     {"bytes_sent", group.bytes_sent},
                     {"pushes", {{"applied", group.pushes_applied}, {"dropped", group.pushes_dropped}}},
                     {"initial", first_of(space.curve)},
                     {"final", final_of(space)},
                     {"final_validation", validation_of(space)},
                     {"evaluated_on", evaluated_on(space)},
                     {"staleness", {{"mean", group.staleness_mean()}, {"max", group.staleness_max}}},
                     {"time", shares(total_time(workers))},
                     {"target", target(space.scenario.training, space)},
                     {"model", {{"parameters", space.parameters}, {"weights", hex(space.weights)}}},
                     {"curve", points(space.curve)}});
    }
  }
  return all;
}

Json tasks(const Scenario& scenario, const std::vector<TaskResult>& results) {
  Json all = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TaskResult& one = results[i];
    const double mean = one.times == 0 ? 0 : one.seconds / static_cast<double>(one.times);
    Json json{{"name", scenario.tasks[i].name},
              {"does", name_of(scenario.tasks[i].kind)},
              {"times", one.times},
              {"mean_s", mean}};
    json["by_worker"] = one.by_worker.empty() ? Json(nullptr) : Json(one.by_worker);
    json["value"] = one.value ? Json(*one.value) : Json(nullptr);
    all.push_back(std::move(json));
  }
  return all;
}

Json pushes(const RunStats& s) {
  return {{"arrived", s.pushes_arrived},
          {"applied", s.pushes_applied},
          {"dropped", s.pushes_dropped},
          {"unused_at_end", s.pushes_unused},
          {"duplicate", s.pushes_duplicate},
          {"refused", s.pushes_refused},
          {"torn", s.torn}};
}

Json staleness(const RunStats& s) {
  return {{"mean", s.staleness_mean()},
          {"max", s.staleness_max},
          {"histogram", counts(s.staleness_counts.applied)},
          {"dropped", counts(s.staleness_counts.dropped)}};
}

Json bytes_by_kind(const RunStats& stats) {
  Json all = Json::object();
  for (std::size_t kind = 0; kind < message_names.size(); ++kind) {
    if (stats.bytes_of_kind[kind] > 0) all[std::string(message_names[kind])] = stats.bytes_of_kind[kind];
  }
  return all;
}

Json notes_of(const Scenario& scenario, const RunResult& r) {
  Json all = Json::array();
  for (const Note& note : notes(scenario, r)) all.push_back({{"name", note.name}, {"text", note.text}});
  return all;
}

// Whether servers acknowledge pushes, and for which purpose. Acknowledgements add messages and change times.
std::string_view acknowledgement(const Scenario& scenario) {
  if (scenario.may_fail()) return "repeats";
  return scenario.messages.acknowledge ? "waits" : "none";
}

}  // namespace

Json make_summary(const RunIdentity& identity, const Scenario& scenario, const RunResult& r) {
  const RunStats& s = r.stats;
  const Scenario& first = r.spaces.empty() ? scenario : r.spaces.front().scenario;
  Json summary = {
      {"schema", "psim.summary/1"},
      {"scenario", identity.name},
      {"title", identity.title},
      {"seed", identity.seed},
      {"digest", r.digest},
      {"scenario_hash", identity.scenario_hash},
      {"psim", version_text()},
      {"cpu_family", cpu_family()},
      {"libraries", libraries()},
      {"build", build_id()},
      {"architecture", name_of(scenario.architecture.kind)},
      {"consistency", name_of(first.consistency.model)},
      {"acknowledgement", acknowledgement(scenario)},
      {"sim_time_s", r.sim_time},
      {"updates", s.updates()},
      {"steps", s.clocks()},
      {"samples_per_s", samples_per_second(s.workers, r.sim_time)},
      {"messages", s.messages},
      {"messages_received", s.delivered},
      {"messages_lost", s.lost},
      {"bytes_sent", s.bytes_sent},
      {"bytes_received", s.bytes_received},
      {"bytes_lost", s.bytes_lost},
      {"bytes_by_kind", bytes_by_kind(s)},
      {"events", s.events},
      {"pushes", pushes(s)},
      {"initial", first_of(r.curve)},
      {"final", final_of(r)},
      {"final_validation", validation_of(r)},
      {"evaluated_on", evaluated_on(r)},
      {"evaluate_every", evaluate_every(first.training)},
      {"staleness", staleness(s)},
      {"clock_gap", {{"max", s.clock_gap_max}}},
      {"time", shares(total_time(s.workers))},
      {"target", target(first.training, r)},
      {"model",
       {{"parameters", r.parameters}, {"flops_per_sample", r.flops_per_sample}, {"weights", hex(r.weights)}}},
      {"workers", workers(scenario, r)},
      {"servers", servers(r)},
      {"memory", memory(scenario, r)},
      {"stuck", r.stuck},
      {"notes", notes_of(scenario, r)}};
  if (first.training.local_time) summary["local_time_s"] = first.training.local_time->value;
  else if (first.training.local_steps > 1) summary["local_steps"] = first.training.local_steps;
  if (!r.shard_bounds.empty()) summary["shard_bounds"] = shard_bounds(r);
  add_node_life(scenario, r, summary);
  if (r.inference) summary["inference"] = inference(scenario.cluster.inference, *r.inference, r.sim_time);
  if (!r.tasks.empty()) summary["tasks"] = tasks(scenario, r.tasks);
  if (!r.spaces.empty()) summary["groups"] = groups(scenario, r);
  summary["curve"] = points(r.curve);
  return summary;
}

namespace {

// Messages between workers and aggregators, and their sums between aggregators and servers.
Json sums(const SumTraffic& t) {
  return {{"pushes", t.pushes},       {"push_bytes", t.push_bytes},    {"sums", t.sums},
          {"sum_bytes", t.sum_bytes}, {"answers", t.answers},          {"answer_bytes", t.answer_bytes},
          {"copied", t.copied},       {"copied_bytes", t.copied_bytes}};
}

// The cost of all nodes of a role together.
Json role_cost(const RoleCost& cost) {
  return {{"on_s", cost.on_s}, {"busy_s", cost.busy_s}, {"joules", cost.joules}, {"dollars", cost.dollars}};
}

Json economy(const RunResult& r) {
  const Economy& all = *r.economy;
  Json json = {{"joules", all.joules()},
               {"dollars", all.dollars()},
               {"workers", role_cost(all.workers)},
               {"servers", role_cost(all.servers)},
               {"network", {{"joules", all.network_joules}}},
               {"to_target", nullptr}};
  if (r.target && r.target->economy)
    json["to_target"] = {{"joules", r.target->economy->joules()}, {"dollars", r.target->economy->dollars()}};
  return json;
}

Json slow_workers(const RunResult& r) {
  Json all = Json::array();
  for (const FoundSlow& one : r.failures->slow)
    all.push_back({{"worker", one.what.worker - 1 - r.stats.servers.size()},
                   {"at_s", one.at},
                   {"seconds_per_sample", one.what.seconds_per_sample},
                   {"median", one.what.median},
                   {"action", name_of(one.what.action)}});
  return all;
}

// Seconds of each part: from the crash until the scheduler knew; until the new owners had the shards or began
// to fetch them; until they owned them; until all shards had reached their versions at the crash. For a
// worker, after detection: until the next group began, and until the interrupted step was done.
Json recovery(const Recovery& r) {
  const auto span = [](std::optional<double> from, std::optional<double> to) {
    return from && to ? Json(*to - *from) : Json(nullptr);
  };
  if (r.is_worker) {
    return {{"worker", r.node - 1},
            {"at_s", r.crash},
            {"detection_s", span(r.crash, r.detected)},
            {"reforming_s", span(r.detected, r.reformed)},
            {"lost_work_s", span(r.reformed, r.caught_up)},
            {"total_s", span(r.crash, r.caught_up)}};
  }
  // Its shards may be moving to another server before the crash is known.
  const std::optional<double> asked =
      r.fetching && r.detected ? std::max(*r.fetching, *r.detected) : r.fetching;
  return {{"server", r.node - 1},
          {"at_s", r.crash},
          {"detection_s", span(r.crash, r.detected)},
          {"takeover_s", span(r.detected, asked)},
          {"transfer_s", span(r.fetching, r.owned)},
          {"catch_up_s", span(r.owned, r.caught_up)},
          {"total_s", span(r.crash, r.caught_up)}};
}

Json rebalancing(const Rebalancing& r) {
  Json servers = Json::array();
  for (std::size_t s = 0; s < r.before.size(); ++s)
    servers.push_back({{"server", s}, {"load_before_per_s", r.before[s]}, {"load_after_per_s", r.after[s]}});
  return {{"at_s", r.at},   {"view", r.view},         {"shards", r.shards},
          {"cuts", r.cuts}, {"parameters", r.values}, {"servers", servers}};
}

Json failures(const FailureStats& stats) {
  Json recoveries = Json::array();
  for (const Recovery& one : stats.recoveries) recoveries.push_back(recovery(one));
  Json all = {{"crashes", stats.crashes},
              {"suspicions", stats.suspicions},
              {"false_suspicions", stats.false_suspicions},
              {"views", stats.views},
              {"takeovers", stats.takeovers},
              {"snapshots", stats.snapshots},
              {"repeated_requests", stats.repeated},
              {"replication_bytes", stats.replication_bytes},
              {"state_bytes", stats.state_bytes},
              {"heartbeat_bytes", stats.heartbeat_bytes},
              {"recoveries", recoveries}};
  for (const Rebalancing& one : stats.rebalances) all["rebalances"].push_back(rebalancing(one));
  return all;
}

// When each worker and each server was up, in seconds from the beginning.
Json startup(const RunResult& r) {
  const auto workers = static_cast<std::ptrdiff_t>(r.stats.workers.size());
  const std::vector<double>& s = r.startup_s;
  return {{"workers_s", std::vector<double>(s.begin(), s.begin() + workers)},
          {"servers_s", std::vector<double>(s.begin() + workers, s.end())}};
}

}  // namespace

void add_node_life(const Scenario& scenario, const RunResult& r, Json& summary) {
  if (r.failures) summary["failures"] = failures(*r.failures);
  if (scenario.recovery.slow.given) summary["slow_workers"] = slow_workers(r);
  if (!r.startup_s.empty()) summary["startup"] = startup(r);
  if (r.sums) summary["aggregation"] = sums(*r.sums);
  if (r.economy) summary["economy"] = economy(r);
}

namespace {

Json number_or_none(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

Json staleness_and_age(const ServingWindow& w) {
  return {{"staleness", {{"mean", number_or_none(w.mean(w.staleness_sum))}, {"max", w.staleness_max}}},
          {"age_s", {{"mean", number_or_none(w.mean(w.age_sum))}, {"max", w.age_max}}}};
}

Json served(const std::vector<ServingWindow>& windows) {
  Json all = Json::array();
  for (const ServingWindow& w : windows) {
    all.push_back({{"begin_s", w.begin},
                   {"end_s", w.end},
                   {"requests", w.requests},
                   {"answered", w.answered},
                   {"latency_s", {{"mean", number_or_none(w.mean(w.latency_sum))}, {"max", w.latency_max}}}});
    all.back().update(staleness_and_age(w));
  }
  return all;
}

}  // namespace

Json inference(const InferenceSpec& spec, const InferenceStats& stats, double end) {
  const ServingWindow all = served_in_all(stats, end);
  std::vector<double> latencies;
  for (const InferenceStats::Answered& answer : stats.answers) latencies.push_back(answer.latency);
  std::ranges::sort(latencies);
  const auto answered = static_cast<double>(latencies.size());
  const auto percentile = [&](double share) {  // nearest rank
    if (latencies.empty()) return Json(nullptr);
    return Json(latencies[static_cast<std::size_t>(std::ceil(share * answered)) - 1]);
  };
  const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  Json json = {
      {"requests", stats.requests},
      {"answered", latencies.size()},
      {"latency_s",
       {{"mean", number_or_none(all.mean(sum))}, {"p50", percentile(0.5)}, {"p99", percentile(0.99)}}}};
  json.update(staleness_and_age(all));
  json["accuracy"] = stats.samples > 0
                         ? Json(static_cast<double>(stats.hits) / static_cast<double>(stats.samples))
                         : Json(nullptr);
  json["pulls"] = stats.pulls;
  json["bytes_pulled"] = stats.bytes_pulled;
  const std::optional<double> window = spec.window ? std::optional(spec.window->value) : std::nullopt;
  json["over_time"] = served(served_over_time(stats, window, end));
  return json;
}

}  // namespace psim
