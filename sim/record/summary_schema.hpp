// The keys of summary.json, each declared once: its name, type and meaning, and its value. summary.cpp writes
// the values. psim checks summaries that it reads against the types, `psim explain` prints the meanings, and
// an unknown path does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace psim {

enum class Holds : std::uint8_t { truth, number, text, object, list, texts, map };

enum class There : std::uint8_t {
  needed,  // always; psim rejects a summary without it
  always,  // in every summary of this version
  maybe,   // may be null or missing
  given    // may be missing, never null
};

struct SummaryKey {
  std::string_view name;
  Holds holds = Holds::number;
  There there = There::always;
  std::string_view doc = {};
  std::span<const SummaryKey> of = {};  // of an object, or of each element of a list
};

namespace summary_schema {

using enum Holds;
using enum There;

struct Kind {
  Holds holds = number;
  There there = always;
  constexpr Kind(Holds what, There when = always) : holds(what), there(when) {}
  constexpr Kind(There when) : there(when) {}
};
constexpr Kind operator|(Holds what, There when) { return {what, when}; }

struct NoKeys {};
// A key of an object. `value` computes its value from what the object describes; `keys` are those of an
// object, or of each element of a list. A value of none is null, or its key is missing if the key may be
// missing.
template <class Value, class Keys = NoKeys>
struct Row {
  SummaryKey key;
  Value value;
  const Keys* keys = nullptr;
  static constexpr std::size_t count = 1;
  constexpr void add_to(SummaryKey*& at) const { *at++ = key; }
};
// Keys that several objects have.
template <class Value, class Keys>
struct Part {
  Value value;
  const Keys* keys;
  static constexpr std::size_t count = Keys::count;
  constexpr void add_to(SummaryKey*& at) const { at = std::ranges::copy(keys->schema, at).out; }
};
template <class... Rows>
struct Keys {
  static constexpr std::size_t count = (Rows::count + ...);
  std::tuple<Rows...> rows;
  std::array<SummaryKey, count> schema = {};

