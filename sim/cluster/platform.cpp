#include "sim/cluster/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/route_table.hpp"
#include "sim/cluster/share_weights.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

constexpr double unlimited = 1e18;  // bytes per second: never the bottleneck

// A route from one host to another.
struct PairOfNodes {
  std::uint32_t from, to;
  RouteTable::Links links;
  double latency = 0;   // of the whole route
  double of_links = 0;  // of its links
};

class Builder {
 public:
  Builder(const Scenario& scenario)
      : scenario_(scenario),
        network_(scenario.cluster.network),
        latency_unit_(latency_unit(scenario.cluster.network)),
        routes_(RouteTable::make("cluster")),
        zone_(routes_->get_iface()) {
    platform_.routes = routes_;
  }

  Platform build() {
    add_hosts();
    if (network_.model == NetworkModel::fluid) add_links();  // other carriers have their own links
    zone_->seal();
    for (std::uint32_t node = 0; node < node_count(scenario_.cluster) + aggregator_count(scenario_.cluster);
         ++node) {
      const std::uint32_t host = host_of(scenario_.cluster, node);
      platform_.hosts.push_back(hosts_[host]);
      platform_.own_links.push_back(own_links_[host]);
    }
    return std::move(platform_);
  }

 private:
  // Cpu computes the machines' times (cpu.hpp), so SimGrid's speeds mean nothing.
  void add_hosts() {
    const ClusterSpec& cluster = scenario_.cluster;
    for (std::uint32_t number = 0; number < host_count(cluster); ++number) {
      hosts_.push_back(add_host(*zone_, fmt::format("node {}", nodes_on(cluster, number).front()), 1));
      hosts_.back()->seal();
    }
    own_links_.resize(hosts_.size());
  }

  void add_links() {
    if (network_.topology == TopologyKind::simgrid_xml) build_from_file(network_.platform_file);
    else build_from(make_topology(scenario_.cluster));
  }

  double latency_of_link(double latency) const { return latency * latency_unit_; }

  // Computes paths twice, because storing all of them may take much memory. The first time it finds the used
  // links.
  void build_from(const Topology& topology) {
    const auto pairs = talking_hosts();
    Paths paths(topology);
    std::vector<bool> used(topology.links.size(), false);
    for (const auto& [a, b] : pairs) {
      for (const Hop& hop : paths.between(b, a)) used[hop.link] = true;
      for (const Hop& hop : paths.between(a, b)) used[hop.link] = true;
    }
    std::vector<sg4::SplitDuplexLink*> links(topology.links.size());
    for (std::size_t i = 0; i < topology.links.size(); ++i) {
      if (!used[i]) continue;
      links[i] = add_split_duplex_link(*zone_, fmt::format("link {}", i), topology.links[i].bandwidth);
      links[i]->set_latency(latency_of_link(topology.links[i].latency))->seal();
      for (const std::uint32_t end : {topology.links[i].a, topology.links[i].b}) {
        if (end < topology.hosts) own_links_[end].push_back(links[i]);
      }
    }
    const auto way = [&](std::uint32_t from, std::uint32_t to) {
      PairOfNodes result{.from = from, .to = to, .links = {}};
      for (const Hop& hop : paths.between(from, to)) {
        const sg4::SplitDuplexLink* link = links[hop.link];
        result.links.push_back(hop.forward ? link->get_link_up() : link->get_link_down());
        result.latency += topology.links[hop.link].latency;
      }
      result.of_links = result.latency;
      return result;
    };
    for (const auto& [a, b] : pairs) add_routes(way(b, a), way(a, b));
  }

  // Each pair of hosts once, in the order of its first pair of nodes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_hosts() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const auto& [a, b] : talking_pairs(scenario_)) {
      const std::uint32_t from = host_of(scenario_.cluster, a), to = host_of(scenario_.cluster, b);
      const std::pair<std::uint32_t, std::uint32_t> pair = std::minmax(from, to);
      if (from != to && (!scenario_.cluster.colocate || seen.insert(pair).second)) pairs.push_back(pair);
    }
    return pairs;
  }

  void build_from_file(const PlatformFile& file) {
    std::vector<sg4::Link*> links;
    for (std::size_t i = 0; i < file.links.size(); ++i) {
      sg4::Link* link = add_link(*zone_, fmt::format("link {}", i), file.links[i].bandwidth);
      if (file.links[i].fat_pipe) link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
      links.push_back(link->set_latency(latency_of_link(file.links[i].latency))->seal());
    }
    const auto way = [&](const PlatformFile::Route& route) {
      PairOfNodes result{.from = route.from, .to = route.to, .links = {}, .latency = route.latency};
      for (const std::uint32_t link : route.links) {
        result.links.push_back(links[link]);
        result.of_links += file.links[link].latency;
      }
      return result;
    };
    // The two routes of a pair are neighbours.
    for (std::size_t i = 0; i + 1 < file.routes.size(); i += 2)
      add_routes(way(file.routes[i]), way(file.routes[i + 1]));
  }

  void add_routes(const PairOfNodes& there, const PairOfNodes& back) {
    sg4::Link* own = own_link(there);
    const bool alike = back.latency == there.latency && back.of_links == there.of_links;
    add_route(there, own);
    add_route(back, alike ? own : own_link(back));
  }

  void add_route(PairOfNodes way, const sg4::Link* own) {
    if (own != nullptr) way.links.push_back(own);
    routes_->add(hosts_[way.from], hosts_[way.to], way.links);
  }

  // A link with the latency that a platform file's route has in addition to its links. Null without such
  // latency.
  sg4::Link* own_link(const PairOfNodes& way) {
    const double latency = way.latency - way.of_links;
    if (!(latency > 1e-9 * way.latency)) return nullptr;
    sg4::Link* link = add_link(*zone_, fmt::format("pair {} {}", way.from, way.to), unlimited);
    link->set_latency(latency * latency_unit_)->seal();
    return link;
  }

  const Scenario& scenario_;
  const NetworkSpec& network_;
  double latency_unit_;
  RouteTable* routes_;
  sg4::NetZone* zone_;
  Platform platform_;
  // By machine; Platform has the same by node.
  std::vector<sg4::Host*> hosts_;
  std::vector<std::vector<sg4::Link*>> own_links_;
};

}  // namespace

std::vector<std::string> engine_options(const Scenario& scenario) {
  const NetworkSpec& network = scenario.cluster.network;
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  const FlowModel model = flow_model(network);
  const double unit = latency_unit(network);
  std::vector<std::string> options{
      fmt::format("network/model:{}", lv08 ? "LV08" : "CM02"),
      "network/crosstraffic:0",  // fluid_carrier.hpp
      fmt::format("network/TCP-gamma:{}", shortest(unit * model.window)),
      // SimGrid 3.32's default, Lazy, forgets links when several flows start to share them at one date, as
      // they do after a barrier: two workers that pull from four servers get 3 times a link's capacity
      // (tests/oracles/network_test.cpp, incast). Full solves for all flows, and is not slower for psim.
      "network/optim:Full",
  };
  if (unit != 1) options.push_back(fmt::format("network/latency-factor:{}", model.latency / unit));
  if (network.share_spread > 0) options.emplace_back("network/weight-S:0");
  return options;
}

Platform build_platform(const Scenario& scenario) { return Builder(scenario).build(); }

}  // namespace psim
