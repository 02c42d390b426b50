// Every column and line that psim's tables, summaries and reports show to people, with what it holds.
// Printers take their headings from here, so `psim explain` knows all of them: another name does not compile.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace psim::analysis {

struct ColumnDoc {
  std::string_view name;
  std::string_view unit;  // as the heading of a column shows it; empty where cells carry their own, or none
  std::string_view doc;
  std::string_view where =
      "";  // of a name that two tables use: which of them; empty: wherever psim prints it
};

inline constexpr ColumnDoc column_docs[] = {
    // psim compare
    {"scenario", "", "The scenario as it is: it has no axis to compare along."},
    {"arm", "",
     "What is compared: a value of the axis that gives the arms. Further axes have columns beside it."},
    {"time", "[s]",
     "Simulated seconds from a run's beginning to its end, for runs without a target: the mean over seeds, "
     "and\n"
     "its 95 % interval."},
    {"time to target", "[s]",
     "Simulated seconds until an evaluation first shows the target, on the validation set if there is one, "
     "or\n"
     "else on the test set: the mean over seeds, and in brackets its 95 % interval. `>=` where a seed missed "
     "it: that one counts with the arm's budget, so the mean is at least "
     "this."},
    {"versus baseline", "",
     "The ratio of times, arm and baseline, seed by seed: its geometric mean over the seeds that both have, "
     "the\n"
     "mean's 95 % interval in brackets, and under how many of the seeds the arm is the faster one. Where "
     "the\n"
     "target was missed: who reached it, if that differs by more than chance; or else times up to the budget "
     "of\n"
     "the two arms, with `>=` or `<=` where the whole times would lie further apart or nearer. `~`: too few "
     "seeds\n"
     "for the interval to be trusted; `?`: no difference is left once the number of tests is corrected for."},
    {"reached", "", "How many of the row's runs reached the target, and how many there are."},
    {"median", "[s]",
     "Median of the time to target; `>` and the budget where fewer than half of the runs reached the "
     "target."},
    {"p", "",
     "The p value of the difference to the baseline, corrected for the number of tests (Holm): the "
     "sign-flip\n"
     "test's, or McNemar's where who reached the target decides. `-`: not part of the family."},
    {"compute wait network", "[%]",
     "Percentages of the workers' time, as 50/25/25: computing, waiting for others, and messages on their "
     "way. --wide "
     "shows\n"
     "each by itself, with its deviation."},
    {"score", "",
     "How near the arm is to the best one under all conditions: the area under its performance profile up to "
     "4\n"
     "times the best time. 1: the best everywhere; 0: nowhere within 4 times. `within 2x`: under how many\n"
     "conditions its median time is at most twice the best one's."},
    {"updates", "",
     "The version of the weights that every server (without servers: every worker) has reached. An update\n"
     "that a crash undid, and that was made again, counts once."},
    {"samples", "[1/s]",
     "Samples a second, the throughput of all workers together: samples whose gradients the model has taken "
     "in,\n"
     "divided by the simulated seconds of the whole run. Gradients that servers drop as too late do not "
     "count; work\n"
     "that a crash undid, and that was done again, counts twice. Arms with larger batches or more workers "
     "may have\n"
     "more throughput and still learn more slowly."},
    {"per update", "[ms]", "Simulated milliseconds of the whole run, divided by its updates."},
    {"bracket", "[s]",
     "Simulated seconds between the evaluation that first showed the target and the one before it, which did "
     "not:\n"
     "the time to the target is too long by at most this (training.evaluate_every)."},
    {"final loss", "",
     "The loss with the last weights, over the test set (the validation set if there is none, or else the\n"
     "training set); without unit."},
    {"accuracy", "[%]",
     "Percentage of the test set (the validation set if there is none, or else the training set) that the "
     "last\nweights classify right."},
    {"staleness", "(max)",
     "How old pushes are when they are applied, in updates: the mean, and in brackets or after `max` the "
     "most."},
    {"compute", "[%]", "Percentage of the workers' time in which a gradient is being computed."},
    {"wait", "[%]", "Percentage of the workers' time in which they wait for others."},
    {"network", "[%]",
     "Percentage of the workers' time in which they do not compute, and a message from or to them is on its "
     "way."},
    {"absent", "[%]",
     "Percentage of the workers' time in which they are down, have left, or have not joined. Not shown "
     "where\n"
     "it is 0 for all."},
    {"energy", "[J]",
     "Joules of workers, servers and network to the target, or of the whole run where there is none; `>=` "
     "where\n"
     "some runs missed it: they count with what they spent in vain."},
    {"cost", "[$]",
     "Dollars for the hours of all nodes, reckoned as the energy. In `psim run` a line with both."},
    {"sent", "[MB]", "Bytes of all messages that were sent; in columns of megabytes, 10^6 bytes."},
    {"memory", "[MB]",
     "Megabytes (10^6 bytes) that the fullest worker, device or stage holds at most (`memory` in "
     "summary.json)."},
    {"answer", "[ms]",
     "Mean time from the arrival of an inference request to its answer, in simulated milliseconds."},
    {"served staleness", "",
     "By how many updates the weights that answered inference requests were behind the servers, on average."},
    {"served accuracy", "[%]", "Percentage of inference requests that were answered right."},
    {"copied", "[MB]",
     "Megabytes (10^6 bytes) of logs and whole shards that servers sent to replicas and to next owners."},
    {"suspected", "(falsely)",
     "Suspicions of the scheduler per run; in brackets the false ones, of nodes that were up."},
    {"recovery", "[s]",
     "Seconds from a server's crash until its shards are as far as before. In `psim compare` the mean; in\n"
     "`psim run` its parts for each crash: until the crash is noticed (detection), the new owners begin to "
     "fetch\n"
     "the shards (takeover), they have them (transfer), and all is as far as before (catch-up). `-`: not "
     "reached.\nWithout servers from a worker's crash until the step is done that was in hand: until it is "
     "noticed,\nthe next group begins (re-forming), and has done what was lost (lost work)."},
    // psim run: lines
    {"simulated", "",
     "Simulated seconds of the run, with its updates, and the steps of all workers together."},
    {"quality", "",
     "Loss and accuracy with the first and with the last weights, over the validation set if there is one, "
     "or\n"
     "else over the test set."},
    {"test", "",
     "Loss and accuracy with the last weights over the test set, where `quality` is over the validation "
     "set."},
    {"target", "", "The goal that the scenario gives, and after how many simulated seconds it was reached."},
    {"workers", "",
     "Where the workers' time went, in percent of all workers' time together. In the table of groups: how "
     "many\n"
     "workers the group has."},
    {"traffic", "", "Messages and bytes that all nodes sent, in all and divided by the updates."},
    {"ranges", "",
     "Ranges of keys that have a vector clock of their own, and how many were split off in the run."},
    {"late", "",
     "Pushes that came too late for their update, and how many pushes arrived at servers in all."},
    {"failures", "",
     "Crashes; suspicions of the scheduler, false ones (the node was up) in brackets; requests that were "
     "sent\n"
     "again because no answer came."},
    {"sums", "",
     "Bytes of pushes and answers between workers and their racks' aggregators, and of the sums and single\n"
     "answers between these and the servers (psim explain aggregate)."},
    {"slow", "",
     "Workers that the scheduler found slow, when, and their mean time per sample beside the median of the\n"
     "others (psim explain recovery.slow)."},
    {"start-up", "", "When the last worker and the last server were up (psim explain startup)."},
    {"copies", "",
     "Bytes of logs (single updates, sent to a shard's replicas and, while it moves, to its next owner);\n"
     "bytes of whole shards (sent to a new replica or owner, or as a snapshot to the storage node); and the\n"
     "number of snapshots written."},
    {"moved", "",
     "Shards that the scheduler sent to other servers because one came or went, and how many were cut; only\n"
     "where ranges or loads decide."},
    {"load", "",
     "Values pushed to each server and pulled from it in a second, before and after shards moved."},
    {"inference", "",
     "Requests that came and were answered, with the time from arrival to answer in milliseconds."},
    {"served", "",
     "Age of the weights that answered requests, in seconds and in updates; the share of right answers;\n"
     "bytes that the inference nodes pulled."},
    {"note", "", "What had no effect in this run, or went wrong without an error (psim explain notes)."},
    {"digest", "", "One number for everything that happened."},
    // psim run: the table of workers
    {"worker", "", "The worker's number, from 0."},
    {"clocks", "", "Clocks (steps between two pushes) that the worker has finished."},
    {"step", "[ms]",
     "Mean time from the start of one of the worker's steps to the start of its next, in simulated "
     "milliseconds."},
    {"cancelled", "",
     "Computations of the worker that were stopped, because their push would have come too late for its\n"
     "update. Not shown where it is 0 for all."},
    // psim run: the table of groups
    {"group", "", "The name of a group of workers ([[group]])."},
    {"namespace", "", "The number of the model, from 0, that the group trains."},
    {"ended", "[s]",
     "Simulated second at which the group's last worker finished, or its training was ended."},
    {"final", "", "Loss and accuracy with the last weights of the group's model, over the test set."},
    // psim verify
    {"check", "", "What was checked; docs/verify.md says what must hold."},
    {"verdict", "", "holds; VIOLATED; or `-` where the run has nothing for the check to examine."},
    {"examined", "", "How many things (events, pushes, reads, ...) the check examined."},
    {"what it means", "", "The promise that the run must keep."},
    // psim why
    {"on the critical path", "", "The node at which the critical path is (psim explain critical_path)."},
    {"what", "",
     "What the critical path's time is at that node: compute, network, service, timeout, down or idle."},
    {"time", "", "Simulated time, added up over all pieces of the critical path, or over all waits.",
     "psim why"},
    {"share", "", "That time divided by the time of the whole critical path."},
    {"difference", "", "The second run's time less the first run's: `-` where the second one needs less."},
    {"who waited", "", "The worker that waited."},
    {"for", "", "The node that the worker waited for: the one whose event ended the wait."},
    {"mostly", "",
     "What the awaited node did for most of that time: compute, network, service, timeout, down or idle."},
    {"times", "", "How many waits there were."},
    {"from", "", "When the first of these waits began.", "psim why"},
    {"to", "", "When the last of these waits ended.", "psim why"},
    {"link", "", "A link, in one direction where it has two."},
    {"full", "", "Simulated time in which the link carried all that it can."},
    {"busy", "", "Simulated time in which a message was on the link."},
    {"use", "",
     "Bytes that the link carried, divided by those that it could have carried in the whole time."},
    {"bytes", "", "Bytes of all messages that crossed the link.", "psim why"},
    {"mostly of", "", "The senders of most of the link's bytes; `many`: no three of them have most."},
    {"node", "",
     "A machine of the run: a worker, a server, the scheduler, the storage or an inference node."},
    {"computations, updates", "", "What the slack is of: a worker's computations, or a server's updates."},
    {"on the path", "", "How many of them are on the critical path."},
    {"slack", "(median)",
     "By how much a computation or an update could have ended later without the run's end moving: the "
     "median."},
    // psim why --gradients
    {"staleness", "[updates]", "How many updates the gradients are older than the weights that they change.",
     "psim why --gradients"},
    {"gradients", "", "How many gradients have that staleness.", "psim why --gradients"},
    {"cosine", "",
     "Cosine of the angle between a stale gradient and the one that the same samples have at the newest "
     "weights:\nthe mean. 1: the same direction."},
    {"least", "", "The smallest cosine of them all."},
    {"length", "", "Length of the stale gradient divided by the fresh one's: the mean."},
    // psim what-if
    {"change", "", "What is changed; `as it was`: the run itself."},
    {"predicted", "",
     "When the run would end with the change, out of the causes of every event; `-`: it cannot be said."},
    {"same steps", "",
     "When the run that was made again with the change had computed as many steps as the original; `~`: it "
     "ended\nearlier, and would get there at its pace."},
    {"error", "", "How far the prediction is off the time of the same steps; `exact`: by rounding alone."},
    {"re-run", "", "When the run that was made again with the change ended, or reached its target."},
    {"faster by", "",
     "The original time divided by that of the same steps (of the prediction without a re-run)."},
    {"loss", "", "Loss with the last weights, over the test set if there is one."},
    {"accuracy", "", "Share of that set that the last weights classify right.", "psim what-if"},
    {"target", "", "Whether the run reached its target; `stuck`: it went on no more.", "psim what-if"},
    {"of this slowdown", "", "The worker whose part in the slowdown by uneven computing is told."},
    {"gone without it", "",
     "The share of the slowdown that would be gone if only this worker computed like the median one."},
    {"there with it alone", "",
     "The share of the slowdown that would be left if all other workers computed like the median one."},
    // psim timeline --messages
    {"sent", "[ms]", "Simulated milliseconds at which the message was sent.", "psim timeline --messages"},
    {"arrives", "[ms]", "Simulated milliseconds at which the message arrived; `lost`: it never did."},
    {"from", "", "The message's sender.", "psim timeline --messages"},
    {"to", "", "The message's receiver.", "psim timeline --messages"},
    {"what", "", "The kind of message.", "psim timeline --messages"},
    {"clock", "", "The worker's clock that the message belongs to.", "psim timeline --messages"},
    {"bytes", "", "Bytes of the message.", "psim timeline --messages"},
    // psim runs, psim studies
    {"run", "", "The first digits of the run's number, which follows from its scenario and seed."},
    {"arm or consistency", "", "The run's arm in its study; of a run by itself its consistency model."},
    {"seed", "", "The seed of the run: all its random draws follow from it."},
    {"time", "[s]", "Simulated seconds from the run's beginning to its end.", "psim runs"},
    {"to target", "[s]", "Simulated seconds until the run reached its target; `missed`: it did not."},
    {"where", "", "The folder of the run or of its study."},
    {"study", "", "The study's name: its folder under studies/."},
    {"title", "", "The question that the scenario gives as its title."},
    {"arms", "", "How many arms the study compares."},
    {"conditions", "", "How many conditions: combinations of values of the further axes."},
    {"seeds", "", "How many seeds each arm runs with."},
    {"runs", "", "How many of the study's runs are made, and how many there are."},
    {"state", "",
     "complete; begun: runs are missing, and the same command goes on; damaged: it cannot be read."},
    {"psim", "", "The version of psim that made it."},
    {"begun", "(UTC)", "When the study's folder was made, in universal time."},
    {"size", "", "What the folder's files take on the disk."},
    // psim compare: the profile
    {"best", "", "Under how many conditions the arm's median time is the best one."},
    {"within 1.5x", "",
     "Under how many conditions the arm's median time is at most 1.5 times the best one's."},
    {"within 2x", "", "Under how many conditions the arm's median time is at most twice the best one's."},
    {"within 4x", "",
     "Under how many conditions the arm's median time is at most four times the best one's."},
    // reports
    {"sent", "", "Megabytes (10^6 bytes) of all messages of that kind.", "a report"},
    {"kind of message", "", "What the message does: push, weights, heartbeat, ... (psim explain NAME)."},
    {"crash at", "", "The simulated second of the crash."},
    {"detection", "", "Time from the crash until the scheduler announced a view that knows of it."},
    {"takeover", "", "Time from there until the new owners began to fetch the shards."},
    {"transfer", "", "Time from there until the new owners had the shards."},
    {"catch-up", "", "Time from there until all shards were as far as before the crash."},
    {"re-forming", "",
     "Without servers: time from the detection until a group that knows of the crash began its first step."},
    {"lost work", "",
     "Without servers: time from there until the step was done that was in hand at the crash."},
    {"in all", "", "Time from the crash until all is as far as before."},
    {"server", "", "The server's number, from 0."},
    {"to target", "[s]", "Simulated seconds until the run reached its target; `-`: it did not.", "a report"},
    {"length", "[s]", "Simulated seconds from the run's beginning to its end.", "a report"},
    {"the run", "", "A link to the run's own report, or the command that makes the run."},
    {"waited", "[s] \\ for", "Seconds that the worker of the row was held up by the node of the column."},
    // psim grade
    {"student", "", "The ID that the hand-in names."},
    {"lab", "", "The number of the lab."},
    {"points", "", "Points that the hand-in gets, and how many there are."},
    {"what is wrong with the file", "",
     "Why the file is not what this student's psim wrote, or has been handed in by somebody else."},
};

// The place of `name` in column_docs, of those called so the one of that table; behind the end if there is
// none.
constexpr std::size_t place_of_column(std::string_view name, std::string_view where = "") {
  std::size_t place = 0;
  while (place < std::size(column_docs) &&
         (column_docs[place].name != name || column_docs[place].where != where))
    ++place;
  return place;
}

// "compute [%]"
inline std::string heading_of(const ColumnDoc& column) {
  return std::string(column.name) + (column.unit.empty() ? "" : " ") + std::string(column.unit);
}

// The name of one of them; of no other text.
class ColumnName {
 public:
  consteval ColumnName(const char* name, const char* where = "") : place_(place_of_column(name, where)) {
    if (place_ == std::size(column_docs)) throw "not in column_docs";
  }
  constexpr std::string_view name() const { return column_docs[place_].name; }
  constexpr std::string_view doc() const { return column_docs[place_].doc; }
  std::string heading() const { return heading_of(column_docs[place_]); }

 private:
  std::size_t place_;
};

}  // namespace psim::analysis
