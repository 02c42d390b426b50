// Checks of the network: room for all nodes, and a path between each two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <set>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/network_size.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr double most_points = 16384;  // of a torus

// "worker 1, worker 2, worker 3 and 5 more"
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t most = 4;
  const std::size_t count = names.size();
  names.resize(std::min(count, most));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return count > most ? fmt::format("{} and {} more", text, count - most) : text;
}

// SimGrid shares a link by the latencies of the connections, and fails on numbers near its precision.
void check_latency(const Check& check, const std::string& field, double latency) {
  constexpr double least_latency = 10 / 1e9;
  if (check.s.cluster.network.share_spread > 0 && latency > 0 && latency < least_latency) {
    check.add({field, "cluster.network.share_spread"}, fmt::format("`{}` is {} s", field, latency),
              "too short: connections share links by their latencies",
              "use 0 or at least 10ns, or share_spread = 0 with any latency");
  }
}

// A topology with given sizes must have room for the scheduler, the servers and the workers.
void check_room(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const NetworkSpec& n = c.network;
  const std::int64_t nodes = host_count(c);
  const auto refuse = [&](const std::string& field, std::string message, std::string label,
                          std::string help) {
    check.add({"cluster.network." + field, "cluster.network.topology", "cluster.network.routers",
               "cluster.network.hosts_per_router", "cluster.workers", "cluster.servers"},
              std::move(message), std::move(label), std::move(help));
  };
  const auto fit = [nodes](double room) {
    return fmt::format("there is room for {}, but the cluster has {}",
                       counted(static_cast<std::int64_t>(room), "node"), nodes);
  };
  if (n.topology == TopologyKind::fat_tree && n.ports) {
    const std::string message = fmt::format("`cluster.network.ports` is {}", *n.ports);
    if (*n.ports % 2 != 0)
      return refuse("ports", message, "must be even", "half of a switch's ports lead up, and half lead down");
    const std::int64_t room = fat_tree_capacity(*n.ports);
    if (room < nodes)
      refuse("ports", message, fit(static_cast<double>(room)),
             fmt::format("at least {}", least_fat_tree_ports(nodes)));
  }
  if (n.topology == TopologyKind::torus && !n.dimensions.empty()) {
    const double room = torus_capacity(n.dimensions);
    const std::string message =
        fmt::format("`cluster.network.dimensions` is [{}]", fmt::join(n.dimensions, ", "));
    if (room < static_cast<double>(nodes))
      refuse("dimensions", message, fit(room),
             fmt::format("for example dimensions = [{}]", fmt::join(least_torus(nodes), ", ")));
    if (room > most_points)
      refuse("dimensions", message, fmt::format("{} points, at most {}", room, most_points), "");
  }
  if (n.topology == TopologyKind::dragonfly) {
    const std::int64_t room = dragonfly_groups(c) * n.routers * n.hosts_per_router;
    const std::string size =
        fmt::format("of {} with {} each", counted(n.routers, "router"), counted(n.hosts_per_router, "node"));
    const std::int64_t least = least_dragonfly_groups(c);
    if (n.groups && room < nodes)
      refuse("groups", fmt::format("`cluster.network.groups` is {}, {}", *n.groups, size),
             fit(static_cast<double>(room)), fmt::format("use at least {}, or larger groups", least));
    constexpr std::int64_t most_groups = 512;
    if (!n.groups && least > most_groups)
      refuse("routers", fmt::format("{} {} are needed", counted(least, "group"), size),
             fmt::format("at most {}", most_groups), "make groups larger");
  }
}

// Checks that the two names can be the ends of a link.
bool check_ends(const Check& check, const std::string& field, const std::vector<std::string>& names) {
  const ClusterSpec& c = check.s.cluster;
  if (names[0] == names[1])
    return check.add({field}, "a link leads from a node to itself", "both ends are the same"), false;
  bool sound = true;
  for (const std::string& name : names) {
    const std::string meant = meant_node(name);
    if ((meant.empty() && !name.empty()) || (meant == name && node_named(c, name))) continue;
    sound = false;
    const bool exists = node_named(c, meant).has_value();
    const bool server = meant.starts_with("server");
    const std::int64_t count = server ? c.servers : c.workers;
    const std::string label =
        name.empty() ? "a name is empty"
        : exists     ? "too similar to a node's name to name a switch"
        : count == 1 ? fmt::format("the only one is {} 0", server ? "server" : "worker")
                     : fmt::format("there are {0} 0 to {0} {1}", server ? "server" : "worker", count - 1);
    check.add({field, "cluster.workers", "cluster.servers"},
              name.empty() ? "a link leads nowhere" : fmt::format("there is no node `{}`", name), label,
              exists ? fmt::format("did you mean \"{}\"?", meant) : "");
  }
  return sound;
}

