#include <algorithm>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

namespace {

// Sizes of the topologies that have a shape.
void describe_shape(FieldVisitor& v, NetworkSpec& n) {
  v.field("racks", &n.racks,
          {.doc = "Number of racks; nodes go to them in turn.",
           .min = 1,
           .max = 1024,
           .when_key = "topology",
           .when = {"two-tier"}});
  v.field("aggregate", choice(n.aggregate),
          {.doc = "Where pushes of a rack's workers to a server outside or inside of it become one.",
           .when_key = "topology",
           .when = {"two-tier"}});
  v.field("oversubscription", &n.oversubscription,
          {.doc = "Bandwidth of all links of a rack together, divided by the bandwidth of its uplink.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "topology",
           .when = {"two-tier"}});
  v.field("ports", &n.ports,
          {.doc = "Ports k of every switch, an even number; the tree holds k^3 / 4 nodes.",
           .min = 2,
           .max = 64,
           .when_key = "topology",
           .when = {"fat-tree"},
           .default_text = "the smallest that holds all nodes"});
  v.field("dimensions", &n.dimensions,
          {.doc = "Points of the grid along each dimension.",
           .min = 1,
           .max = 8192,
           .filled = true,
           .when_key = "topology",
           .when = {"torus"},
           .default_text = "three dimensions, as near to a cube as possible with room for all nodes"});
  v.field("groups", &n.groups,
          {.doc = "Groups of routers, with one link between each two.",
           .min = 1,
           .max = 512,
           .when_key = "topology",
           .when = {"dragonfly"},
           .default_text = "the fewest that hold all nodes"});
  v.field("routers", &n.routers,
          {.doc = "Routers of a group; each has a link to every other.",
           .min = 1,
           .max = 32,
           .when_key = "topology",
           .when = {"dragonfly"}});
  v.field("hosts_per_router", &n.hosts_per_router,
          {.doc = "Largest number of nodes at one router.",
           .min = 1,
           .max = 64,
           .when_key = "topology",
           .when = {"dragonfly"}});
}

void describe_platform_file(FieldVisitor& v, NetworkSpec& n) {
  v.field("platform", &n.platform,
          {.doc = "SimGrid's platform file (XML); its content is part of the run's identity.",
           .when_key = "topology",
           .when = {"simgrid-xml"},
           .default_text = "must be given"});
  v.field("hosts", &n.hosts,
          {.doc = "Names of the file's hosts for the nodes, in this order: scheduler, servers, workers, "
                  "database, inference nodes.",
           .filled = true,
           .when_key = "topology",
           .when = {"simgrid-xml"},
           .default_text = "the file's hosts, in file order"});
  v.field("platform_speeds", &n.platform_speeds,
          {.doc = "Whether servers and workers take their speed from the file's hosts, all cores of a host "
                  "together, instead of `speed`.",
           .when_key = "topology",
           .when = {"simgrid-xml"}});
}

void describe_link(FieldVisitor& v, LinkSpec& link) {
  v.field("between", &link.between,
          {.doc = "Two names: \"scheduler\", \"server N\", \"worker N\", \"database\", \"inference N\", or "
                  "any other name, which stands for a switch.",
           .required = true});
  v.field("bandwidth", &link.bandwidth,
          {.doc = "Bandwidth, each way.", .min = 1, .max = 1e30, .default_text = "the network's"});
  v.field("latency", &link.latency,
          {.doc = "One-way latency.", .min = 0, .max = 3600, .default_text = "the network's"});
}

void describe_endpoint(FieldVisitor& v, EndpointSpec& e) {
  v.field(
      "send_overhead", &e.send_overhead,
      {.doc = "Time of the sender for each message, before it goes to the network.", .min = 0, .max = 3600});
  v.field("send_bandwidth", &e.send_bandwidth,
          {.doc = "Bytes that a sender serialises and copies in a second.",
           .min = 1,
           .max = 1e30,
           .default_text = "no limit"});
  v.field("receive_overhead", &e.receive_overhead,
          {.doc = "Time of the receiver for each message, before it can be read.", .min = 0, .max = 3600});
  v.field("receive_bandwidth", &e.receive_bandwidth,
          {.doc = "Bytes that a receiver copies and deserialises in a second.",
           .min = 1,
           .max = 1e30,
           .default_text = "no limit"});
}

void describe_network(FieldVisitor& v, NetworkSpec& n) {
  v.field("topology", choice(n.topology), {.doc = "How the network connects the nodes."});
  describe_shape(v, n);
  describe_platform_file(v, n);
  const std::vector<std::string_view> own_links = {"star",  "two-tier",  "fat-tree",
                                                   "torus", "dragonfly", "graph"};
  v.field("bandwidth", &n.bandwidth,
          {.doc = "Bandwidth of every link, each way.",
           .min = 1,
           .max = 1e30,
           .when_key = "topology",
           .when = own_links});
  v.field("latency", &n.latency,
          {.doc = "One-way latency of every link; a path through one switch has two links.",
           .min = 0,
           .max = 3600,
           .when_key = "topology",
           .when = own_links});
  v.field("model", choice(n.model), {.doc = "How transfers share the links."});
  v.field("segments", &n.segments,
          {.doc = "Segments of a message that meets others, at least: more are nearer to `fluid`, and cost "
                  "as much more.",
           .min = 2,
           .max = 256,
           .when_key = "model",
           .when = {"nic"}});
  v.field("simgrid_model", choice(n.simgrid_model), {.doc = "SimGrid's flow model."});
  v.field("cross_traffic", &n.cross_traffic,
          {.doc = "Whether a transfer loads the opposite direction with 5 % for acknowledgements."});
  v.field("share_spread", &n.share_spread,
          {.doc = "How unevenly connections share a link: a message's last U(0, 2 * share_spread) turns go "
                  "ahead of what others send. With 0 they share links ideally.",
           .min = 0,
           .max = 3});
  v.field("share_turn", &n.share_turn,
          {.doc = "Turn of a connection: what it puts into its sender's queue before the others do; at most "
                  "the whole message.",
           .min = 1,
           .max = 1e15});
  v.field("tcp_window", &n.tcp_window,
          {.doc = "A transfer sends at most this much per round trip; 0 is no limit.",
           .min = 0,
           .max = 1e15,
           .default_text = "\"4MiB\" for lv08, none for cm02"});
  v.field("header", &n.header,
          {.doc = "Framing and metadata added to every message. Apart from these, a dense message consists "
                  "of its values.",
           .min = 0,
           .max = 1e6});
  v.field("joules_per_byte", &n.joules_per_byte,
          {.doc = "Energy, in joules, for each byte that is sent.", .min = 0, .max = 1e6});
  v.table("endpoint", "What messages cost the processes that send and receive them, one message at a time.",
          [&] { describe_endpoint(v, n.endpoint); });
  v.tables(
      "link", "A link of the network.", n.links.size(), [&](std::size_t count) { n.links.resize(count); },
      [&](std::size_t i) { describe_link(v, n.links[i]); },
      {.doc = {}, .when_key = "topology", .when = {"graph"}});
}

}  // namespace

