#include "sim/scenario/fields/choices.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {
namespace {

// "startup_cv" for "cv": the names exist until the program ends.
std::string_view with_prefix(std::string_view prefix, std::string_view key) {
  static std::mutex mutex;
  static std::set<std::string> names;
  if (prefix.empty()) return key;
  const std::scoped_lock lock(mutex);
  return *names.insert(std::string(prefix) + std::string(key)).first;
}

}  // namespace

std::vector<std::string> all_names(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) {
    names.emplace_back(choice.name);
    std::string_view aliases = choice.aliases;
    while (!aliases.empty()) {
      const std::size_t space = std::min(aliases.find(' '), aliases.size());
      names.emplace_back(aliases.substr(0, space));
      aliases.remove_prefix(std::min(space + 1, aliases.size()));
    }
  }
  return names;
}

void describe_setting(FieldVisitor& visitor, std::string_view key, const Setting& setting,
                      std::vector<std::string_view> names, Settings& settings, const SettingFields& fields) {
  const FieldTarget target =
      std::visit([](auto& value) -> FieldTarget { return &value; }, settings.place_of(setting));
  visitor.field(with_prefix(fields.prefix, setting.key), target,
                {.doc = setting.doc,
                 .min = setting.min,
                 .max = setting.max,
                 .above_min = setting.above_min,
                 .below_max = setting.below_max,
                 .when_key = key,
                 .when = std::move(names),
                 .need = fields.need,
                 .default_text = setting.default_text});
}

template <>
std::vector<Choice> choices<Architecture>() {
  return {{"parameter-server", "workers compute gradients; servers hold the model", "parameter_server ps"},
          {"all-reduce", "every worker holds the model; workers sum their gradients among themselves",
           "all_reduce allreduce"},
          {"model-parallel", "every worker holds some layers; a batch passes through them in micro-batches",
           "model_parallel pipeline"}};
}

template <>
std::vector<Choice> choices<TuneMethod>() {
  return {{"grid", "every combination of the values"},
          {"random", "settings drawn from the values or from the whole range"},
          {"halving",
           "drawn settings, of which the better half continues with twice the seeds until one is left"}};
}

template <>
std::vector<Choice> choices<TuneMeasure>() {
  return {{"time-to-target", "the simulated time until the target"},
          {"loss", "the final loss"},
          {"accuracy", "the final accuracy"}};
}

template <>
std::vector<Choice> choices<AllReduceAlgorithm>() {
  return {{"ring", "2 (N - 1) rounds of an N-th of the model around a ring (Patarasuk, Yuan 2009)"},
          {"tree", "whole models travel up a binomial tree and down again, in log2 N rounds each"},
          {"halving-doubling",
           "workers exchange halves at distances N/2, ..., 1 and back, in log2 N rounds each (Thakur et al. "
           "2005)",
           "halving_doubling"}};
}

template <>
std::vector<Choice> choices<RankOrder>() {
  return {{"topology",
           "a ring over neighbours: the next rank is the worker whose path shares the fewest links with the "
           "other paths; by index if one switch connects all nodes, with a platform file, and with more than "
           "2048 workers"},
          {"index", "worker i has rank i"}};
}

template <>
std::vector<Choice> choices<PipelineSchedule>() {
  return {{"gpipe", "first all forward passes, then all backward passes (Huang et al. 2019)"},
          {"1f1b",
           "one backward pass after each forward pass, as soon as errors come back (Narayanan et al. 2019, "
           "2021)"}};
}

template <>
std::vector<Choice> choices<AggregateAt>() {
  return {{"servers",
           "the servers; every push and every answer travels separately between its worker and its server"},
          {"rack",
           "an additional node in each rack, with a link like those of the other nodes; it sums the pushes "
           "of the rack's workers, sends the sum to the server, and passes the answer on to each worker "
           "(PHub: Luo et al., SoCC 2018)"},
          {"switch",
           "the switch of each rack, packet by packet, at the rate of its links (SwitchML: Sapio et al., "
           "NSDI 2021)"}};
}