  constexpr Keys(Rows... all) : rows(all...) {
    SummaryKey* at = schema.data();
    (all.add_to(at), ...);
  }
};

template <class Value>
constexpr Row<Value> key(std::string_view name, Value value, Kind kind, std::string_view doc = {}) {
  return {{name, kind.holds, kind.there, doc}, value};
}
template <class Value>
constexpr Row<Value> key(std::string_view name, Value value, std::string_view doc = {}) {
  return key(name, value, number, doc);
}
template <class Value, class Keys>
constexpr Row<Value, Keys> key(std::string_view name, const Keys& keys, Value value, Kind kind,
                               std::string_view doc = {}) {
  return {{name, kind.holds, kind.there, doc, keys.schema}, value, &keys};
}
template <class Value, class Keys>
constexpr Part<Value, Keys> part(const Keys& keys, Value value) {
  return {value, &keys};
}

constexpr auto if_any(const auto& list) { return list.empty() ? nullptr : &list; }
template <class Value>
constexpr std::optional<Value> only_if(bool holds, Value value) {
  return holds ? std::optional(std::move(value)) : std::nullopt;
}
constexpr std::optional<double> seconds(const auto& time) {
  return time ? std::optional(time->value) : std::nullopt;
}
// Seconds between two dates, if both were reached.
constexpr std::optional<double> span(std::optional<double> from, std::optional<double> to) {
  return from && to ? std::optional(*to - *from) : std::nullopt;
}
std::string hex(std::uint64_t hash);  // 16 digits
template <class Mean, class Max>
struct Spread {
  Mean mean;
  Max max;
};

#define GET(...) []([[maybe_unused]] const auto& s) { return __VA_ARGS__; }
#define SAME [](const auto& s) { return &s; }

inline constexpr Keys evaluation{
    key("loss", GET(s.loss), maybe),
    key("accuracy", GET(s.accuracy), maybe),
    key("auc", GET(s.auc), given,
        "Area under the ROC curve of a logistic model. In the line `quality`: AUC."),
    key("nonzero_weights", GET(s.nonzero_weights), given, "Weights of a logistic model that are not zero."),
};
inline constexpr Keys cost{
    key("joules", GET(s.joules()), needed),
    key("dollars", GET(s.dollars()), needed),
};
inline constexpr Keys point{
    key("sim_time_s", GET(s.at), needed),
    key("updates", GET(s.updates)),
    key("epoch", GET(s.epoch), "Passes over the training set so far."),
    key("bytes_sent", GET(s.bytes)),
    key("joules", GET(s.economy ? std::optional(s.economy->joules()) : std::nullopt), given),
    key("dollars", GET(s.economy ? std::optional(s.economy->dollars()) : std::nullopt), given),
    part(evaluation, GET(s.result)),
};
inline constexpr Keys shares{
    key("compute_share", GET(s.share(s.compute)), needed,
        "Share of the time, from 0 to 1, in which workers compute gradients."),
    key("wait_share", GET(s.total() > 0 ? s.share(s.wait) : 1), needed,
        "Share of the time, from 0 to 1, in which workers wait for others."),
    key("network_share", GET(s.share(s.network)), needed,
        "Share of the time, from 0 to 1, in which workers do not compute, and a message from or to them is "
        "on its way."),
    key("absent_share", GET(s.share(s.absent)),
        "Share of the time, from 0 to 1, in which workers are down, have left, or have not joined."),
};
inline constexpr Keys time{
    part(shares, SAME),
    key("total_s", GET(s.total()),
        "Seconds of all workers' time. For a recovery: from the crash until the shards have their versions "
        "again."),
};
inline constexpr Keys counts{
    key("histogram", GET(s.applied), list,
        "Pairs [staleness, pushes]: the number of applied pushes of this staleness in updates. For all "
        "workers, and\nfor each worker. `dropped` has the same for pushes that were dropped as too late or "
        "too stale."),
    key("dropped", GET(s.dropped), list),
};
inline constexpr Keys staleness{
    key("mean", GET(s.staleness_mean())),
    key("max", GET(s.staleness_max), needed, "The largest value."),
    part(counts, GET(s.staleness_counts)),
};
inline constexpr Keys mean_and_max{key("mean", GET(s.mean), maybe), key("max", GET(s.max))};
inline constexpr Keys clock_gap{key("max", GET(s.clock_gap_max))};
inline constexpr Keys pushes{
    key("arrived", GET(s.pushes_arrived), "Pushes that reached a server."),
    key("applied", GET(s.pushes_applied), "Pushes that are in the weights."),
    key("dropped", GET(s.pushes_dropped), "Pushes that servers threw away, for any reason."),
    key("unused_at_end", GET(s.pushes_unused),
        "Dropped pushes that were in time, but the run ended before they were applied."),
    key("duplicate", GET(s.pushes_duplicate), "Dropped pushes that had arrived before."),
    key("refused", GET(s.pushes_refused),
        "Dropped pushes for another owner, pushes that overtook an earlier push, or pushes of a worker that "
        "took no part;\nthe worker sends them again."),
    key("torn", GET(s.torn),
        "Gradients of which some shards applied their part, and others dropped theirs as too late or too "
        "stale."),
};
inline constexpr Keys group_pushes{
    key("applied", GET(s.pushes_applied)),
    key("dropped", GET(s.pushes_dropped)),
};
inline constexpr Keys evaluated_on{
    key("curve", GET(name_of(s.result.judged_on)), text),
    key("target", GET(name_of(s.result.judged_on)), text),
    key("final", GET(s.tested_on()), text),
};
// Of a namespace.
inline constexpr Keys learned{
    key("initial", evaluation, GET(s.initial()), object, "Loss and accuracy of the initial weights."),
    key("final", evaluation, GET(s.final()), object | needed),
    key("final_validation", evaluation, GET(s.validation()), object | maybe,
        "Loss and accuracy of the final weights over the validation set; null without a validation set."),
    key("evaluated_on", evaluated_on, GET(s.result.curve.empty() ? nullptr : &s), object | maybe,
        "The samples that the curve, the target and the final weights are evaluated on: validation, test or "
        "training."),
};
inline constexpr Keys target{
    key("given", GET(s.spec().target.given()), truth | needed, "Whether the scenario has a target."),
    key("reached", GET(s.result.target.has_value()), truth | needed),
    key("accuracy", GET(s.spec().target.accuracy), given),
    key("loss", GET(s.spec().target.loss), given),
    key("hold", GET(s.spec().target.hold), given,
        "How many evaluations in a row must reach the target (training.target.hold)."),
    key("sim_time_s", GET(s.result.target ? std::optional(s.result.target->at) : std::nullopt), maybe),
    key("updates", GET(s.result.target ? std::optional(s.result.target->updates) : std::nullopt), maybe),
    key("last_miss_s", GET(s.result.last_miss), maybe,
        "The simulated second of the last evaluation before the one that reached the target.\nThe target was "
        "reached between the two."),
    key("budget_s", GET(seconds(s.spec().duration)), maybe),
};
inline constexpr Keys model{
    key("parameters", GET(s.parameters)),
    key("flops_per_sample", GET(s.flops_per_sample),
        "Floating-point operations of the gradient of one sample."),
    key("weights", GET(hex(s.weights)), text, "Hash of the final weights."),
};
inline constexpr Keys group_model{
    key("parameters", GET(s.parameters)),
    key("weights", GET(hex(s.weights)), text),
};
inline constexpr Keys workers{
    key("worker", GET(s.worker)),
    key("clocks", GET(s.stats.clocks)),
    key("cancelled", GET(s.stats.cancelled), "Computations of the worker that were stopped."),
    key("samples", GET(s.stats.samples), "Samples whose gradients the worker has completed."),
    key("samples_used", GET(s.stats.samples_used),
        "The part of `samples` whose gradients are in the model. A gradient that is computed again counts "
        "again."),
    key("batch_size", GET(s.stats.batch_size)),
    key("mean_step_s", GET(s.stats.mean_step()),
        "Mean seconds from the start of a step of the worker to the start of its next step."),
    part(shares, GET(s.stats.time)),
    key("staleness", counts, GET(&s.stats.staleness), object),
    key("time", time, GET(&s.stats.time), object),
    key("keys_per_step", GET(s.keys_per_step), given,
        "Mean number of features that a step of a logistic model pulls."),
    key("host_bytes", GET(s.host_bytes),
        "The most memory in the worker's host, over all parts, in bytes; see `memory`."),
    key("device_bytes", GET(s.device_bytes),
        "The same in its fullest device. Without a bus the device is the worker itself."),
    key("bus_bytes", GET(s.bus_bytes), given,
        "Bytes that went over the link between the worker's host and its devices, in both directions."),
    key("peer_bytes", GET(s.peer_bytes), given,
        "Bytes that went directly from one of its devices to another."),
};
inline constexpr Keys servers{
    key("server", GET(s.server)),
    key("parameters", GET(s.parameters().at_end)),
    key("shards", GET(s.shards()), "Shards that the server holds at the end."),
    key("parameters_at_first", GET(s.parameters().at_first),
        "Parameters that the placement gave the server."),
    key("shards_at_first", GET(s.shards_at_first()), "Shards that the placement gave the server."),
    key("ranges", GET(s.ranges().now)),
    key("range_splits", GET(s.ranges().split_off),
        "Ranges of keys that got a separate vector clock during the run."),
    key("updates", GET(s.result.stats.server_updates(s.server))),
    key("pushes_applied", GET(s.stats().pushes), "Pushes that this server has applied."),
    key("bytes_sent", GET(s.stats().bytes_sent)),
    key("bytes_received", GET(s.stats().bytes_received)),
};
inline constexpr Keys memory{
    key("node", GET(s.name), text, "The kind of node: a worker, its device, a stage, a server."),
    key("bytes", GET(s.bytes()), "The most that the node holds at once: the sum of its parts."),
    key("limit_bytes", GET(s.limit()), maybe, "How much memory the scenario gives the node; null: no limit."),
    key("parts", GET(s.parts()), map, "The use of the memory, in bytes; docs/results.md has the formulas."),
};
inline constexpr Keys notes{
    key("name", GET(s.name), text | needed),
    key("text", GET(s.text), text | needed, "The text of the note, with the numbers of this run."),
};
inline constexpr Keys shard_bounds{
    key("shard", GET(s.shard)),
    key("layer", GET(s.layer), "The layer that needs the shard first, from 0 at the input."),
    key("staleness", GET(s.staleness), maybe),
};
inline constexpr Keys server_recovery{
    key("takeover_s", GET(span(s.detected, s.asked())), maybe,
        "Seconds from there until the new owners began to fetch the shards."),
    key("transfer_s", GET(span(s.fetching, s.owned)), maybe,
        "Seconds from there until they owned the shards."),
    key("catch_up_s", GET(span(s.owned, s.caught_up)), maybe,
        "Seconds from there until all shards had their versions at the crash again."),
};
inline constexpr Keys worker_recovery{
    key("reforming_s", GET(span(s.detected, s.reformed)), maybe,
        "Without servers: seconds from the detection until a group that knows of the crash began its first "
        "step."),
    key("lost_work_s", GET(span(s.reformed, s.caught_up)), maybe,
        "Without servers: seconds from there until the step that the crash interrupted was done."),
};
inline constexpr Keys recoveries{
    key("server", GET(only_if(!s.is_worker, s.node - 1)), given),
    key("worker", GET(only_if(s.is_worker, s.node - 1)), given),
    key("at_s", GET(s.crash), "The simulated second of the crash."),
    key("detection_s", GET(span(s.crash, s.detected)), maybe,
        "Seconds from the crash until the scheduler announced a view that knows of it."),
    part(server_recovery, GET(s.is_worker ? nullptr : &s)),
    part(worker_recovery, GET(s.is_worker ? &s : nullptr)),
    key("total_s", GET(span(s.crash, s.caught_up)), maybe),
};
inline constexpr Keys loads{
    key("server", GET(s.server)),
    key("load_before_per_s", GET(s.before),
        "Values pushed to the server and pulled from it per second, since the last rebalancing."),
    key("load_after_per_s", GET(s.after),
        "Values pushed to the server and pulled from it per second, until the next rebalancing or the end."),
};
inline constexpr Keys rebalances{
    key("at_s", GET(s.at)),           key("view", GET(s.view), "The view's number."),
    key("shards", GET(s.shards)),     key("cuts", GET(s.cuts), "Shards that the view cuts."),
    key("parameters", GET(s.values)), key("servers", loads, GET(s.loads()), list),
};
inline constexpr Keys failures{
    key("crashes", GET(s.crashes), "Crashes of nodes. In the line `failures`, too."),
    key("suspicions", GET(s.suspicions), needed,
        "How often the scheduler took a node for crashed. In the line `failures`, too."),
    key("false_suspicions", GET(s.false_suspicions), needed, "Suspicions of nodes that were up."),
    key("views", GET(s.views), "Views that the scheduler announced: who takes part, and who owns what."),
    key("takeovers", GET(s.takeovers), "Shards that got another owner."),
    key("snapshots", GET(s.snapshots), "Snapshots of shards that were written. In the line `copies`, too."),
    key("repeated_requests", GET(s.repeated),
        "Requests that were sent again because no answer came. In the line `failures`: requests sent again."),
    key("replication_bytes", GET(s.replication_bytes), needed,
        "Bytes of logs, sent to replicas and to the next owner of a shard that moves."),
    key("state_bytes", GET(s.state_bytes), needed, "Bytes of whole shards that were sent."),
    key("heartbeat_bytes", GET(s.heartbeat_bytes), "Bytes of heartbeats."),
    key("recoveries", recoveries, GET(&s.recoveries), list | needed,
        "One entry for each crash of a server that owned shards, with the time of each part of the "
        "recovery.\nWithout servers: for each crash of a worker."),
    key("rebalances", rebalances, GET(if_any(s.rebalances)), list | given,
        "One entry for each view that moves shards, if ranges or loads decide which shards move."),
};
inline constexpr Keys slow_workers{
    key("worker", GET(s.worker)),
    key("at_s", GET(s.found.at)),
    key("seconds_per_sample", GET(s.found.what.seconds_per_sample)),
    key("median", GET(s.found.what.median)),
    key("action", GET(name_of(s.found.what.action)), text),
};
inline constexpr Keys startup{key("workers_s", GET(s.workers), list), key("servers_s", GET(s.servers), list)};
inline constexpr Keys aggregation{
    key("pushes", GET(s.pushes)),   key("push_bytes", GET(s.push_bytes)),
    key("sums", GET(s.sums)),       key("sum_bytes", GET(s.sum_bytes)),
    key("answers", GET(s.answers)), key("answer_bytes", GET(s.answer_bytes)),
    key("copied", GET(s.copied)),   key("copied_bytes", GET(s.copied_bytes)),
};
inline constexpr Keys role_cost{
    key("on_s", GET(s.on_s)),
    key("busy_s", GET(s.busy_s)),
    key("joules", GET(s.joules)),
    key("dollars", GET(s.dollars)),
};
inline constexpr Keys network_cost{key("joules", GET(s.network_joules))};
inline constexpr Keys economy{
    part(cost, GET(*s.economy)),
    key("workers", role_cost, GET(s.economy->workers), object),
    key("servers", role_cost, GET(s.economy->servers), object),
    key("network", network_cost, GET(s.economy), object),
    key("to_target", cost, GET(s.target ? s.target->economy : std::nullopt), object | maybe),
};
inline constexpr Keys latency{
    key("mean", GET(s.mean()), maybe),
    key("p50", GET(s.percentile(0.5)), maybe, "Median: half of the requests were answered within this time."),
    key("p99", GET(s.percentile(0.99)), maybe, "99 % of the requests were answered within this time."),
};
inline constexpr Keys over_time{
    key("begin_s", GET(s.begin), "When a window of over_time begins, in simulated seconds."),
    key("end_s", GET(s.end), "When it ends."),
    key("requests", GET(s.requests)),
    key("answered", GET(s.answered)),
    key("latency_s", mean_and_max, GET(Spread{s.mean(s.latency_sum), s.latency_max}), object),
    key("staleness", mean_and_max, GET(Spread{s.mean(s.staleness_sum), s.staleness_max}), object),
    key("age_s", mean_and_max, GET(Spread{s.mean(s.age_sum), s.age_max}), object),
};
inline constexpr Keys inference{
    key("requests", GET(s.stats.requests), "Requests that reached the inference nodes."),
    key("answered", GET(s.latencies.size()), "Requests that were answered."),
    key("latency_s", latency, SAME, object, "Seconds from a request's arrival to its answer."),
    key("staleness", mean_and_max, GET(Spread{s.all.mean(s.all.staleness_sum), s.all.staleness_max}), object),
    key("age_s", mean_and_max, GET(Spread{s.all.mean(s.all.age_sum), s.all.age_max}), object,
        "Age of the weights of an answer: seconds from their sending by the servers until the answer was "
        "ready."),
    key("accuracy", GET(s.accuracy()), maybe),
    key("pulls", GET(s.stats.pulls), "Pulls of weights by the inference nodes."),
    key("bytes_pulled", GET(s.stats.bytes_pulled), "Bytes of the weights that they pulled."),
    key("over_time", over_time, GET(s.windows), list,
        "The same for each window of time (inference.window). A request counts in the window of its "
        "arrival."),
};
inline constexpr Keys tasks{
    key("name", GET(s.task.name), text),
    key("does", GET(name_of(s.task.kind)), text),
    key("times", GET(s.result.times)),
    key("mean_s", GET(s.result.mean())),
    key("by_worker", GET(if_any(s.result.by_worker)), list | maybe),
    key("value", GET(s.result.value), maybe),
};
inline constexpr Keys groups{
    key("name", GET(s.spec.name), text),
    key("namespace", GET(s.space)),
    key("consistency", GET(name_of(s.training.scenario.consistency.model)), text),
    key("first_worker", GET(s.stats.first_worker), "The number of the group's first worker."),
    key("workers", GET(s.stats.workers)),
    key("updates", GET(s.run.updates(s.space))),
    key("finished_s", GET(s.stats.finished),
        "The simulated second at which the group's last worker finished, or its training was ended."),
    key("samples_per_s", GET(s.samples_per_s()), maybe),
    key("messages", GET(s.stats.messages)),
    key("bytes_sent", GET(s.stats.bytes_sent)),
    key("pushes", group_pushes, GET(&s.stats), object),
    part(learned, GET(s.training)),
    key("staleness", mean_and_max, GET(Spread{s.stats.staleness_mean(), s.stats.staleness_max}), object),
    key("time", time, GET(s.time()), object),
    key("target", target, GET(s.training), object | needed),
    key("model", group_model, GET(&s.training.result), object),
    key("curve", point, GET(&s.training.result.curve), list),
};
inline constexpr Keys all{
    key("schema", GET(std::string_view("psim.summary/1")), text),
    key("scenario", GET(s.identity.name), text),
    key("title", GET(s.identity.title), text),
    key("seed", GET(s.identity.seed)),
    key("digest", GET(s.result.digest), text),
    key("scenario_hash", GET(s.identity.scenario_hash), text,
        "Hash of the scenario with every default. Runs of equal hash are equal."),
    key("psim", GET(s.program()), text, "The version of psim that made the document."),
    key("cpu_family", GET(s.processor()), text,
        "The kind of processor for which psim was compiled: x86-64, aarch64 or other."),
    key("libraries", GET(s.libraries()), map,
        "The versions of the libraries that affect dates and the bytes of messages."),
    key("build", GET(s.build()), text, "Identifies the program file. Equal builds give equal digests."),
    key("architecture", GET(name_of(s.scenario.architecture.kind)), text),
    key("consistency", GET(name_of(s.training.scenario.consistency.model)), text),
    key("acknowledgement", GET(s.acknowledgement()), text | maybe,
        "Whether servers acknowledge pushes: none; waits (workers wait for it); or repeats (workers repeat "
        "pushes\nthat are not acknowledged)."),
    key("sim_time_s", GET(s.result.sim_time), needed,
        "Simulated seconds until the last worker finished, or the run was ended. Under `target`: until the "
        "target was\nreached. In `curve`: the date of the evaluation."),
    key("updates", GET(s.stats.updates()), needed),
    key("steps", GET(s.stats.clocks()),
        "Finished clocks of all workers; a clock is one step, unless it has several local steps."),
    key("samples_per_s", GET(s.samples_per_s()), maybe,
        "Samples whose gradients are in the model (the sum of `samples_used`), divided by the simulated "
        "seconds of the\nrun; for a group, by the second at which it ended."),
    key("messages", GET(s.stats.messages)),
    key("messages_received", GET(s.stats.delivered),
        "Messages that arrived: sent messages minus lost messages."),
    key("messages_lost", GET(s.stats.lost),
        "Messages that did not arrive, including messages on their way at the end."),
    key("bytes_sent", GET(s.stats.bytes_sent), needed),
    key("bytes_received", GET(s.stats.bytes_received), "Bytes of the messages that arrived."),
    key("bytes_lost", GET(s.stats.bytes_lost), "Bytes of messages that did not arrive."),
    key("bytes_by_kind", GET(s.bytes_by_kind()), map,
        "Bytes sent by each kind of message; they sum to bytes_sent."),
    key("events", GET(s.stats.events), "Number of recorded events."),
    key("pushes", pushes, GET(&s.stats), object,
        "Outcomes of the pushes: arrived = applied + dropped. One gradient makes one push to each server."),
    part(learned, GET(s.training)),
    key("evaluate_every", GET(s.evaluate_every()), text | maybe,
        "When the weights were evaluated; null: about once an epoch."),
    key("staleness", staleness, GET(&s.stats), object | needed),
    key("clock_gap", clock_gap, GET(&s.stats), object,
        "The most clocks that a worker was ahead of the slowest one when it started a step."),
    key("time", time, GET(s.time()), object | needed),
    key("target", target, GET(s.training), object | needed),
    key("model", model, GET(&s.result), object),
    key("workers", workers, GET(s.workers()), list | needed),
    key("servers", servers, GET(s.servers()), list),
    key("memory", memory, GET(s.memory()), list,
        "The most that every kind of node holds: the worker, its device, the fullest server, or the stages "
        "of a pipeline."),
    key("stuck", GET(s.result.stuck), texts | needed),
    key("notes", notes, GET(s.notes()), list | needed),
    key("local_steps",
        GET(only_if(s.training.spec().local_steps > 1 && !s.training.spec().fits_steps(),
                    s.training.spec().local_steps)),
        given, "Local steps of a clock, if there are several."),
    key("local_time_s", GET(seconds(s.training.spec().local_time)), given,
        "Simulated seconds of the local steps of a clock: training.local_time."),
    key("shard_bounds", shard_bounds, GET(if_any(s.result.shard_bounds)), list | given,
        "If layers have separate bounds: the layer and the staleness bound of each shard."),
    key("failures", failures, GET(s.result.failures), object | given),
    key("slow_workers", slow_workers, GET(s.slow_workers()), list | given),
    key("startup", startup, GET(s.startup()), object | given),
    key("aggregation", aggregation, GET(s.result.sums), object | given),
    key("economy", economy, GET(s.result.economy ? &s.result : nullptr), object | given),
    key("inference", inference, GET(s.inference()), object | given),
    key("tasks", tasks, GET(only_if(!s.result.tasks.empty(), s.tasks())), list | given),
    key("groups", groups, GET(only_if(!s.result.spaces.empty(), s.groups())), list | given),
    key("curve", point, GET(&s.result.curve), list | needed,
        "Every evaluation, with its date, updates, epochs, bytes sent, loss and accuracy."),
};

#undef GET
#undef SAME

}  // namespace summary_schema

inline constexpr std::span<const SummaryKey> summary_keys = summary_schema::all.schema;

// Paths in summary.json, as constants that the compiler checks.

// Whether a summary may have this path, a JSON pointer. A number stands for an element of a list.
constexpr bool is_summary_path(std::string_view path) {
  std::span<const SummaryKey> keys = summary_keys;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    const auto key = std::ranges::find(keys, name, &SummaryKey::name);
    if (key == keys.end()) return false;
    if (key->holds == Holds::map || (key->holds == Holds::list && key->of.empty())) return true;
    keys = key->of;
    const bool is_element = path.size() > 1 && path[1] >= '0' && path[1] <= '9';
    if (key->holds == Holds::list && is_element) path.remove_prefix(std::min(path.find('/', 1), path.size()));
  }
  return path.empty();
}

// A path in a summary: "/target/given"_summary. An unknown path does not compile.
class SummaryPath {
 public:
  consteval SummaryPath(const char* text) : text_(text) {
    if (!is_summary_path(text)) throw "no path in summary.json";
  }
  operator std::string() const { return text_; }

 private:
  const char* text_;
};
consteval SummaryPath operator""_summary(const char* text, std::size_t) { return {text}; }

}  // namespace psim