namespace {

// compute.time stands for work / speed, but other work has no time of its own.
Need speed_need(Scenario& s) {
  const std::vector<FlopsPerSecond>& speeds = s.cluster.worker.speed.values;
  return {.keys = {"compute.time", "cluster.worker.device.speeds", "training.update", "filter", "group"},
          .text = "without compute.time, or where updates, filters or devices need it",
          .met =
              [&s] {
                const bool filters = std::ranges::any_of(
                    s.filters, [](const FilterSpec& filter) { return filter.flops_per_value > 0; });
                const bool updates =
                    s.training.update == UpdateAt::worker && s.cluster.worker.flops_per_value > 0;
                return !s.compute.time || !s.groups.empty() || filters || updates ||
                       !s.cluster.worker_devices.speeds.values.empty();
              },
          .kept = speeds.size() != 1 || speeds[0].value != Speeds{}.values[0].value};
}

void describe_worker(FieldVisitor& v, Scenario& s) {
  ClusterSpec& c = s.cluster;
  v.field("speed", &c.worker.speed,
          {.doc = "Computing speed: one for all, or a list with one for each.",
           .min = 1,
           .max = 1e30,
           .need = speed_need(s)});
  v.field("flops_per_value", &c.worker.flops_per_value,
          {.doc = "Operations of a worker for each value that it updates itself.",
           .min = 0,
           .max = 1e12,
           .need = {.keys = {"training.update"}, .text = "with training.update = worker", .met = [&s] {
                      return s.training.update == UpdateAt::worker || !s.groups.empty();
                    }}});
  v.field("memory", &c.worker.memory,
          {.doc = "Memory of a worker's host. What it holds must fit (docs/results.md, Memory).",
           .min = 1,
           .max = 1e18,
           .default_text = "no limit"});
  describe_startup(v, c.worker.startup, "cluster.worker");
  describe_economy(v, c.worker.economy);
  v.table("device", "Devices of every worker, which compute the gradients.", [&] { describe_devices(v, s); });
}

void describe_server(FieldVisitor& v, ClusterSpec& c) {
  v.field("speed", &c.server.speed,
          {.doc = "Computing speed: one for all, or a list with one for each; not with cluster.colocate.",
           .min = 1,
           .max = 1e30,
           .when_key = "architecture.kind",
           .when = {"parameter-server"}});
  v.field("flops_per_value", &c.server.flops_per_value,
          {.doc = "Operations of a server for each value that it receives; 0 makes servers infinitely fast.",
           .min = 0,
           .max = 1e12,
           .when_key = "architecture.kind",
           .when = {"parameter-server"}});
  v.field("memory", &c.server.memory,
          {.doc = "Memory of a server. What the fullest one holds must fit (docs/results.md, Memory).",
           .min = 1,
           .max = 1e18,
           .when_key = "architecture.kind",
           .when = {"parameter-server"},
           .default_text = "no limit"});
  describe_startup(v, c.server.startup, "cluster.server");
  describe_economy(v, c.server.economy);
}

}  // namespace

