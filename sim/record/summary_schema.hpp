// The schema of summary.json: the place, type and meaning of every key. psim checks summaries that it reads
// against it, `psim explain` prints its meanings, and an unknown path (summary_schema.hpp) does not compile.
// Tests with every scenario check that the writer (summary.cpp) writes exactly these keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

inline constexpr SummaryKey evaluation[] = {
    {"loss", number, maybe},
    {"accuracy", number, maybe},
    {"auc", number, maybe, "Area under the ROC curve of a logistic model. In the line `quality`: AUC."},
    {"nonzero_weights", number, maybe, "Weights of a logistic model that are not zero."},
};
inline constexpr SummaryKey point[] = {
    {"sim_time_s", number, needed},
    {"updates", number},
    {"epoch", number, always, "Passes over the training set so far."},
    {"bytes_sent", number},
    {"loss", number, maybe},
    {"accuracy", number, maybe},
    {"auc", number, maybe},
    {"nonzero_weights", number, maybe},
    {"joules", number, maybe},
    {"dollars", number, maybe},
};
inline constexpr SummaryKey shares[] = {
    {"compute_share", number, always, "Share of the time, from 0 to 1, in which workers compute gradients."},
    {"wait_share", number, always, "Share of the time, from 0 to 1, in which workers wait for others."},
    {"network_share", number, always,
     "Share of the time, from 0 to 1, in which workers do not compute, and a message from or to them is on "
     "its way."},
    {"absent_share", number, always,
     "Share of the time, from 0 to 1, in which workers are down, have left, or have not joined."},
    {"total_s", number, always,
     "Seconds of all workers' time. For a recovery: from the crash until the shards have their versions "
     "again."},
};
inline constexpr SummaryKey counts[] = {
    {"histogram", list, always,
     "Pairs [staleness, pushes]: the number of applied pushes of this staleness in updates. For all workers, "
     "and\nfor each worker. `dropped` has the same for pushes that were dropped as too late or too stale."},
    {"dropped", list},
};
inline constexpr SummaryKey staleness[] = {
    {"mean", number}, {"max", number, needed, "The largest value."}, {"histogram", list}, {"dropped", list}};