template <>
std::vector<Choice> choices<Warmup>() {
  return {{"after-pull", "after they have pulled the first weights from the servers", "after_pull"},
          {"before-servers",
           "as soon as they are up, on the initial weights, which all workers know, even if no server is up; "
           "a worker that starts after the others have begun to synchronise drops the gradients of these "
           "steps; a spare or restarted worker skips the steps",
           "before_servers"}};
}

template <>
std::vector<Choice> choices<ProfileOf>() {
  return {
      {"speed", "the second column is the factor of the worker's speed from this date on"},
      {"availability",
       "the second column is 1 from when the worker is up, and 0 from when it is down; it crashes and "
       "restarts at these dates"},
      {"bandwidth",
       "the second column is the bandwidth of the node's own links from this date on, in both directions"},
      {"latency",
       "the second column is the additional one-way latency, in seconds, of messages from or to the node "
       "that are sent from this date on"}};
}

template <>
std::vector<Choice> choices<ProfileUnit>() {
  return {{"factors", "the share of the scenario's bandwidth that remains, at most 1"},
          {"bytes/s", "bytes per second, at most the network's `bandwidth`"}};
}

template <>
std::vector<Choice> choices<SlowAction>() {
  return {{"flag", "the summary names it"},
          {"remove", "the scheduler asks it to leave the run"},
          {"replace",
           "the scheduler asks it to leave, and a spare worker starts; if no spare is left, the slow worker "
           "stays"}};
}

template <>
std::vector<Choice> choices<Partition>() {
  return {
      {"iid", "every epoch psim shuffles the whole set and divides it among the workers"},
      {"contiguous", "each worker has one piece of the set, in file order"},
      {"by-label", "psim sorts the set by class and cuts it into pieces, so each worker sees few classes"},
      {"dirichlet",
       "the shares of the classes on each worker are drawn from a Dirichlet distribution (Hsu et al. 2019)"}};
}

template <>
std::vector<Choice> choices<Activation>() {
  return {{"identity", "x"},
          {"relu", "max(0, x)"},
          {"tanh", "hyperbolic tangent"},
          {"sigmoid", "1 / (1 + exp(-x))"}};
}

template <>
std::vector<Choice> choices<Loss>() {
  return {
      {"cross-entropy", "softmax and cross-entropy with the class"},
      {"half-sse", "half the sum of squared differences from the target (one-hot for classes)", "half_sse"}};
}

template <>
std::vector<Choice> choices<Precision>() {
  return {
      {"float32", "single precision, as in practice; 4 bytes per value on the network"},
      {"float64", "double precision, for checks; 8 bytes per value on the network"},
      {"float16",
       "half precision (IEEE binary16): nodes round weights and gradients to it; 2 bytes per value",
       "fp16 half"},
      {"bfloat16",
       "as float16, with the range of single precision and 8 bits of precision; 2 bytes per value", "bf16"}};
}

template <>
std::vector<Choice> choices<Init>() {
  return {{"glorot", "uniform within sqrt(6 / (in + out)) (Glorot, Bengio 2010)"},
          {"he", "uniform within sqrt(6 / in) (He et al. 2015)"},
          {"zeros", "all zero"}};
}

template <>
std::vector<Choice> choices<RateSchedule>() {
  return {{"constant", "the same rate throughout"},
          {"step", "multiplied by `schedule_factor` every `schedule_every` epochs"},
          {"cosine", "falls to zero along half a cosine over the run's clocks (Loshchilov, Hutter 2017)"},
          {"inverse-sqrt", "learning_rate / sqrt(1 + epochs done)"}};
}

