#include <algorithm>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

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
          within(1, 20'000));
  v.field(
      "spares", &c.spares,
      "Number of spare workers: the last of the workers. A spare worker takes part only when it replaces a "
      "slow worker.",
      within(0, 20'000),
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