inline constexpr SummaryKey mean_and_max[] = {{"mean", number, maybe}, {"max", number}};
inline constexpr SummaryKey clock_gap[] = {{"max", number}};
inline constexpr SummaryKey pushes[] = {
    {"arrived", number, always, "Pushes that reached a server."},
    {"applied", number, always, "Pushes that are in the weights."},
    {"dropped", number, always, "Pushes that servers threw away, for any reason."},
    {"unused_at_end", number, always,
     "Dropped pushes that were in time, but the run ended before they were applied."},
    {"duplicate", number, always, "Dropped pushes that had arrived before."},
    {"refused", number, always,
     "Dropped pushes for another owner, pushes that overtook an earlier push, or pushes of a worker that "
     "took "
     "no part;\nthe worker sends them again."},
    {"torn", number, always,
     "Gradients of which some shards applied their part, and others dropped theirs as too late or too "
     "stale."},
};
inline constexpr SummaryKey group_pushes[] = {{"applied", number}, {"dropped", number}};
inline constexpr SummaryKey evaluated_on[] = {{"curve", text}, {"target", text}, {"final", text}};
inline constexpr SummaryKey target[] = {
    {"given", truth, needed, "Whether the scenario has a target."},
    {"reached", truth, needed},
    {"accuracy", number, maybe},
    {"loss", number, maybe},
    {"hold", number, maybe, "How many evaluations in a row must reach the target (training.target.hold)."},
    {"sim_time_s", number, maybe},
    {"updates", number, maybe},
    {"last_miss_s", number, maybe,
     "The simulated second of the last evaluation before the one that reached the target.\nThe target was "
     "reached between the two."},
    {"budget_s", number, maybe},
};
inline constexpr SummaryKey model[] = {
    {"parameters", number},
    {"flops_per_sample", number, always, "Floating-point operations of the gradient of one sample."},
    {"weights", text, always, "Hash of the final weights."},
};
inline constexpr SummaryKey group_model[] = {{"parameters", number}, {"weights", text}};
inline constexpr SummaryKey workers[] = {
    {"worker", number},
    {"clocks", number},
    {"cancelled", number, always, "Computations of the worker that were stopped."},
    {"samples", number, always, "Samples whose gradients the worker has completed."},
    {"samples_used", number, always,
     "The part of `samples` whose gradients are in the model. A gradient that is computed again counts "
     "again."},
    {"batch_size", number},
    {"mean_step_s", number, always,
     "Mean seconds from the start of a step of the worker to the start of its next step."},
    {"compute_share", number, needed},
    {"wait_share", number, needed},
    {"network_share", number, needed},
    {"absent_share", number},
    {"staleness", object, always, {}, counts},
    {"time", object, always, {}, shares},
    {"keys_per_step", number, maybe, "Mean number of features that a step of a logistic model pulls."},
    {"host_bytes", number, always,
     "The most memory in the worker's host, over all parts, in bytes; see `memory`."},
    {"device_bytes", number, always,
     "The same in its fullest device. Without a bus the device is the worker itself."},
    {"bus_bytes", number, maybe,
     "Bytes that went over the link between the worker's host and its devices, in both directions."},
    {"peer_bytes", number, maybe, "Bytes that went directly from one of its devices to another."},
};
inline constexpr SummaryKey servers[] = {
    {"server", number},
    {"parameters", number},
    {"shards", number, always, "Shards that the server holds at the end."},
    {"parameters_at_first", number, always, "Parameters that the placement gave the server."},
    {"shards_at_first", number, always, "Shards that the placement gave the server."},
    {"ranges", number},
    {"range_splits", number, always, "Ranges of keys that got a separate vector clock during the run."},
    {"updates", number},
    {"pushes_applied", number, always, "Pushes that this server has applied."},
    {"bytes_sent", number},
    {"bytes_received", number},
};
inline constexpr SummaryKey memory[] = {
    {"node", text, always, "The kind of node: a worker, its device, a stage, a server."},
    {"bytes", number, always, "The most that the node holds at once: the sum of its parts."},
    {"limit_bytes", number, maybe, "How much memory the scenario gives the node; null: no limit."},
    {"parts", map, always, "The use of the memory, in bytes; docs/results.md has the formulas."},
};
inline constexpr SummaryKey notes[] = {
    {"name", text, needed},
    {"text", text, needed, "The text of the note, with the numbers of this run."},
};
inline constexpr SummaryKey shard_bounds[] = {
    {"shard", number},
    {"layer", number, always, "The layer that needs the shard first, from 0 at the input."},
    {"staleness", number, maybe},
};
inline constexpr SummaryKey recoveries[] = {
    {"server", number, maybe},
    {"worker", number, maybe},
    {"at_s", number, always, "The simulated second of the crash."},
    {"detection_s", number, maybe,
     "Seconds from the crash until the scheduler announced a view that knows of it."},
    {"takeover_s", number, maybe, "Seconds from there until the new owners began to fetch the shards."},
    {"transfer_s", number, maybe, "Seconds from there until they owned the shards."},
    {"catch_up_s", number, maybe,
     "Seconds from there until all shards had their versions at the crash again."},
    {"reforming_s", number, maybe,
     "Without servers: seconds from the detection until a group that knows of the crash began its first "
     "step."},
    {"lost_work_s", number, maybe,
     "Without servers: seconds from there until the step that the crash interrupted was done."},
    {"total_s", number, maybe},
};
inline constexpr SummaryKey loads[] = {
    {"server", number},
    {"load_before_per_s", number, always,
     "Values pushed to the server and pulled from it per second, since the last rebalancing."},
    {"load_after_per_s", number, always,
     "Values pushed to the server and pulled from it per second, until the next rebalancing or the end."},
};
inline constexpr SummaryKey rebalances[] = {
    {"at_s", number},       {"view", number, always, "The view's number."},
    {"shards", number},     {"cuts", number, always, "Shards that the view cuts."},
    {"parameters", number}, {"servers", list, always, {}, loads},
};
inline constexpr SummaryKey failures[] = {
    {"crashes", number, always, "Crashes of nodes. In the line `failures`, too."},
    {"suspicions", number, needed,
     "How often the scheduler took a node for crashed. In the line `failures`, too."},
    {"false_suspicions", number, needed, "Suspicions of nodes that were up."},
    {"views", number, always, "Views that the scheduler announced: who takes part, and who owns what."},
    {"takeovers", number, always, "Shards that got another owner."},
    {"snapshots", number, always, "Snapshots of shards that were written. In the line `copies`, too."},
    {"repeated_requests", number, always,
     "Requests that were sent again because no answer came. In the line `failures`: requests sent again."},
    {"replication_bytes", number, needed,
     "Bytes of logs, sent to replicas and to the next owner of a shard that moves."},
    {"state_bytes", number, needed, "Bytes of whole shards that were sent."},
    {"heartbeat_bytes", number, always, "Bytes of heartbeats."},
    {"recoveries", list, needed,
     "One entry for each crash of a server that owned shards, with the time of each part of the recovery.\n"
     "Without servers: for each crash of a worker.",
     recoveries},
    {"rebalances", list, given,
     "One entry for each view that moves shards, if ranges or loads decide which shards move.", rebalances},
};
inline constexpr SummaryKey slow_workers[] = {{"worker", number},
                                              {"at_s", number},
                                              {"seconds_per_sample", number},
                                              {"median", number},
                                              {"action", text}};