// Every node must have a path to the scheduler, and so to all other nodes.
void check_connected(const Check& check) {
  const GraphEnds ends = graph_ends(check.s.cluster);
  boost::disjoint_sets_with_storage<> parts(ends.vertices);
  std::set<std::uint32_t> linked;
  for (const auto& [a, b] : ends.links) {
    parts.union_set(a, b);
    linked.insert({a, b});
  }
  std::vector<std::string> without_link, apart;
  for (std::uint32_t node = 0; node < node_count(check.s.cluster); ++node) {
    if (!linked.contains(node)) without_link.push_back(node_name(check.s.cluster, node));
    else if (parts.find_set(node) != parts.find_set(0U)) apart.push_back(node_name(check.s.cluster, node));
  }
  const std::vector<std::string> fields{"cluster.network.topology", "cluster.network.link", "cluster.workers",
                                        "cluster.servers"};
  if (!without_link.empty())
    check.add(fields, fmt::format("nodes without a link: {}", listed(without_link)),
              "every node needs a link",
              fmt::format("for example between = [\"{}\", \"switch a\"]", without_link.front()));
  if (!apart.empty() && linked.contains(0))
    check.add(fields, fmt::format("there is no path from the scheduler to {}", listed(apart)),
              "the graph is not connected", "connect its parts; a switch has the same name in all links");
}

void check_graph(const Check& check) {
  const std::vector<LinkSpec>& links = check.s.cluster.network.links;
  const std::string table = "cluster.network.link";
  if (links.empty())
    return check.add({table, "cluster.network.topology"}, "a graph needs its links", "there is no link",
                     "write [[cluster.network.link]] tables with between = [\"server 0\", \"switch a\"]");
  bool sound = check.reading.reliable(table) && check.reading.reliable("cluster.workers") &&
               check.reading.reliable("cluster.servers");
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string field = fmt::format("{}.{}.between", table, i);
    const std::vector<std::string>& names = links[i].between;
    sound = sound && check.reading.reliable(field) && names.size() == 2;
    if (!check.reading.reliable(field)) continue;
    if (names.empty()) continue;  // missing
    if (names.size() != 2) {
      check.add({field},
                fmt::format("link {} has {}", i, counted(static_cast<std::int64_t>(names.size()), "end")),
                "must be two names", "for example between = [\"server 0\", \"switch a\"]");
      continue;
    }
    sound = check_ends(check, field, names) && sound;
    const auto [at, fresh] = known.try_emplace(std::minmax(names[0], names[1]), i);
    if (!fresh)
      check.add({field}, fmt::format("`{}` and `{}` are linked twice", names[0], names[1]),
                fmt::format("also by link {}", at->second), "write one link with the sum of both bandwidths");
  }
  if (sound) check_connected(check);
}

void check_platform(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const std::string speeds = "cluster.network.platform_speeds";
  if (c.network.platform.empty())
    check.add({"cluster.network.topology", "cluster.network.platform"}, "simgrid-xml needs `platform`",
              "which file?", "for example platform = \"cluster.xml\"");
  if (!c.network.platform_speeds) return;
  for (const std::string speed : {"cluster.worker.speed", "cluster.server.speed", "inference.speed"}) {
    if (check.reading.given(speed))
      check.add({speed, speeds}, fmt::format("`{}` is given twice", speed),
                "platform_speeds takes it from the platform file", "remove one of them");
  }
}

}  // namespace

void check_network(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const NetworkSpec& n = c.network;
  if (n.topology == TopologyKind::two_tier && n.racks > c.workers + c.servers) {
    check.add({"cluster.network.racks", "cluster.network.topology", "cluster.workers", "cluster.servers"},
              fmt::format("`cluster.network.racks` is {}", n.racks),
              there_are(c.workers + c.servers, "node"));
  }
  check_room(check);
  if (n.topology == TopologyKind::graph) check_graph(check);
  if (n.topology == TopologyKind::simgrid_xml) check_platform(check);
  check_latency(check, "cluster.network.latency", n.latency.value);
  for (std::size_t i = 0; i < n.links.size(); ++i) {
    if (n.links[i].latency)
      check_latency(check, fmt::format("cluster.network.link.{}.latency", i), n.links[i].latency->value);
  }
}

bool can_load_platform(const Check& check) {
  const NetworkSpec& n = check.s.cluster.network;
  return n.topology == TopologyKind::simgrid_xml && !n.platform.empty() && check.reading.complete &&
         check.reading.reliable("cluster") && check.reading.reliable("consistency");
}

}  // namespace psim
