// What `psim explain` tells beside models and fields: measures, and the kinds of error.
#pragma once

#include <array>
#include <string_view>

namespace psim::cli {

struct Topic {
  std::string_view name, title, text;
  std::string_view aliases = {};  // separated by spaces
};

inline constexpr std::array<Topic, 30> topics{{
    {"staleness", "how old a gradient is when it is applied",
     "Version of the weights when a server applies a push, less the version that the push was computed on;\n"
     "in updates. Under bsp it is 0; under asp on an ideal network its mean is workers - 1, whatever the "
     "speeds."},
    {"clock_gap", "how far workers drift apart",
     "The most clocks that a worker was ahead of the slowest one when it started a step. ssp bounds it by "
     "s."},
    {"shares", "where a worker's time went",
     "compute: a gradient is being computed. network: not computing, and a message from or to the worker is "
     "on\n"
     "its way. wait: neither, so it waits for others. absent: the worker is down, has left, or has not "
     "joined "
     "yet.\n"
     "The four sum to 1, of all workers' time together. A worker's time ends with its last clock, or with "
     "the "
     "run.",
     "wait"},
    {"relative", "a row's time compared with the first row's",
     "In the table of `psim compare`: a run's time divided by the time of the first row's run with the same "
     "seed, then\n"
     "the mean over seeds. Runs with the same seed meet the same data, draws and stragglers, so the ratio "
     "has "
     "less noise\n"
     "than the times. Below 1 is faster than the first row. `-` where a seed has no time: it missed its "
     "target."},
    {"compare", "many runs side by side",
     "`psim compare FILE` runs every combination of the axes in [compare], with every seed of `seeds`, and "
     "prints a\n"
     "table. In a scenario:\n"
     "  [compare]\n  consistency = [\"bsp\", \"ssp 3\", \"asp\"]\n  \"cluster.workers\" = [4, 8]\n  seeds = "
     "[1, 2, "
     "3]\n"
     "On the command line a list makes an axis too: --set 'cluster.workers=[4, 8]', --seeds 1,2,3. A value "
     "that is no\n"
     "list fixes an axis: --set cluster.workers=8. `psim check FILE` checks every combination without "
     "running "
     "it."},
    {"notes", "what a run says about itself",
     "After a run psim notes what was asked for and had no effect, and what went wrong without an error.\n"
     "  diverged          the loss is above its first value, or no number\n"
     "  little-computing  no worker computes for 5 % of its time, so stragglers show next to nothing\n"
     "  late-straggler    a straggler begins after the run's end\n"
     "  idle-straggler    a straggler's slowdown is 1, or its probability 0\n"
     "  idle-fault        a fault never happened, or changed nothing\n"
     "  idle-filter       a filter never made a message smaller\n"
     "  unseen-target     nobody looked at the target between the first and the last weights\n"
     "  early-target      the first weights reach the target already\n"
     "  idle-bound        the bound on staleness held nobody back\n"
     "  idle-correction   delay_compensation or staleness_aware met no push that was late enough\n"
     "  silent-inference  no request was answered\n"
     "--json has them as `notes`.",
     "diverged little-computing late-straggler idle-straggler idle-fault idle-filter unseen-target "
     "early-target idle-bound idle-correction silent-inference"},
    {"filter", "what messages go through before they are sent",
     "Each [[filter]] of a scenario selects values, writes them down in fewer bits, caches keys or "
     "compresses "
     "bytes,\n"
     "so that less travels. `psim list` shows them; `psim explain NAME` says what each sends and what it "
     "takes.\n"
     "A push loses something in most. With error feedback that is added to the next push: what was sent and "
     "what is\n"
     "left are together what was computed. The network counts the bytes that are left, the sender works "
     "flops_per_value."},
    {"fault", "what goes wrong, when, and with whom",
     "Each [[fault]] of a scenario has a kind, whom it happens to, and when it does.\n"
     "  kind         to whom                what else                      is over\n"
     "  crash        nodes                  restart_after, disk            restart_after, or a restart\n"
     "  restart      nodes                                                 at once\n"
     "  leave        nodes                                                 by a join\n"
     "  join         nodes                                                 at once\n"
     "  slow         nodes                  factor of the speed, 0 frozen  until, or lasts\n"
     "  link-down    nodes                                                 until, or lasts\n"
     "  degrade      nodes                  factor of the bandwidth        until, or lasts\n"
     "  partition    between two sides                                     until, lasts, or a heal\n"
     "  heal         all partitions                                        at once\n"
     "  drop         nodes or between       messages, probability          until, or lasts\n"
     "  duplicate    nodes or between       messages, probability          until, or lasts\n"
     "  delay        nodes or between       messages, probability, delay   until, or lasts\n"
     "  reorder      nodes or between       messages, probability, delay   until, or lasts\n"
     "  disk-loss    nodes: the storage                                    at once\n"
     "It happens `at` a date, `from` a date `until` another, after exponential times of mean `mtbf` (each "
     "node "
     "by itself),\n"
     "or `when` a condition first holds; `every` repeats `at`, or `from` and `until`. Faults of messages "
     "without "
     "any of\n"
     "these act all the time. Faults in force at once add up: factors multiply, delays add. In a scenario:\n"
     "  [[fault]]\n  kind = \"link-down\"\n  nodes = [\"server 0\"]\n  at = \"5s\"\n  lasts = \"500ms\""},
    {"digest", "one number for a whole run",
     "A 128-bit hash of every event (dates to the last bit) and of the final weights. Equal scenario and "
     "seed make\n"
     "an equal digest, whatever the threads, the trace level and the machine's load; it may change with "
     "psim's\n"
     "version and the instruction set. `psim replay DIR` checks it, and names the first event that differs."},
    {"all-reduce", "an architecture: workers sum their gradients among themselves",
     "Every worker holds the whole model and the optimizer. A step: a gradient of its own batch; the sum of "
     "all\n"
     "gradients by messages between workers; an update by their mean. So the numbers are those of bsp, but "
     "for the\n"
     "order of the sums (a ring adds each chunk in another order), and there are no servers. A round ends "
     "for a worker\n"
     "when it has sent and received. N workers, a model of M bytes, links of B bytes/s, latency alpha:\n"
     "  ring              2 (N - 1) (alpha + M / (N B))                    Patarasuk, Yuan 2009\n"
     "  tree              2 log2 N (alpha + M / B)                         binomial, reduce and broadcast\n"
     "  halving-doubling  2 log2 N alpha + 2 (N - 1) / N M / B             Thakur et al. 2005; N = 2^n\n"
     "Each sends 2 (N - 1) M in all; N workers with servers send 2 N M. In a scenario:\n"
     "  [architecture]\n  kind = \"all-reduce\"\n  algorithm = \"ring\""},
    {"model-parallel", "an architecture: every worker holds some layers",
     "The layers are cut in as many stages of about equal work as there are workers. A step takes the batch "
     "that\n"
     "all workers together would take under bsp, in micro_batches parts: activations go from stage to stage, "
     "errors\n"
     "come back, and when all are back each stage updates its layers. So nothing is stale, and the numbers "
     "are those\n"
     "of one worker with the whole batch. A micro-batch takes its stage's share of the time that the worker "
     "would\n"
     "need for all layers. On an ideal network M micro-batches on W equal stages take (M + W - 1) times one\n"
     "micro-batch's forward and backward on a stage: a share (W - 1) / (M + W - 1) is bubble (Huang et al. "
     "2019).\n"
     "Activations that have to be recomputed or do not fit into memory are not modelled. In a scenario:\n"
     "  [architecture]\n  kind = \"model-parallel\"\n  micro_batches = 16\n  schedule = \"gpipe\""},
    {"target", "time to target",
     "[training.target] gives an accuracy or a loss. It counts as reached at the first evaluation that shows "
     "it, so\n"
     "evaluate_every is its resolution."},
    {"evaluation", "loss and accuracy over time",
     "Over the test set, or the training set when there is no test set, with the weights that the servers "
     "hold.\n"
     "It takes no simulated time and changes nothing."},
    {"exit-codes", "what psim's exit code says",
     "0 done; 1 done, but the answer is no (target missed, digest differs, the run got stuck); 2 your input "
     "or\n"
     "usage; 3 psim's fault or the machine's; 130 interrupted. Of a comparison: 1 if it is so for any run."},
    {"file", "error: the scenario file cannot be used",
     "It is missing, empty, a directory, unreadable or far too large."},
    {"syntax", "error: not valid TOML",
     "The text breaks the rules of TOML 1.0 (toml.io). Strings need quotes: model = \"ssp\". Text must be "
     "UTF-8."},
    {"unknown-key", "error: a key that psim does not know",
     "Keys are never ignored, because a misspelt key would silently mean its default. docs/scenario.md has "
     "them all."},
    {"wrong-type", "error: another type was expected",
     "For example a text where a number belongs, or [name] where [[name]] belongs."},
    {"unit", "error: a quantity without its unit",
     "Durations, sizes, bandwidths and speeds are texts with a unit: \"50us\", \"64kB\", \"10Gbps\", "
     "\"10Gf\".\n"
     "bps are bits per second, Bps bytes per second."},
    {"out-of-range", "error: a value outside its range",
     "The range stands in the message, and in docs/scenario.md."},
    {"unknown-name", "error: a name that is not one of the choices",
     "The choices stand in the message; `psim explain FIELD` says what each means."},
    {"missing", "error: a field that must be given", "The field has no default that would make sense."},
    {"no-meaning", "error or note: a field that does nothing here",
     "Some fields belong to one choice only, as staleness to ssp. Given beside another choice they would be\n"
     "ignored, and you would wonder why they have no effect. When the choice itself is changed by --set or "
     "by an\n"
     "axis of [compare], such fields of the file are left out without an error. A field that does nothing\n"
     "because of a number, as replication.window with copies = 0, is noted, and the run goes on."},
    {"condition", "error: a text that is no condition",
     "`when` of a [[fault]] is a quantity, a comparison and a number: loss or accuracy with <, <=, > or >=; "
     "updates or\n"
     "`clock of worker N` with =, >= or >; or `server N crashed`. It is looked at when the quantity changes, "
     "and "
     "holds once;\n"
     "loss and accuracy change with an evaluation."},
    {"contradiction", "error: fields that do not go together",
     "Two fields, or a field and the data, cannot both hold. The label says with what."},
    {"incompatible", "error: features that exclude each other",
     "One feature needs what another one takes away. The message says what is needed, the label who takes\n"
     "it away, the help what to write instead. docs/compatibility.md lists what each feature needs, and "
     "with\n"
     "which others it cannot go."},
    {"set", "error: an override that cannot be put in",
     "--set KEY=VALUE replaces one field. KEY is dotted: cluster.workers, or straggler.0.slowdown for the "
     "first\n"
     "[[straggler]]. VALUE is TOML; a text needs no quotes: --set consistency.model=asp, --set "
     "'model.layers=[64, 10]'."},
    {"group", "error: what a group of workers cannot set",
     "`set` of a [[group]] is a list of texts KEY = VALUE, as in --set. A group may set what its training "
     "is:\n"
     "seed, compute.time, and fields of [data], [model], [training], [consistency], [placement], [messages] "
     "and\n"
     "[[filter]]. Machines and network are everybody's. A group in the namespace of another one may set\n"
     "training.batch_size only."},
    {"axis", "error: an axis that cannot be compared along",
     "In [compare], each key is a dotted field in quotes or a table, and each value a list:\n"
     "\"cluster.workers\" = [4, 8]. `seeds` is a list of integers. `psim compare` runs every combination."},
    {"data", "error: the data cannot be had",
     "The file is missing, truncated or corrupt. The message names it and says where it was looked for."},
}};

}  // namespace psim::cli