void describe_cluster(FieldVisitor& v, Scenario& s) {
  ClusterSpec& c = s.cluster;
  v.field("workers", &c.workers,
          {.doc = "Number of workers. A pipeline over devices has one, whatever the default.",
           .min = 1,
           .max = 20'000});
  v.field(
      "spares", &c.spares,
      {.doc = "Of the workers, the last so many: they are absent until one joins in the place of a slow one.",
       .min = 0,
       .max = 20'000,
       .need = {
           .keys = {"recovery.slow.action"},
           .text = "with [recovery.slow] and action = replace",
           .met = [&s] { return s.recovery.slow.given && s.recovery.slow.action == SlowAction::replace; }}});
  v.field("servers", &c.servers,
          {.doc = "Number of servers; the model is cut into as many equal ranges.",
           .min = 1,
           .max = 4096,
           .when_key = "architecture.kind",
           .when = {"parameter-server"}});
  v.field(
      "colocate", &c.colocate,
      {.doc = "Whether server N runs on the machine of worker N: both share its speed, `worker.speed`, and "
              "its link. Messages between the two cross no network. A fault names the machine \"host N\".",
       .when_key = "architecture.kind",
       .when = {"parameter-server"}});
  v.table("worker", "Every worker's machine.", [&] { describe_worker(v, s); });
  v.table("server", "Every server's machine.", [&] { describe_server(v, c); });
  v.table("network", "The network between them.", [&] { describe_network(v, c.network); });
}

void describe_compute(FieldVisitor& v, ComputeSpec& c) {
  v.field("distribution", choice(c.distribution),
          {.doc = "How the time of a step varies; the mean stays the same."});
  describe_settings<DistributionRow>(v, "distribution", c.settings);
  v.field("time", &c.time,
          {.doc = "Mean time of a step: of one batch on one device that is as fast as `speed`.",
           .min = 0,
           .max = 1e9,
           .default_text = "flops of the gradient / speed"});
  v.field("trace", &c.trace,
          {.doc = "File of factors: one row per step, with one column for all workers or one for each.",
           .when_key = "distribution",
           .when = names_of_rows<DistributionRow>([](const auto& row) { return row.reads_trace; })});
}

void describe_straggler(FieldVisitor& v, StragglerSpec& s) {
  v.field("workers", &s.workers,
          {.doc = "Which workers, counted from 0.", .min = 0, .max = 19'999, .required = true});
  v.field("slowdown", &s.slowdown, {.doc = "How much slower they are.", .min = 1, .max = 1e6});
  v.field("from", &s.from,
          {.doc = "Start of the slow time.", .min = 0, .max = 1e9, .default_text = "the beginning"});
  v.field(
      "until", &s.until,
      {.doc = "End of the slow time.", .min = 0, .max = 1e9, .above_min = true, .default_text = "the end"});
  v.field("every", &s.every,
          {.doc = "Repeat the slow time with this period.",
           .min = 0,
           .max = 1e9,
           .above_min = true,
           .default_text = "once"});
  v.field("probability", &s.probability,
          {.doc = "Probability that a step is slow; excludes `from`, `until` and `every`.",
           .min = 0,
           .max = 1,
           .default_text = "slow by time, not by chance"});
}

}  // namespace psim
