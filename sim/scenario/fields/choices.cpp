#include "sim/scenario/fields/choices.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

namespace psim {

namespace {

// "startup_cv" for "cv": names that live as long as the program.
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
  return {{"parameter-server", "workers compute gradients, servers hold the model", "parameter_server ps"},
          {"all-reduce", "every worker holds the model; workers sum their gradients among themselves",
           "all_reduce allreduce"},
          {"model-parallel", "every worker holds some layers; a batch passes through them in micro-batches",
           "model_parallel pipeline"}};
}

template <>
std::vector<Choice> choices<AllReduceAlgorithm>() {
  return {{"ring", "2 (N - 1) rounds of an N-th of the model around a ring (Patarasuk, Yuan 2009)"},
          {"tree", "whole models up a binomial tree and down again, log2 N rounds each"},
          {"halving-doubling",
           "halves exchanged at distances N/2, ..., 1 and back, log2 N rounds each (Thakur et al. 2005)",
           "halving_doubling"}};
}

template <>
std::vector<Choice> choices<RankOrder>() {
  return {
      {"topology",
       "a ring over neighbours: the next rank is the worker whose way shares fewest links with the others' "
       "ways; by index where one switch connects all, with a platform file, and with more than 2048 workers"},
      {"index", "worker 0 has rank 0, worker 1 rank 1, and so on"}};
}

template <>
std::vector<Choice> choices<PipelineSchedule>() {
  return {
      {"gpipe", "all micro-batches forward, then all backward (Huang et al. 2019)"},
      {"1f1b", "one backward for each forward as soon as errors come back (Narayanan et al. 2019, 2021)"}};
}

template <>
std::vector<Choice> choices<AggregateAt>() {
  return {{"servers", "every push and every answer goes its own way between its worker and its server"},
          {"rack",
           "a node of each rack, with a link like the others', sums the pushes of its workers, sends the "
           "server one, and hands its answer on to each (PHub: Luo et al., SoCC 2018)"},
          {"switch",
           "each rack's switch does so at the rate of its links, packet by packet (SwitchML: Sapio et al., "
           "NSDI 2021)"}};
}

template <>
std::vector<Choice> choices<Warmup>() {
  return {{"after-pull", "when they have pulled the first weights from the servers", "after_pull"},
          {"before-servers",
           "as soon as they are up, on the initial weights that all of them know, whether the servers are "
           "there or not; a worker that comes when the others have begun gives them up",
           "before_servers"}};
}

template <>
std::vector<Choice> choices<ProfileOf>() {
  return {{"speed", "second column: factor of the worker's speed from this date on"},
          {"availability",
           "second column: 1 from when it is up, 0 from when it is down; it crashes and restarts at these "
           "dates"}};
}

template <>
std::vector<Choice> choices<SlowAction>() {
  return {{"flag", "it is named in the summary"},
          {"remove", "the scheduler asks it to leave"},
          {"replace", "it is asked to leave, and a spare worker starts; with no spare left it stays"}};
}

template <>
std::vector<Choice> choices<Partition>() {
  return {{"iid", "the whole set is shuffled every epoch and shared out among the workers"},
          {"contiguous", "each worker owns one piece of the set in file order"},
          {"by-label", "sorted by class, then cut into pieces: each worker sees few classes"},
          {"dirichlet", "class shares per worker drawn from a Dirichlet distribution (Hsu et al. 2019)"}};
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
      {"float32", "single precision, as in practice; 4 bytes a value on the network"},
      {"float64", "double precision, for checks; 8 bytes a value on the network"},
      {"float16", "half precision (IEEE binary16): weights and gradients are rounded to it; 2 bytes a value",
       "fp16 half"},
      {"bfloat16", "the same with bfloat16: the range of single precision, 8 bits of precision", "bf16"}};
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
          {"cosine", "falls along half a cosine to zero over the run's clocks (Loshchilov, Hutter 2017)"},
          {"inverse-sqrt", "learning_rate / sqrt(1 + epochs done)"}};
}

template <>
std::vector<Choice> choices<Late>() {
  return {{"cancel", "the server tells the late workers, which stop at once and start on the new version"},
          {"drop", "late workers finish and push, and the server drops the push"},
          {"next",
           "the push counts in the next update, for which its worker waits (semi-asynchronous; with k-sync "
           "this is k-async)"}};
}

template <>
std::vector<Choice> choices<TooStale>() {
  return {{"drop", "the server drops it"},
          {"damp",
           "it is divided by 1 + staleness - max_staleness (the hinge of FedAsync, Xie et al. 2019, with a = "
           "1)"}};
}

template <>
std::vector<Choice> choices<Algorithm>() {
  return {{"gradient", "the gradients of its steps; servers apply them with the optimizer"},
          {"elastic",
           "elastic averaging: workers keep their own weights, and a spring ties them to the servers' centre "
           "(Zhang, Choromanska, LeCun, NIPS 2015)"}};
}

template <>
std::vector<Choice> choices<WorkPolicy>() {
  return {{"static", "every worker takes batch_size samples"},
          {"proportional",
           "workers x batch_size samples are shared out in proportion to the speeds of the machines"},
          {"dynamic",
           "the same in proportion to measured speeds; the scheduler decides again every `work_every` clocks "
           "(Chen et al., SoCC 2020)"},
          {"stealing",
           "batch_size each at first; workers that have finished take samples of the clock from workers that "
           "are behind (FlexRR: Harlap et al., SoCC 2016)"}};
}

