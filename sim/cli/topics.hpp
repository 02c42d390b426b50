// What `psim explain` tells beside models and fields: measures, and the kinds of error.
#pragma once

#include <array>
#include <string_view>

namespace psim::cli {

struct Topic {
  std::string_view name, title, text;
  std::string_view aliases = {};  // separated by spaces
};

inline constexpr std::array<Topic, 29> topics{{
    {"staleness", "how old a gradient is when it is applied",
     "The version of the weights when a server applies a push, minus the version on which the push was\n"
     "computed; in updates. Under bsp it is 0. Under asp on an ideal network its mean is workers - 1,\n"
     "whatever the speeds."},
    {"clock_gap", "how far workers drift apart",
     "The largest number of clocks by which a worker was ahead of the slowest one when it started a\n"
     "step. ssp limits it to s."},
    {"shares", "where a worker's time went",
     "compute: the worker computes a gradient. network: it does not compute, and a message from or to it\n"
     "is on its way. wait: neither, so it waits for others. absent: it is down, has left, or has not\n"
     "joined yet. The four are shares of all workers' time together, and sum to 1. A worker's time ends\n"
     "with its last clock, or with the run.",
     "wait"},
    {"relative", "a row's time compared with the first row's",
     "In the table of `psim compare`: the time of a run divided by that of the first row's run with the\n"
     "same seed, averaged over the seeds. Runs with the same seed meet the same data, draws and\n"
     "stragglers, so the ratio has less noise than the times. Below 1 is faster than the first row. `-`\n"
     "where a seed has no time, because it missed its target."},
    {"compare", "many runs side by side",
     "`psim compare FILE` runs every combination of the axes in [compare], with every seed of `seeds`,\n"
     "and prints a table. In a scenario:\n"
     "  [compare]\n"
     "  consistency = [\"bsp\", \"ssp 3\", \"asp\"]\n"
     "  \"cluster.workers\" = [4, 8]\n"
     "  seeds = [1, 2, 3]\n"
     "On the command line a list also makes an axis: --set 'cluster.workers=[4, 8]', --seeds 1,2,3. A\n"
     "single value fixes an axis: --set cluster.workers=8. `psim check FILE` checks every combination\n"
     "without running it."},
    {"notes", "what a run says about itself",
     "After a run psim notes which requested fields had no effect, and what went wrong without an error.\n"
     "  diverged          the final loss is above its first value, or NaN\n"
     "  little-computing  every worker computes for less than 5 % of its time, so stragglers show next to "
     "nothing\n"
     "  late-straggler    a straggler begins after the run's end\n"
     "  idle-straggler    a straggler's slowdown is 1, or its probability 0\n"
     "  idle-fault        a fault never happened, or changed nothing\n"
     "  idle-filter       a filter never made a message smaller\n"
     "  unseen-target     no evaluation checked the target between the first and the last weights\n"
     "  early-target      the initial weights already reach the target\n"
     "  idle-bound        the bound on staleness held no worker back\n"
     "  idle-correction   no push was late enough for delay_compensation or staleness_aware\n"
     "  silent-inference  no request was answered\n"
     "--json lists them as `notes`.",
     "diverged little-computing late-straggler idle-straggler idle-fault idle-filter unseen-target "
     "early-target idle-bound idle-correction silent-inference"},
    {"filter", "what makes messages smaller before they are sent",
     "Each [[filter]] of a scenario selects values, encodes them in fewer bits, caches keys or\n"
     "compresses bytes, so that fewer bytes travel. `psim list` shows the filters; `psim explain NAME`\n"
     "says what each sends and costs. Most filters lose a part of a push. Error feedback adds this part\n"
     "to the next push, so nothing is lost for good: the sent and the remaining part sum to the\n"
     "gradients. The network transports the bytes that remain; the sender needs flops_per_value\n"
     "operations for each value."},
    {"fault", "what goes wrong, when, and on which nodes",
     // {kinds}: a line for each row of the table of faults.
     "Each [[fault]] of a scenario has a kind, the nodes that it affects, and a time.\n"
     "  kind         affects                more fields                    ends\n"
     "{kinds}"
     "A fault happens `at` a date, `from` one date `until` another, after exponential times of mean\n"
     "`mtbf` (drawn for each node), or `when` a condition first holds. `every` repeats `at`, or `from`\n"
     "and `until`. Faults of messages without any of these act all the time. Faults that act at the same\n"
     "time combine: factors multiply, delays add. In a scenario:\n"
     "  [[fault]]\n"
     "  kind = \"link-down\"\n"
     "  nodes = [\"server 0\"]\n"
     "  at = \"5s\"\n"
     "  lasts = \"500ms\""},
    {"digest", "one number for a whole run",
     "A 128-bit hash of every event (dates to the last bit) and of the final weights. The same scenario\n"
     "and seed give the same digest, whatever the threads, the trace level and the load of the machine.\n"
     "It may change with psim's version and the instruction set. `psim replay DIR` checks it, and names\n"
     "the first event that differs."},
    {"all-reduce", "an architecture: workers sum their gradients among themselves",
     "Every worker holds the whole model and the optimizer; there are no servers. In a step each worker\n"
     "computes the gradient of its own batch, the workers sum all gradients by messages among\n"
     "themselves, and each updates its model by the mean. The numbers are those of bsp except for the\n"
     "order of the sums (a ring adds each chunk in another order). A round ends for a worker when it has\n"
     "sent and received. For N workers, a model of M bytes, links of B bytes/s and latency alpha a\n"
     "step's messages take:\n"
     "  ring              2 (N - 1) (alpha + M / (N B))                    Patarasuk, Yuan 2009\n"
     "  tree              2 log2 N (alpha + M / B)                         binomial, reduce and broadcast\n"
     "  halving-doubling  2 log2 N alpha + 2 (N - 1) / N M / B             Thakur et al. 2005; N = 2^n\n"
     "Under each algorithm the workers send 2 (N - 1) M in all; with servers 2 N M are sent.\n"
     "In a scenario:\n"
     "  [architecture]\n"
     "  kind = \"all-reduce\"\n"
     "  algorithm = \"ring\""},
    {"model-parallel", "an architecture: every worker holds some layers",
     "The layers are cut into as many stages of about equal work as there are workers. A step takes the\n"
     "batch that all workers together would take under bsp, in micro_batches parts. Activations go from\n"
     "stage to stage, and errors come back. When all are back, each stage updates its layers. So nothing\n"
     "is stale, and the numbers are those of one worker with the whole batch. A micro-batch takes its\n"
     "stage's share of the time that the worker would need for all layers. On an ideal network M\n"
     "micro-batches on W equal stages take (M + W - 1) times one micro-batch's forward and backward pass\n"
     "on a stage. The share (W - 1) / (M + W - 1) of this time is idle: the bubble (Huang et al. 2019).\n"
     "psim does not model recomputed activations, or activations that do not fit into memory.\n"
     "In a scenario:\n"
     "  [architecture]\n"
     "  kind = \"model-parallel\"\n"
     "  micro_batches = 16\n"
     "  schedule = \"gpipe\""},
    {"target", "time to target",
     "[training.target] gives an accuracy or a loss. The target is reached at the first evaluation that\n"
     "shows it, so evaluate_every decides how exact the time is."},
    {"evaluation", "loss and accuracy over time",
     "psim evaluates the servers' weights on the test set, or on the training set if there is no test\n"
     "set. An evaluation takes no simulated time and changes nothing."},
    {"exit-codes", "what psim's exit code says",
     "0: done. 1: done, but the answer is no (target missed, digest differs, the run got stuck; in a\n"
     "comparison: any run did). 2: an error in your input or usage. 3: an error of psim or of the\n"
     "machine. 130: interrupted."},
    {"file", "error: the scenario file cannot be used",
     "The file is missing, empty, a directory, unreadable or far too large."},
    {"syntax", "error: not valid TOML",
     "The text breaks the rules of TOML 1.0 (toml.io). Strings need quotes: model = \"ssp\". Text must\n"
     "be UTF-8."},
    {"unknown-key", "error: a key that psim does not know",
     "psim ignores no key: a misspelt key would silently get its default. docs/scenario.md lists all\n"
     "keys."},
    {"wrong-type", "error: another type was expected",
     "For example a text in place of a number, or [name] in place of [[name]]."},
    {"unit", "error: a quantity without its unit",
     "Durations, sizes, bandwidths and speeds are texts with a unit: \"50us\", \"64kB\", \"10Gbps\",\n"
     "\"10Gf\". bps are bits per second, Bps bytes per second."},
    {"out-of-range", "error: a value outside its range", "The message and docs/scenario.md give the range."},
    {"unknown-name", "error: a name that is not one of the choices",
     "The message lists the choices; `psim explain FIELD` says what each one means."},
    {"missing", "error: a field that must be given", "The field has no sensible default."},
    {"no-meaning", "error or note: a field that does nothing here",
     "Some fields belong to one choice only, as staleness belongs to ssp. With another choice they would\n"
     "have no effect, and you would wonder why. If --set or an axis of [compare] changes the choice\n"
     "itself, psim leaves such fields of the file out without an error. If a field does nothing because\n"
     "of a number, as replication.window with copies = 0, psim notes it and runs."},
    {"condition", "error: a text that is not a condition",
     "`when` of a [[fault]] is a quantity, a comparison and a number: loss or accuracy with <, <=, > or\n"
     ">=; updates or `clock of worker N` with =, >= or >; or `server N crashed`. psim checks the\n"
     "condition when the quantity changes (loss and accuracy change with an evaluation). It holds only\n"
     "once."},
    {"contradiction", "error: fields that do not go together",
     "Two fields contradict each other, or a field contradicts the data. The label names the other one."},
    {"set", "error: an override that cannot be applied",
     "--set KEY=VALUE replaces one field. KEY is dotted: cluster.workers, or straggler.0.slowdown for\n"
     "the first [[straggler]]. VALUE is TOML; a text needs no quotes: --set consistency.model=asp, --set\n"
     "'model.layers=[64, 10]'."},
    {"group", "error: what a group of workers cannot set",
     "`set` of a [[group]] is a list of texts KEY = VALUE, as in --set. A group may set fields of its\n"
     "training: seed, compute.time, and fields of [data], [model], [training], [consistency],\n"
     "[placement], [messages] and [[filter]]. All groups share the machines and the network. A group in\n"
     "the namespace of another one may set training.batch_size only."},
    {"axis", "error: an axis that cannot be compared along",
     "In [compare], each key is a dotted field in quotes or a table, and each value a list:\n"
     "\"cluster.workers\" = [4, 8]. `seeds` is a list of integers. `psim compare` runs every\n"
     "combination."},
    {"data", "error: the data cannot be read",
     "The file is missing, truncated or corrupt. The message names it, and the places where psim looked\n"
     "for it."},
}};

}  // namespace psim::cli