inline constexpr SummaryKey startup[] = {{"workers_s", list}, {"servers_s", list}};
inline constexpr SummaryKey aggregation[] = {
    {"pushes", number},  {"push_bytes", number},   {"sums", number},   {"sum_bytes", number},
    {"answers", number}, {"answer_bytes", number}, {"copied", number}, {"copied_bytes", number}};
inline constexpr SummaryKey role_cost[] = {
    {"on_s", number}, {"busy_s", number}, {"joules", number}, {"dollars", number}};
inline constexpr SummaryKey network_cost[] = {{"joules", number}};
inline constexpr SummaryKey cost[] = {{"joules", number, needed}, {"dollars", number, needed}};
inline constexpr SummaryKey economy[] = {
    {"joules", number, needed},
    {"dollars", number, needed},
    {"workers", object, always, {}, role_cost},
    {"servers", object, always, {}, role_cost},
    {"network", object, always, {}, network_cost},
    {"to_target", object, maybe, {}, cost},
};
inline constexpr SummaryKey latency[] = {
    {"mean", number, maybe},
    {"p50", number, maybe, "Median: half of the requests were answered within this time."},
    {"p99", number, maybe, "99 % of the requests were answered within this time."},
};
inline constexpr SummaryKey over_time[] = {
    {"begin_s", number, always, "When a window of over_time begins, in simulated seconds."},
    {"end_s", number, always, "When it ends."},
    {"requests", number},
    {"answered", number},
    {"latency_s", object, always, {}, mean_and_max},
    {"staleness", object, always, {}, mean_and_max},
    {"age_s", object, always, {}, mean_and_max},
};
inline constexpr SummaryKey inference[] = {
    {"requests", number, always, "Requests that reached the inference nodes."},
    {"answered", number, always, "Requests that were answered."},
    {"latency_s", object, always, "Seconds from a request's arrival to its answer.", latency},
    {"staleness", object, always, {}, mean_and_max},
    {"age_s", object, always,
     "Age of the weights of an answer: seconds from their sending by the servers until the answer was ready.",
     mean_and_max},
    {"accuracy", number, maybe},
    {"pulls", number, always, "Pulls of weights by the inference nodes."},
    {"bytes_pulled", number, always, "Bytes of the weights that they pulled."},
    {"over_time", list, always,
     "The same for each window of time (inference.window). A request counts in the window of its arrival.",
     over_time},
};
inline constexpr SummaryKey tasks[] = {{"name", text},
                                       {"does", text},
                                       {"times", number},
                                       {"mean_s", number},
                                       {"by_worker", list, maybe},
                                       {"value", number, maybe}};