template <>
std::vector<Choice> choices<Late>() {
  return {
      {"cancel",
       "the server tells the late workers; they stop at once and start on the new version. With a limit on "
       "the age a worker stops when its push would be too old at one of its shards, and begins the same "
       "clock again"},
      {"drop", "late workers finish and push, and the server drops the push"},
      {"next",
       "the push counts in the next update, and its worker waits for this update (semi-asynchronous; "
       "with k-sync this is k-async)"}};
}

template <>
std::vector<Choice> choices<AgeOf>() {
  return {
      {"shard", "each shard's own: one shard may drop a part of a gradient that another shard applies"},
      {"gradient",
       "the first shard's, for all shards: it decides for the whole gradient, and tells the other servers"}};
}

template <>
std::vector<Choice> choices<TooStale>() {
  return {{"drop", "the server drops the push"},
          {"damp",
           "the server divides the push by 1 + staleness - max_staleness (the hinge of FedAsync, Xie et al. "
           "2019, with a = 1)"}};
}

template <>
std::vector<Choice> choices<Algorithm>() {
  return {{"gradient", "gradients; servers apply them with the optimizer"},
          {"elastic",
           "elastic averaging: workers keep their own weights; with each push a worker's weights and the "
           "servers' weights (the centre) move towards each other (Zhang, Choromanska, LeCun, NIPS 2015)"}};
}

template <>
std::vector<Choice> choices<WorkPolicy>() {
  return {
      {"static", "every worker takes batch_size samples"},
      {"proportional",
       "each worker gets a part of the workers x batch_size samples in proportion to its machine's speed"},
      {"dynamic",
       "each worker gets a part in proportion to its measured speed; the scheduler decides again every "
       "`work_every` clocks (Chen et al., SoCC 2020)"},
      {"stealing",
       "every worker begins with batch_size samples; workers that have finished take samples of the clock "
       "from slower workers (FlexRR: Harlap et al., SoCC 2016)"}};
}

template <>
std::vector<Choice> choices<StaleScales>() {
  return {{"rate", "the learning rate of the update, as in the papers of `staleness_weight`"},
          {"gradient",
           "the gradient before the optimizer sees it: adagrad, rmsprop and adam, which divide by its size, "
           "nearly cancel the weight, and weight decay keeps its full effect"}};
}

template <>
std::vector<Choice> choices<Delivery>() {
  return {{"local", "every worker holds its samples"},
          {"database", "a storage node sends every worker its batches over the network"}};
}

template <>
std::vector<Choice> choices<UpdateAt>() {
  return {{"server", "servers run the optimizer and send weights (MXNet's update_on_kvstore)"},
          {"worker",
           "workers run the optimizer; servers only add up pushes. Under bsp every worker runs the optimizer "
           "on the sum (BytePS). Under other models a worker runs it on its own gradient and pushes the "
           "change of its weights (BYTEPS_ENABLE_ASYNC)"}};
}

template <>
std::vector<Choice> choices<InnerState>() {
  return {{"kept", "the state of one clock is the first state of the next clock (DiLoCo)"},
          {"fresh", "every clock begins with a new state"}};
}

template <>
std::vector<Choice> choices<PlacementKind>() {
  return {{"even", "equal contiguous parts of the key space (ps-lite)"},
          {"hash-ring", "consistent hashing with virtual nodes (Li et al., OSDI 2014)", "hash_ring"},
          {"kvstore",
           "small arrays whole on server (key * 9973) modulo servers, large arrays split evenly (MXNet)"},
          {"greedy", "each array whole on the server that holds the least (TensorFlow's load balancing)"},
          {"round-robin", "array i whole on server i modulo servers (TensorFlow's default)", "round_robin"}};
}

template <>
std::vector<Choice> choices<MessageUnit>() {
  return {
      {"server", "all parameters of a server travel in one message"},
      {"array", "every array, or its part on a server, is a separate message with its own version"},
      {"range",
       "every contiguous range of a server is a separate message with its own version; on a hash ring it is "
       "the range of a virtual node, which has its own neighbours (Li et al., OSDI 2014, section 4.2)"}};
}