template <>
std::vector<Choice> choices<Delivery>() {
  return {{"local", "every worker has its samples"},
          {"database", "a storage node sends every worker its batches over the network"}};
}

template <>
std::vector<Choice> choices<UpdateAt>() {
  return {{"server", "servers run the optimizer and send weights (MXNet's update_on_kvstore)"},
          {"worker",
           "servers only add up; under bsp every worker runs the optimizer on the sum (BytePS), else on its "
           "own gradient, and pushes what its weights moved by (BYTEPS_ENABLE_ASYNC)"}};
}

template <>
std::vector<Choice> choices<PlacementKind>() {
  return {
      {"even", "equal contiguous parts of the key space (ps-lite)"},
      {"hash-ring", "consistent hashing with virtual nodes (Li et al., OSDI 2014)", "hash_ring"},
      {"kvstore", "MXNet: small arrays whole to server (key * 9973) mod servers, large ones split evenly"},
      {"greedy", "each array whole to the server that holds least (TensorFlow's load balancing)"},
      {"round-robin", "array i whole to server i mod servers (TensorFlow's default)", "round_robin"}};
}

template <>
std::vector<Choice> choices<MessageUnit>() {
  return {{"server", "all parameters of a server are one message"},
          {"array", "every array, or its part on a server, is a separate message with its own version"},
          {"range",
           "every contiguous range of a server is a separate message with its own version; on a hash ring "
           "that is the range of a virtual node, which has neighbours of its own (Li et al., OSDI 2014, "
           "section 4.2)"}};
}

template <>
std::vector<Choice> choices<SendOrder>() {
  return {{"parallel", "all messages at once, sharing the links"},
          {"fifo", "in one stream on each connection, back to back, in the order in which they became ready"},
          {"priority",
           "in one stream on each connection, the first layers first (P3: Jayarajan et al., MLSys 2019)"}};
}

template <>
std::vector<Choice> choices<DeviceAggregation>() {
  return {
      {"host", "every device copies its gradient to the host, which adds them (MXNet's CommCPU)"},
      {"device",
       "on devices, each array on one of them; one copy of the sum goes to the host (MXNet's CommDevice)"}};
}

template <>
std::vector<Choice> choices<DeviceUpdate>() {
  return {{"host", "on the host, which sends the devices the weights"},
          {"device", "on every device, as under MXNet's update_on_kvstore = false; the host has no weights"}};
}

template <>
std::vector<Choice> choices<PeerAccess>() {
  return {{"direct", "through the switch of their bus, or links of their own (MXNET_ENABLE_GPU_P2P = 1)"},
          {"host", "up to the host's memory and down again, over the bus"}};
}

template <>
std::vector<Choice> choices<PipelineOver>() {
  return {{"nodes", "machines on the network: the workers"},
          {"devices", "the devices of one machine, on its bus (cluster.worker.device)"}};
}

template <>
std::vector<Choice> choices<TopologyKind>() {
  return {{"star", "every node has one link to an ideal switch"},
          {"two-tier", "racks with a switch each, joined through oversubscribed uplinks", "two_tier"},
          {"fat-tree",
           "k-ary fat tree of equal switches with full bisection (Al-Fares et al. 2008); nodes are "
           "distributed over the pods, and the destination decides the core switch (D-mod-k)",
           "fat_tree"},
          {"torus",
           "nodes at the points of a grid that is closed in every dimension, wired to their neighbours; "
           "messages go dimension by dimension, the shorter way round"},
          {"dragonfly",
           "groups of routers wired all to all, one global link between each two groups (Kim et al. 2008), "
           "minimal routes"},
          {"graph", "the links listed in [[cluster.network.link]]"},
          {"simgrid-xml", "a platform file of SimGrid", "simgrid_xml"}};
}

template <>
std::vector<Choice> choices<NetworkModel>() {
  return {{"fluid",
           "SimGrid's flow model: concurrent transfers share links by max-min fairness; exact, and slow "
           "where hundreds overlap"},
          {"nic",
           "messages travel in segments, for which every NIC and every port of a switch has a fair queue: "
           "near to fluid, and for thousands of nodes (docs/network.md)"}};
}

template <>
std::vector<Choice> choices<SimgridModel>() {
  return {{"cm02", "latency + bytes / bandwidth, no TCP window: what theory calls raw"},
          {"lv08",
           "SimGrid's default, calibrated on TCP: 13.01 x latency, 0.97 x bandwidth (Velho, Legrand 2009)"}};
}

template <>
std::vector<Choice> choices<KeyFormat>() {
  return {{"range", "a message holds a whole range in order, so its values need no keys"},
          {"per-value", "each value travels with its 64-bit key (Li et al., OSDI 2014)"}};
}

template <>
std::vector<Choice> choices<FilterOn>() {
  return {{"push", "gradients, from a worker to a server"},
          {"pull", "weights, from a server to a worker"},
          {"both", "both"}};
}

template <>
std::vector<Choice> choices<Disk>() {
  return {{"kept", "they are kept"}, {"lost", "they are lost too"}};
}

template <>
std::vector<Choice> choices<Namespace>() {
  return {{"own", "its own parameters: the group is a separate job that shares the machines with the others"},
          {"shared",
           "the parameters of the group before: both push to the same shards, under one consistency model"}};
}

template <>
std::vector<Choice> choices<Arrivals>() {
  return {{"poisson", "independent of each other: exponential gaps"}, {"constant", "equal gaps"}};
}

}  // namespace psim