inline constexpr SummaryKey groups[] = {
    {"name", text},
    {"namespace", number},
    {"consistency", text},
    {"first_worker", number, always, "The number of the group's first worker."},
    {"workers", number},
    {"updates", number},
    {"finished_s", number, always,
     "The simulated second at which the group's last worker finished, or its training was ended."},
    {"samples_per_s", number, maybe},
    {"messages", number},
    {"bytes_sent", number},
    {"pushes", object, always, {}, group_pushes},
    {"initial", object, always, {}, evaluation},
    {"final", object, always, {}, evaluation},
    {"final_validation", object, maybe, {}, evaluation},
    {"evaluated_on", object, maybe, {}, evaluated_on},
    {"staleness", object, always, {}, mean_and_max},
    {"time", object, always, {}, shares},
    {"target", object, needed, {}, target},
    {"model", object, always, {}, group_model},
    {"curve", list, always, {}, point},
};
inline constexpr SummaryKey all[] = {
    {"schema", text},
    {"scenario", text},
    {"title", text},
    {"seed", number},
    {"digest", text},
    {"scenario_hash", text, always, "Hash of the scenario with every default. Runs of equal hash are equal."},
    {"psim", text, always, "The version of psim that made the document."},
    {"cpu_family", text, always,
     "The kind of processor for which psim was compiled: x86-64, aarch64 or other."},
    {"libraries", map, always, "The versions of the libraries that affect dates and the bytes of messages."},
    {"build", text, always, "Identifies the program file. Equal builds give equal digests."},
    {"architecture", text},
    {"consistency", text},
    {"acknowledgement", text, maybe,
     "Whether servers acknowledge pushes: none; waits (workers wait for it); or repeats (workers repeat "
     "pushes\nthat are not acknowledged)."},
    {"sim_time_s", number, needed,
     "Simulated seconds until the last worker finished, or the run was ended. Under `target`: until the "
     "target was\nreached. In `curve`: the date of the evaluation."},
    {"updates", number, needed},
    {"steps", number, always,
     "Finished clocks of all workers; a clock is one step, unless it has several local steps."},
    {"local_steps", number, given, "Local steps of a clock, if there are several."},
    {"local_time_s", number, given, "Simulated seconds of the local steps of a clock: training.local_time."},
    {"samples_per_s", number, maybe,
     "Samples whose gradients are in the model (the sum of `samples_used`), divided by the simulated seconds "
     "of the\nrun; for a group, by the second at which it ended."},
    {"messages", number},
    {"messages_received", number, always, "Messages that arrived: sent messages minus lost messages."},
    {"messages_lost", number, always,
     "Messages that did not arrive, including messages on their way at the end."},
    {"bytes_sent", number, needed},
    {"bytes_received", number, always, "Bytes of the messages that arrived."},
    {"bytes_lost", number, always, "Bytes of messages that did not arrive."},
    {"bytes_by_kind", map, always, "Bytes sent by each kind of message; they sum to bytes_sent."},
    {"events", number, always, "Number of recorded events."},
    {"pushes", object, always,
     "Outcomes of the pushes: arrived = applied + dropped. One gradient makes one push to each server.",
     pushes},
    {"initial", object, always, "Loss and accuracy of the initial weights.", evaluation},
    {"final", object, needed, {}, evaluation},
    {"final_validation", object, maybe,
     "Loss and accuracy of the final weights over the validation set; null without a validation set.",
     evaluation},
    {"evaluated_on", object, maybe,
     "The samples that the curve, the target and the final weights are evaluated on: validation, test or "
     "training.",
     evaluated_on},
    {"evaluate_every", text, maybe, "When the weights were evaluated; null: about once an epoch."},
    {"staleness", object, needed, {}, staleness},
    {"clock_gap", object, always,
     "The most clocks that a worker was ahead of the slowest one when it started a step.", clock_gap},
    {"time", object, needed, {}, shares},
    {"target", object, needed, {}, target},
    {"model", object, always, {}, model},
    {"workers", list, needed, {}, workers},
    {"servers", list, always, {}, servers},
    {"memory", list, always,
     "The most that every kind of node holds: the worker, its device, the fullest server, or the stages of a "
     "pipeline.",
     memory},
    {"stuck", texts, needed},
    {"notes", list, needed, {}, notes},
    {"shard_bounds", list, given,
     "If layers have separate bounds: the layer and the staleness bound of each shard.", shard_bounds},
    {"failures", object, given, {}, failures},
    {"slow_workers", list, given, {}, slow_workers},
    {"startup", object, given, {}, startup},
    {"aggregation", object, given, {}, aggregation},
    {"economy", object, given, {}, economy},
    {"inference", object, given, {}, inference},
    {"tasks", list, given, {}, tasks},
    {"groups", list, given, {}, groups},
    {"curve", list, needed,
     "Every evaluation, with its date, updates, epochs, bytes sent, loss and accuracy.", point},
};

}  // namespace summary_schema

inline constexpr std::span<const SummaryKey> summary_keys = summary_schema::all;

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
