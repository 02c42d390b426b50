// The keys of summary.json, once: their places, what they hold, and what they mean. psim checks summaries of
// others by it, `psim explain` reads its meanings, and a path (summary_path.hpp) that it does not have does
// not compile. That the writer (summary.cpp) writes these keys and no others is tested with every scenario.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace psim {

enum class Holds : std::uint8_t { truth, number, text, object, list, texts, map };

enum class There : std::uint8_t {
  needed,  // always, and psim reads nothing of a summary without it
  always,  // in every summary of this version
  maybe,   // or null, or missing
  given    // or missing, and never null
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
    {"auc", number, maybe, "Area under the ROC curve, of a logistic model. In the line `quality`: AUC."},
    {"nonzero_weights", number, maybe, "Weights of a logistic model that are not zero."},
};
inline constexpr SummaryKey point[] = {
    {"sim_time_s", number, needed},
    {"updates", number},
    {"epoch", number, always, "How often the training set had been gone through."},
    {"bytes_sent", number},
    {"loss", number, maybe},
    {"accuracy", number, maybe},
    {"auc", number, maybe},
    {"nonzero_weights", number, maybe},
    {"joules", number, maybe},
    {"dollars", number, maybe},
};
inline constexpr SummaryKey shares[] = {
    {"compute_share", number, always,
     "Share of the time, from 0 to 1, in which a gradient is being computed."},
    {"wait_share", number, always, "Share of the time, from 0 to 1, in which workers wait for others."},
    {"network_share", number, always,
     "Share of the time, from 0 to 1, in which workers do not compute, and a message from or to them is on "
     "its way."},
    {"absent_share", number, always,
     "Share of the time, from 0 to 1, in which workers are down, have left, or have not joined."},
    {"total_s", number, always,
     "Seconds of the workers' time together. Of a recovery: from the crash until all is as far as before."},
};
inline constexpr SummaryKey counts[] = {
    {"histogram", list, always,
     "Pairs [staleness, pushes]: how many applied pushes were that many updates stale. Of all, and of each\n"
     "worker. `dropped` has the same of those that were dropped as too late or too stale."},
    {"dropped", list},
};
inline constexpr SummaryKey staleness[] = {
    {"mean", number}, {"max", number, needed, "The largest value."}, {"histogram", list}, {"dropped", list}};
