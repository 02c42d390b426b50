#include <algorithm>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

// The times of steps: means, distributions, effects, traces and stragglers.
template <>
std::vector<Choice> choices<TraceUnit>() {
  return {{"factors", "a step takes the mean time, multiplied by the factor"},
          {"seconds", "a step takes the time in the file"}};
}

template <>
std::vector<Choice> choices<TraceWorkers>() {
  return {
      {"as they are", "worker i has column i; a single column is that of every worker"},
      {"draw",
       "each seed deals the columns to the workers; every column is used once before one is used again, and "
       "workers with the same column have its times at different steps"}};
}

template <>
std::vector<Choice> choices<TraceStart>() {
  return {{"first", "with the first row"}, {"draw", "with a random row of each seed"}};
}

template <>
std::vector<Choice> choices<TraceSample>() {
  return {
      {"whole", "the file is all that the cluster ever does"},
      {"draw",
       "the file is a sample: each seed first draws a file of the same length, in the same blocks, and then "
       "takes its steps from that; so the spread over seeds contains the error of the sample"}};
}

namespace {

void describe_factor(FieldVisitor& v, FactorSpec& f, std::string_view doc) {
  v.field("distribution", choice(f.distribution), doc);
  describe_settings<DistributionRow>(v, "distribution", f.settings);
  const auto traced =
      when("distribution", names_of_rows<DistributionRow>([](const auto& row) { return row.reads_trace; }));
  v.field("trace", &f.trace,
          "File of step times: one row for each step, with one column for all workers or one for each; or a "
          "table with the columns `worker`, `step` and `seconds`. A header line is optional. Its content is "
          "part of the run's identity.",
          traced);
  v.field("trace_unit", choice(f.trace_unit), "Meaning of the numbers in the trace.", traced);
  v.field("trace_resample", &f.trace_resample,
          "How a run takes the rows of the trace. \"as it is\": in their order, and again from the first. "
          "\"blocks of N steps\": N neighbouring rows from a random place, then N from another (moving block "
          "bootstrap; Kuensch 1989); the seed draws the places. \"iid\": a random row for each step.",
          traced);
  v.field("trace_workers", choice(f.trace_workers), "Which column of the trace a worker has.", traced);
  v.field("trace_start", choice(f.trace_start), "Where a trace as it is begins.", traced);
  v.field("trace_sample", choice(f.trace_sample), "Whether a resampled trace stands for more than itself.",
          traced);
}

void describe_effect(FieldVisitor& v, EffectSpec& e) {
  v.field("workers", &e.workers, "Which workers, counted from 0.", within(0, 19'999), filled,
          otherwise("all"));
  v.field("shared", &e.shared,
          "Whether one draw for each step slows all these workers. Otherwise each worker has its own.");
  describe_factor(v, e, "Distribution of the factor; its mean is 1.");
}

}  // namespace

void describe_compute(FieldVisitor& v, ComputeSpec& c) {
  describe_factor(v, c, "How the time of a step varies; the mean stays the same.");
  v.field("time", &c.time,
          "Mean time of a step: of one batch on one device that is as fast as `speed`. With a list of speeds "
          "it is the time of a worker as fast as the first one.",
          within(0, 1e9), otherwise("flops of the gradient / speed"),
          only({.keys = {"compute.trace_unit"}, .text = "without a trace in seconds", .met = [&c] {
                  return !c.is_in_seconds();
                }}));
  v.tables(
      "effect",
      "Factors on the time of some or all workers' steps, in addition to `distribution`. All factors of a "
      "step are multiplied.",
      c.effects, describe_effect);
}

void describe_straggler(FieldVisitor& v, StragglerSpec& s) {
  v.field("workers", &s.workers, "Which workers, counted from 0.", within(0, 19'999), required);
  v.field("slowdown", &s.slowdown,
          "How many times as long a step of these workers takes; below 1 it is faster.", above(0, 1e6));
  v.field("from", &s.from, "Start of the slow time.", within(0, 1e9), otherwise("the beginning"));
  v.field("until", &s.until, "End of the slow time.", above(0, 1e9), otherwise("the end"));
  v.field("every", &s.every, "Repeat the slow time with this period.", above(0, 1e9), otherwise("once"));
  v.field("probability", &s.probability,
          "Probability that a step is slow; excludes `from`, `until` and `every`.", within(0, 1),
          otherwise("slow by time, not by chance"));
}

namespace {

bool has_devices(const Scenario& s) {
  return s.architecture.kind != Architecture::model_parallel || s.architecture.is_on_one_machine();
}

void describe_bus(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", count = "cluster.worker.device.count",
                         over = "architecture.over";
  v.field("bus_bandwidth", &d.bus_bandwidth,
          "Bandwidth of the link from a worker's host to the switch of the bus that its devices share. The "
          "link carries one copy at a time.",
          within(1, 1e30),
          only({.keys = {kind, over},
                .text = "where workers have the whole model, or in a pipeline over devices",
                .met = [&s] { return has_devices(s); }}),
          otherwise("\"16GBps\"; a single device has no bus and needs no copies"));
  v.field("bus_latency", &d.bus_latency, "Latency of each copy.", within(0, 3600),
          only({.keys = {count, "cluster.worker.device.bus_bandwidth", over},
                .text = "with several devices, or a bus_bandwidth",
                .met = [&s, &d] { return d.bus().has_value() && has_devices(s); }}));
  v.field("aggregate", choice(d.aggregate), "Where the gradients of a worker's devices are added up.",
          when(kind, {"parameter-server", "all-reduce"}),
          only({.keys = {count}, .text = "with several devices", .met = [&d] { return d.count > 1; }}));
  v.field("update", choice(d.update),
          "Where a worker that updates its own weights runs the optimizer. With `device` every device has "
          "its own copy of the weights and the optimizer state, and the host sends the devices only sums of "
          "gradients.",
          with_servers,
          only({.keys = {"training.update", count, "cluster.worker.device.bus_bandwidth"},
                .text = "with training.update = worker, and devices behind a bus",
                .met = [&s, &d] {
                  return d.bus().has_value() && (s.training.update == UpdateAt::worker || !s.groups.empty());
                }}));
}

void describe_peers(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view count = "cluster.worker.device.count", over = "architecture.over",
                         sums = "cluster.worker.device.aggregate";
  const auto with_peers = [&s, &d] {
    const bool devices_sum =
        !s.architecture.is_on_one_machine() && has_devices(s) && d.aggregate == DeviceAggregation::device;
    return d.count > 1 && (devices_sum || s.architecture.is_on_one_machine());
  };
  v.field("peers", choice(d.peers), "How devices copy to each other.",
          only({.keys = {count, sums, over},
                .text = "with several devices that add up gradients, or are stages of a pipeline",
                .met = with_peers}));
  v.field("peer_bandwidth", &d.peer_bandwidth,
          "Bandwidth, each way, of a device's port for copies from and to other devices. These copies do not "
          "use the host's link.",
          within(1, 1e30),
          only({.keys = {count, sums, "cluster.worker.device.peers", over},
                .text = "with several devices that copy to each other directly",
                .met = [&d, with_peers] { return with_peers() && d.peers == PeerAccess::direct; }}),
          otherwise("bus_bandwidth"));
}

}  // namespace

void describe_devices(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", over = "architecture.over";
  const Need devices{.keys = {kind, over},
                     .text = "where workers have the whole model, or in a pipeline over devices",
                     .met = [&s] { return has_devices(s); }};
  v.field("count", &d.count,
          "Number of devices of each worker. They share a batch in equal parts; the first devices take the "
          "remaining samples. In a pipeline over devices this is the number of stages.",
          within(1, 64), only(devices));
  v.field("speeds", &d.speeds, "Computing speed of each device.", within(1, 1e30), only(devices),
          otherwise("the worker's"));
  v.field("memory", &d.memory,
          "Memory of each device. Everything that the device holds must fit (docs/results.md, Memory). A "
          "single device without a bus is the worker's processor: it holds everything that the worker holds.",
          within(1, 1e18), otherwise("no limit"));
  describe_bus(v, s);
  describe_peers(v, s);
}

// Start-up, price, power, slowness and profiles of nodes.
void describe_startup(FieldVisitor& v, StartupSpec& s, std::string_view table) {
  const bool is_server = table == "cluster.server";
  const auto where = [is_server](FieldInfo& field) {
    if (is_server) with_servers(field);
  };
  v.field("startup", &s.mean,
          "Mean time from the beginning of the run until a node is up and asks the scheduler to join; for a "
          "spare worker, from the date when it has to replace a worker. A node that a fault restarts or lets "
          "join is up at once.",
          within(0, 1e6), where);
  const Need need{.keys = {is_server ? "cluster.server.startup" : "cluster.worker.startup"},
                  .text = "with startup",
                  .met = [&s] { return s.given(); }};
  v.field("startup_distribution", choice(s.distribution),
          "How the start-up time varies from node to node. A node's start counts as its first step.", where,
          only(need));
  describe_settings<DistributionRow>(v, "startup_distribution", s.settings,
                                     {.prefix = "startup_", .need = need, .without = "correlation"});
}

void describe_economy(FieldVisitor& v, EconomySpec& e) {
  v.field("price", &e.price,
          "Price of an hour of a node, in dollars, from the beginning of its start until it leaves or the "
          "run ends.",
          within(0, 1e9));
  v.table("power",
          "Electric power of each node. It grows linearly from `idle` to `full` with the share of time in "
          "which the node computes or copies.",
          [&] {
            v.field("idle", &e.power.idle, "Power while the node does nothing.", within(0, 1e9));
            v.field("full", &e.power.full, "Power while the node computes or copies; at least `idle`.",
                    within(0, 1e9));
          });
}

void describe_slow(FieldVisitor& v, Scenario& s) {
  SlowSpec& slow = s.recovery.slow;
  v.table(
      "slow",
      "The scheduler searches for workers that compute slowly for a long time. Workers report their time per "
      "sample after every clock (latency-induced probation: Dean, Barroso, CACM 2013). Without this table it "
      "does not search.",
      [&] {
        v.field("factor", &slow.factor,
                "A worker is slow when its mean time per sample is more than `factor` times the median of "
                "the other workers' means.",
                above(1, 1e6));
        v.field("window", &slow.window, "Number of clocks of each worker's mean.", within(1, 1e6));
        v.field("action", choice(slow.action), "What the scheduler does with a slow worker.");
      },
      &slow.given);
}

void describe_profile(FieldVisitor& v, ProfileSpec& p) {
  v.field("of", choice(p.of), "Meaning of the values in the file.");
  v.field("file", &p.file,
          "File with a date in seconds and a value in each line, in the order of the dates. Its content is "
          "part of the run's identity.",
          required);
  v.field("workers", &p.workers, "Which workers, counted from 0.", within(0, 19'999), filled,
          when("of", {"speed", "availability"}), otherwise("all"));
  v.field("nodes", &p.nodes, "The nodes whose links change, named as in [[fault]].", filled,
          when("of", {"bandwidth", "latency"}), otherwise("all nodes"));
  v.field("unit", choice(p.unit), "Unit of a bandwidth.", when("of", {"bandwidth"}));
  v.field("every", &p.every, "Repeat the profile with this period.", above(0, 1e9), otherwise("once"));
  v.field(
      "resample", &p.resample,
      "How a run takes the file. \"as it is\": from its beginning. \"blocks of TIME\": spans of the "
      "duration TIME from random places, one after the other (moving block bootstrap); the seed draws the "
      "places for each node.",
      when("of", {"speed", "bandwidth", "latency"}));
}

namespace {

// Sizes of topologies with a fixed shape.
void describe_shape(FieldVisitor& v, NetworkSpec& n) {
  v.field("racks", &n.racks, "Number of racks. psim assigns the nodes to the racks in turn.", within(1, 1024),
          when("topology", {"two-tier"}));
  v.field("aggregate", choice(n.aggregate), "Which node adds up the pushes of a rack's workers to a server.",
          when("topology", {"two-tier"}));
  v.field("oversubscription", &n.oversubscription,
          "Bandwidth of all links of a rack together, divided by the bandwidth of its uplink.", above(0, 1e6),
          when("topology", {"two-tier"}));
  v.field("ports", &n.ports,
          "Number k of ports of every switch, an even number. The tree holds k^3 / 4 nodes.", within(2, 64),
          when("topology", {"fat-tree"}), otherwise("the smallest number with room for all nodes"));
  v.field("dimensions", &n.dimensions, "Number of points of the grid along each dimension.", within(1, 8192),
          filled, when("topology", {"torus"}),
          otherwise("three dimensions, as near to a cube as possible with room for all nodes"));
  v.field("groups", &n.groups, "Number of groups of routers. One link connects each two groups.",
          within(1, 512), when("topology", {"dragonfly"}),
          otherwise("the smallest number with room for all nodes"));
  v.field("routers", &n.routers,
          "Number of routers of a group. Each router has a link to every other router of its group.",
          within(1, 32), when("topology", {"dragonfly"}));
  v.field("hosts_per_router", &n.hosts_per_router, "Largest number of nodes on one router.", within(1, 64),
          when("topology", {"dragonfly"}));
}

void describe_platform_file(FieldVisitor& v, NetworkSpec& n) {
  v.field("platform", &n.platform,
          "A platform file of SimGrid (XML). Its content is part of the run's identity.",
          when("topology", {"simgrid-xml"}), otherwise("must be given"));
  v.field("hosts", &n.hosts,
          "Names of the hosts in the file on which the nodes run, in this order: scheduler, servers, "
          "workers, database, inference nodes.",
          filled, when("topology", {"simgrid-xml"}), otherwise("the hosts of the file, in file order"));
  v.field("platform_speeds", &n.platform_speeds,
          "Whether servers and workers take their speed from the hosts of the file (all cores of a host "
          "together), instead of from `speed`.",
          when("topology", {"simgrid-xml"}));
}

void describe_link(FieldVisitor& v, LinkSpec& link) {
  v.field("between", &link.between,
          "Two names: \"scheduler\", \"server N\", \"worker N\", \"database\", \"inference N\", or any other "
          "name, which means a switch.",
          required);
  v.field("bandwidth", &link.bandwidth, "Bandwidth in each direction.", within(1, 1e30),
          otherwise("the network's"));
  v.field("latency", &link.latency, "One-way latency.", within(0, 3600), otherwise("the network's"));
}

void describe_endpoint(FieldVisitor& v, EndpointSpec& e) {
  v.field("send_overhead", &e.send_overhead,
          "Time that the sender works on each message before it enters the network.", within(0, 3600));
  v.field("send_bandwidth", &e.send_bandwidth, "Rate at which a sender serialises and copies bytes.",
          within(1, 1e30), otherwise("no limit"));
  v.field("receive_overhead", &e.receive_overhead,
          "Time that the receiver works on each message before its content can be used.", within(0, 3600));
  v.field("receive_bandwidth", &e.receive_bandwidth,
          "Rate at which a receiver copies and deserialises bytes.", within(1, 1e30), otherwise("no limit"));
}

// How connections share a link (docs/sharing.md).
void describe_shares(FieldVisitor& v, NetworkSpec& n) {
  v.field("share_spread", &n.share_spread,
          "How unevenly connections share a link. The last U(0, 2 * share_spread) turns of a message "
          "overtake the messages of other connections. With 0 connections share links ideally.",
          within(0, 3));
  v.field("share_turn", &n.share_turn,
          "Size of a turn: the bytes that a connection puts into its sender's queue before the next "
          "connection does. A turn is at most the whole message.",
          within(1, 1e15));
  v.field("share_cv", &n.share_cv,
          "How much the shares of equal messages of four workers differ, as a coefficient of variation. It "
          "grows with the number of workers or servers, up to eight (docs/sharing.md). Without effect if "
          "share_spread is 0.",
          within(0, 3));
  v.field(
      "share_queue", &n.share_queue,
      "The part of a message that waits at its receiver's port, 128 KiB at most, while the port is shared "
      "by more messages than the sender's. Packets to this receiver wait behind it (docs/sharing.md). "
      "Without effect if share_spread is 0.",
      within(0, 1));
  v.field(
      "share_start", &n.share_start,
      "The bytes of a message that its connection puts into the sender's queue at once: 128 KiB in Linux. "
      "Messages of one sender that begin together wait for each other's first bytes, and idle "
      "receivers wait with them (docs/sharing.md). 0: none. Without effect if share_spread is 0.",
      within(0, 1e15));
}

void describe_network(FieldVisitor& v, NetworkSpec& n) {
  v.field("topology", choice(n.topology), "How the network connects the nodes.");
  describe_shape(v, n);
  describe_platform_file(v, n);
  const std::vector<std::string_view> own_links = {"star",  "two-tier",  "fat-tree",
                                                   "torus", "dragonfly", "graph"};
  v.field("bandwidth", &n.bandwidth, "Bandwidth of every link, in each direction.", within(1, 1e30),
          when("topology", own_links));
  v.field(
      "bandwidth_sd", &n.bandwidth_sd,
      "How well the bandwidth is known: the standard deviation of its logarithm. Each seed draws a factor "
      "for the bandwidth of all links. psim calibrate takes it from its fit.",
      within(0, 1), when("topology", own_links));
  v.field("latency", &n.latency,
          "One-way latency of every link. A path through one switch has two links. The default of "
          "`simgrid_model`, lv08, multiplies it by 13.01; cm02 takes a measured latency as it is.",
          within(0, 3600), when("topology", own_links));
  v.field("model", choice(n.model), "How transfers share the links.");
  v.field("segments", &n.segments,
          "Smallest number of segments of a message that shares its way with other messages. With more "
          "segments the times are nearer to `fluid`, and the simulation takes proportionally longer.",
          within(2, 256), when("model", {"nic"}));
  v.field("simgrid_model", choice(n.simgrid_model), "The flow model of SimGrid.");
  v.field("cross_traffic", &n.cross_traffic,
          "Whether a transfer loads the opposite direction with 5 % of its rate, for acknowledgements.",
          only({.keys = {"cluster.network.model"}, .text = "with model = fluid", .met = [&n] {
                  return n.model == NetworkModel::fluid;
                }}));
  describe_shares(v, n);
  v.field("tcp_window", &n.tcp_window,
          "Largest number of bytes that a transfer sends in a round trip; 0 sets no limit.", within(0, 1e15),
          otherwise("\"4MiB\" for lv08, none for cm02"));
  v.field("header", &n.header,
          "Size of the framing and metadata of every message. The rest of a dense message is its values.",
          within(0, 1e6));
  v.field("joules_per_byte", &n.joules_per_byte, "Energy, in joules, of each sent byte.", within(0, 1e6));
  v.table(
      "endpoint",
      "The time that processes need to send and receive messages. A process handles one message at a time.",
      [&] { describe_endpoint(v, n.endpoint); });
  v.tables("link", "The links of the network.", n.links, describe_link, when("topology", {"graph"}));
}

// A given time of a step replaces work / speed. Other work still needs the speed, and so does a time for
// workers of different speeds.
Need speed_need(Scenario& s) {
  const std::vector<FlopsPerSecond>& speeds = s.cluster.worker.speed.values;
  return {
      .keys = {"compute.time", "compute.trace_unit", "cluster.worker.device.speeds", "training.update",
               "filter", "group"},
      .text = "without compute.time, with different speeds, or if updates, filters or devices need the speed",
      .met =
          [&s] {
            const bool filters = std::ranges::any_of(
                s.filters, [](const FilterSpec& filter) { return filter.flops_per_value > 0; });
            const bool updates =
                s.training.update == UpdateAt::worker && s.cluster.worker.flops_per_value > 0;
            const bool has_steps =
                s.compute.is_in_seconds() || (s.compute.time && s.cluster.worker.speed.values.size() == 1);
            return !has_steps || !s.groups.empty() || filters || updates ||
                   !s.cluster.worker_devices.speeds.values.empty();
          },
      .kept = speeds.size() != 1 || speeds[0].value != Speeds{}.values[0].value};
}

void describe_worker(FieldVisitor& v, Scenario& s) {
  ClusterSpec& c = s.cluster;
  v.field("speed", &c.worker.speed, "Computing speed: one for all, or a list with one for each.",
          within(1, 1e30), only(speed_need(s)));
  v.field("flops_per_value", &c.worker.flops_per_value,
          "Operations of a worker for each value that it updates itself.", within(0, 1e12),
          only({.keys = {"training.update"}, .text = "with training.update = worker", .met = [&s] {
                  return s.training.update == UpdateAt::worker || !s.groups.empty();
                }}));
  v.field("memory", &c.worker.memory,
          "Memory of a worker's host. What it holds must fit (docs/results.md, Memory).", within(1, 1e18),
          only({.keys = {"architecture.over"},
                .text = "where the host computes or sums: not in a pipeline over devices",
                .met = [&s] { return !s.architecture.is_on_one_machine(); }}),
          otherwise("no limit"));
  describe_startup(v, c.worker.startup, "cluster.worker");
  describe_economy(v, c.worker.economy);
  v.table("device", "Devices of every worker, which compute the gradients.", [&] { describe_devices(v, s); });
}

void describe_server(FieldVisitor& v, ClusterSpec& c) {
  v.field("speed", &c.server.speed,
          "Computing speed: one for all, or a list with one for each; not with cluster.colocate.",
          within(1, 1e30), with_servers);
  v.field("flops_per_value", &c.server.flops_per_value,
          "Operations of a server for each value that it receives; 0 makes servers infinitely fast.",
          within(0, 1e12), with_servers);
  v.field("memory", &c.server.memory,
          "Memory of a server. What the fullest one holds must fit (docs/results.md, Memory).",
          within(1, 1e18), with_servers, otherwise("no limit"));
  describe_startup(v, c.server.startup, "cluster.server");
  describe_economy(v, c.server.economy);
}

}  // namespace

void describe_cluster(FieldVisitor& v, Scenario& s) {
  ClusterSpec& c = s.cluster;
  v.field("workers", &c.workers, "Number of workers. A pipeline over devices has one, whatever the default.",
          within(1, most_workers));
  v.field(
      "spares", &c.spares,
      "Number of spare workers: the last of the workers. A spare worker takes part only when it replaces a "
      "slow worker.",
      within(0, most_workers),
      only({.keys = {"recovery.slow.action"},
            .text = "with [recovery.slow] and action = replace",
            .met = [&s] { return s.recovery.slow.given && s.recovery.slow.action == SlowAction::replace; }}));
  v.field("servers", &c.servers,
          "Number of servers; with the default placement each has an equal part of the model.",
          within(1, 4096), with_servers);
  v.field("colocate", &c.colocate,
          "Whether server N runs on the machine of worker N: both share its speed, `worker.speed`, and its "
          "link. Messages between the two cross no network. A fault names the machine \"host N\".",
          with_servers);
  v.table("worker", "Every worker's machine.", [&] { describe_worker(v, s); });
  v.table("server", "Every server's machine.", [&] { describe_server(v, c); });
  v.table("network", "The network between them.", [&] { describe_network(v, c.network); });
}

}  // namespace psim