template <>
std::vector<Choice> choices<SendOrder>() {
  return {
      {"parallel", "all messages at the same time; they share the links"},
      {"fifo", "one after the other on each connection, in the order in which they became ready"},
      {"priority",
       "one after the other on each connection, the first layers first (P3: Jayarajan et al., MLSys 2019)"}};
}

template <>
std::vector<Choice> choices<DeviceAggregation>() {
  return {
      {"host", "on the host, to which every device copies its gradient (MXNet's CommCPU)"},
      {"device",
       "on the devices, each array on one device, which copies the sum to the host (MXNet's CommDevice)"}};
}

template <>
std::vector<Choice> choices<DeviceUpdate>() {
  return {{"host", "on the host, which copies the weights to the devices"},
          {"device", "on every device, as with MXNet's update_on_kvstore = false; the host has no weights"}};
}

template <>
std::vector<Choice> choices<PeerAccess>() {
  return {{"direct",
           "directly, through the switch of their bus or over separate links (MXNET_ENABLE_GPU_P2P = 1)"},
          {"host", "through the host's memory, over the bus"}};
}

template <>
std::vector<Choice> choices<PipelineOver>() {
  return {{"nodes", "the workers: machines on the network"},
          {"devices", "the devices of one machine, on its bus (cluster.worker.device)"}};
}

template <>
std::vector<Choice> choices<TopologyKind>() {
  return {{"star", "every node has one link to an ideal switch"},
          {"two-tier", "racks with one switch each, connected through oversubscribed uplinks", "two_tier"},
          {"fat-tree",
           "k-ary fat tree of equal switches with full bisection (Al-Fares et al. 2008); nodes are "
           "distributed over the pods, and the destination decides the core switch (D-mod-k)",
           "fat_tree"},
          {"torus",
           "nodes at the points of a grid that is closed in every dimension, with links to their neighbours; "
           "messages go dimension by dimension, in the shorter direction"},
          {"dragonfly",
           "groups of fully connected routers, with one global link between each two groups (Kim et al. "
           "2008) and minimal routes"},
          {"graph", "the links in [[cluster.network.link]]"},
          {"simgrid-xml", "a platform file of SimGrid", "simgrid_xml"}};
}

template <>
std::vector<Choice> choices<NetworkModel>() {
  return {{"fluid",
           "SimGrid's flow model: concurrent transfers share links by max-min fairness; exact, but slow if "
           "hundreds of transfers overlap"},
          {"nic",
           "messages travel in segments, and every NIC and every port of a switch has a fair queue; close to "
           "fluid, and fast enough for thousands of nodes (docs/network.md)"}};
}

template <>
std::vector<Choice> choices<SimgridModel>() {
  return {{"cm02", "latency + bytes / bandwidth, without a TCP window: the formula of theory"},
          {"lv08",
           "SimGrid's default, calibrated on TCP: 13.01 x latency, 0.97 x bandwidth (Velho, Legrand 2009)"}};
}

template <>
std::vector<Choice> choices<KeyFormat>() {
  return {{"range", "a message holds a whole key range in order, so its values need no keys"},
          {"per-value", "each value travels with its 64-bit key (Li et al., OSDI 2014)"}};
}

template <>
std::vector<Choice> choices<FilterOn>() {
  return {{"push", "gradients, from a worker to a server"},
          {"pull", "weights, from a server to a worker"},
          {"both", "both"}};
}

template <>
std::vector<Choice> choices<FilterMemory>() {
  return {{"residual", "what it has removed so far, which the next push contains"},
          {"difference",
           "the sum of what it has sent, to which the receiver adds; it sends differences to this sum (EF21: "
           "Richtárik et al., NeurIPS 2021)"}};
}

template <>
std::vector<Choice> choices<Disk>() {
  return {{"kept", "the disk keeps them"}, {"lost", "the disk loses them"}};
}