inline constexpr SummaryKey mean_and_max[] = {{"mean", number, maybe}, {"max", number}};
inline constexpr SummaryKey clock_gap[] = {{"max", number}};
inline constexpr SummaryKey pushes[] = {
    {"arrived", number, always, "Pushes that came to a server."},
    {"applied", number, always, "Pushes that are in the weights."},
    {"dropped", number, always, "Pushes that were thrown away, for whatever reason."},
    {"unused_at_end", number, always,
     "Of the dropped: those that were not too late, but the run ended before they were applied."},
    {"duplicate", number, always, "Of the dropped: those that had been there before."},
    {"refused", number, always,
     "Of the dropped: those for another owner, before the push before it, or of a worker that took no part;\n"
     "they are sent again."},
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
     "The simulated second of the evaluation before the one that reached the target: the truth lies between "
     "the two."},
    {"budget_s", number, maybe},
};
inline constexpr SummaryKey model[] = {
    {"parameters", number},
    {"flops_per_sample", number, always, "Floating-point operations of the gradient of one sample."},
    {"weights", text, always, "Hash of the last weights."},
};
inline constexpr SummaryKey group_model[] = {{"parameters", number}, {"weights", text}};
inline constexpr SummaryKey workers[] = {
    {"worker", number},
    {"clocks", number},
    {"cancelled", number, always, "Computations of the worker that were stopped."},
    {"samples", number, always, "Samples whose gradients the worker has computed to their end."},
    {"samples_used", number, always,
     "Samples of those whose gradients the model has taken in; a gradient that is computed again counts "
     "again."},
    {"batch_size", number},
    {"mean_step_s", number, always,
     "Mean seconds from the start of one of the worker's steps to the start of its next."},
    {"compute_share", number, needed},
    {"wait_share", number, needed},
    {"network_share", number, needed},
    {"absent_share", number},
    {"staleness", object, always, {}, counts},
    {"time", object, always, {}, shares},
    {"keys_per_step", number, maybe,
     "Features that a step of a logistic model pulls, in the mean over steps."},
    {"host_bytes", number, always,
     "The most memory that all parts take in the worker's host, in bytes; see `memory`."},
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
    {"shards_at_first", number, always, "Shards that the placement gave it."},
    {"ranges", number},
    {"range_splits", number, always,
     "Ranges of keys that were split off in the run, to have a vector clock of their own."},
    {"updates", number},
    {"pushes_applied", number, always, "Pushes that this server has applied."},
    {"bytes_sent", number},
    {"bytes_received", number},
};
inline constexpr SummaryKey memory[] = {
    {"node", text, always, "Which kind of node holds this: a worker, its device, a stage, a server."},
    {"bytes", number, always, "The most that the node holds at once: the sum of its parts."},
    {"limit_bytes", number, maybe, "How much memory the scenario gives the node; null: no limit."},
    {"parts", map, always, "What the memory is for, in bytes; docs/results.md has the formulas."},
};
inline constexpr SummaryKey notes[] = {
    {"name", text, needed},
    {"text", text, needed, "What a note says, with the numbers of this run."},
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
    {"catch_up_s", number, maybe, "Seconds from there until all shards were as far as before."},
    {"reforming_s", number, maybe,
     "Without servers: seconds from the detection until a group that knows of the crash began its first "
     "step."},
    {"lost_work_s", number, maybe,
     "Without servers: seconds from there until the step was done that was in hand at the crash."},
    {"total_s", number, maybe},
};
inline constexpr SummaryKey loads[] = {
    {"server", number},
    {"load_before_per_s", number, always,
     "Values pushed to the server and pulled from it in a second, since the last such view."},
    {"load_after_per_s", number, always,
     "Values pushed to the server and pulled from it in a second, until the next such view or the end."},
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
     "One for each crash of a server that owned shards, or without servers of a worker, with how long each "
     "part of the recovery took.",
     recoveries},
    {"rebalances", list, given,
     "One for each view that sends shards to other servers, where ranges or loads decide which ones move.",
     rebalances},
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
    {"requests", number, always, "Requests that came to the inference nodes."},
    {"answered", number, always, "Requests that were answered."},
    {"latency_s", object, always, "Seconds from a request's arrival to its answer.", latency},
    {"staleness", object, always, {}, mean_and_max},
    {"age_s", object, always,
     "Seconds since the servers sent the weights that answered, when the answer was ready.", mean_and_max},
    {"accuracy", number, maybe},
    {"pulls", number, always, "Pulls of weights by the inference nodes."},
    {"bytes_pulled", number, always, "Bytes of the weights that they pulled."},
    {"over_time", list, always,
     "The same by windows of time (inference.window): requests that came in one, whenever they were "
     "answered.",
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
     "The simulated second at which the group's last worker was through, or its training was ended."},
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
    {"scenario_hash", text, always, "Hash of the scenario with every default; runs of equal hash are equal."},
    {"psim", text, always, "The version of psim that made the document."},
    {"instruction_set", text, always,
     "What the program was compiled for. Another one rounds differently, so digests differ."},
    {"libraries", map, always, "The versions of the libraries that decide dates and digits."},
    {"build", text, always,
     "A number of the program, its libraries and its instruction set: equal builds give equal digests."},
    {"architecture", text},
    {"consistency", text},
    {"acknowledgement", text, maybe,
     "Whether servers acknowledge pushes: none; waits (workers wait for it); or repeats (what is not "
     "acknowledged\nis sent again)."},
    {"sim_time_s", number, needed,
     "Simulated seconds until the last worker was through, or the run was ended. Under `target`: until it "
     "was reached.\nIn `curve`: of the evaluation."},
    {"updates", number, needed},
    {"steps", number},
    {"samples_per_s", number, maybe,
     "Samples whose gradients the model has taken in (the sum of `samples_used`), divided by the simulated "
     "seconds of\nthe run; of a group, by the second at which it ended."},
    {"messages", number},
    {"messages_received", number, always, "Messages that arrived: those sent, less those lost."},
    {"messages_lost", number, always, "Messages that did not arrive, also those on their way at the end."},
    {"bytes_sent", number, needed},
    {"bytes_received", number, always, "Bytes of the messages that arrived."},
    {"bytes_lost", number, always, "Bytes of messages that did not arrive."},
    {"bytes_by_kind", map, always, "Bytes sent by each kind of message; they sum to bytes_sent."},
    {"events", number, always, "How many events were recorded."},
    {"pushes", object, always,
     "What became of the pushes: arrived = applied + dropped. One gradient makes a push to each server.",
     pushes},
    {"initial", object, always, "Loss and accuracy of the first weights.", evaluation},
    {"final", object, needed, {}, evaluation},
    {"final_validation", object, maybe,
     "Loss and accuracy of the last weights over the validation set; null without one.", evaluation},
    {"evaluated_on", object, maybe,
     "Over which samples the curve, the target and the last weights are evaluated: validation, test or "
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
     "What every kind of node holds at most: the worker, its device, the fullest server, or the stages of a "
     "pipeline.",
     memory},
    {"stuck", texts, needed},
    {"notes", list, needed, {}, notes},
    {"shard_bounds", list, given,
     "Where layers have bounds of their own: of each shard its layer and its bound of staleness.",
     shard_bounds},
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

}  // namespace psim