template <>
std::vector<Choice> choices<Corruption>() {
  return {
      {"sign", "its values times -`factor`", "flip sign-flip"},
      {"noise",
       "its values plus normal noise; the standard deviation is `factor` times their root mean square",
       "gaussian"},
      {"scale", "its values times `factor`"},
      {"constant", "`factor` as every value"},
      {"copy", "what worker `of` computed last before this date; its own values if there is nothing yet"}};
}

template <>
std::vector<Choice> choices<Namespace>() {
  return {
      {"own",
       "its own parameters: the group is a separate job that shares the machines with the other groups"},
      {"shared",
       "the parameters of the previous group: both push to the same shards, under one consistency model"}};
}

template <>
std::vector<Choice> choices<Arrivals>() {
  return {{"poisson", "independent, with exponential gaps"}, {"constant", "with equal gaps"}};
}

// The choices of [recovery] and [replication].
template <>
std::vector<Choice> choices<DetectorKind>() {
  return {{"timeout", "when the scheduler has not heard from the node for `timeout`"},
          {"phi-accrual",
           "when the node's silence is too unlikely, given the gaps between its last heartbeats (Hayashibara "
           "et al., SRDS 2004)"}};
}

template <>
std::vector<Choice> choices<LostWorkers>() {
  return {
      {"wait",
       "the other workers wait for it, if the consistency model makes them wait (MXNet's dist_sync); without "
       "servers they wait for ever after a crash, because the worker has lost its part of the training"},
      {"remove", "it does not take part until the scheduler hears from it again"},
      {"restart",
       "all workers wait until it is back, and continue from the last snapshot, or from the beginning if "
       "there is no snapshot (an all-reduce job that is started again)"}};
}

template <>
std::vector<Choice> choices<LostData>() {
  return {{"drop",
           "no worker trains on them; with an iid partition they are missing from the current epoch only"},
          {"reassign", "the other workers share them until the worker is back"}};
}

template <>
std::vector<Choice> choices<DataFrom>() {
  return {{"local", "none: the worker has the samples at once, without a transfer"},
          {"database", "the node `database`, which holds the training set, sends the samples", "storage"},
          {"workers",
           "the workers that held the samples before send them; a worker that leaves sends its samples, too; "
           "the node `database` sends samples that no worker holds"}};
}

template <>
std::vector<Choice> choices<LostServers>() {
  return {{"wait", "workers cannot pull these shards until the server is back"},
          {"neighbour",
           "the next server takes these shards over, with the weights of the last snapshot or the initial "
           "weights"}};
}

template <>
std::vector<Choice> choices<Rebalance>() {
  return {{"none", "no shards, unless other servers are lost"},
          {"placement", "the shards that the placement gives the server"},
          {"load",
           "the shards with the highest load, until the server has its share of the load; a shard larger "
           "than this share is cut (Li et al., OSDI 2014, section 4.5), if there are fewer than four shards "
           "for each server"}};
}

template <>
std::vector<Choice> choices<HandOver>() {
  return {{"two-phase",
           "the owner serves the shard while it is copied; then the shard moves, and the owner sends only "
           "the changes since the copy (Li et al., OSDI 2014, section 4.5)"},
          {"stop-and-copy", "the shard moves at once, and workers wait until it is copied"}};
}

template <>
std::vector<Choice> choices<Semantics>() {
  return {{"exactly-once", "ignores the push, which it knows by its number"},
          {"at-least-once", "applies the push again"}};
}

template <>
std::vector<Choice> choices<ReplicateWhen>() {
  return {{"after-aggregation", "the sum of gradients of each update (Li et al., OSDI 2014, section 4.4)"},
          {"every-push", "each push as it arrives"}};
}

template <>
std::vector<Choice> choices<ReplicationLayout>() {
  return {{"primary", "the owner sends to each replica"},
          {"chain",
           "the owner sends to the first replica, and each replica to the next (van Renesse and Schneider, "
           "OSDI 2004)"}};
}

}  // namespace psim
