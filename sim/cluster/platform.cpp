#include "sim/cluster/platform.hpp"

#include <fmt/format.h>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/random.hpp"
#include "sim/cluster/topology.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

constexpr double unlimited = 1e18;  // bytes per second: never the bottleneck

// Every factor that windowed stragglers can give a worker: the products of any of them.
std::vector<double> levels_of(const std::vector<StragglerSpec>& stragglers, std::int64_t worker) {
  std::set<double, std::greater<>> levels{1.0};
  for (const StragglerSpec& s : stragglers) {
    if (s.probability || std::ranges::find(s.workers, worker) == s.workers.end()) continue;
    std::set<double, std::greater<>> more = levels;
    for (const double level : levels) more.insert(level / s.slowdown);
    levels = std::move(more);
  }
  return {levels.begin(), levels.end()};
}

class Builder {
 public:
  Builder(const Scenario& scenario)
      : scenario_(scenario),
        network_(scenario.cluster.network),
        topology_(make_topology(scenario.cluster)),
        zone_(sg4::create_full_zone("cluster")) {}

  Platform build() {
    add_hosts();
    for (std::size_t i = 0; i < topology_.links.size(); ++i) {
      auto* link = zone_->create_split_duplex_link(fmt::format("link {}", i), topology_.links[i].bandwidth);
      // With unequal shares the pair's own link carries the whole latency.
      link->set_latency(network_.share_spread > 0 ? 0 : topology_.links[i].latency)->seal();
      links_.push_back(link);
    }
    const auto servers = static_cast<std::uint32_t>(scenario_.cluster.servers);
    for (std::uint32_t root = 0; root <= servers;
         ++root) {  // the scheduler and every server talk to everybody
      const PathTree tree(topology_, root);
      for (std::uint32_t host = root + 1; host < topology_.hosts; ++host) {
        const bool among_servers = root > 0 && host <= servers;
        const bool first_tells =
            root == 1 && make_rule(scenario_.consistency, scenario_.cluster.workers).first_decides;
        if (among_servers && !first_tells) continue;
        add_routes(host, root, tree.path_from(host));
      }
    }
    add_routes_between_workers();
    zone_->seal();
    return std::move(platform_);
  }

 private:
  void add_hosts() {
    const ClusterSpec& cluster = scenario_.cluster;
    for (std::uint32_t node = 0; node < topology_.hosts; ++node) {
      const auto servers = static_cast<std::uint32_t>(cluster.servers);
      const bool is_worker = node > servers;
      double speed = 1e9;
      if (is_worker) speed = cluster.worker.speed.of(node - servers - 1).value;
      else if (node > 0) speed = cluster.server.speed.of(node - 1).value;
      std::vector<double> factors{1.0};
      if (is_worker) factors = levels_of(scenario_.stragglers, static_cast<std::int64_t>(node - servers - 1));
      std::vector<double> speeds;
      for (const double factor : factors) speeds.push_back(speed * factor);
      sg4::Host* host = zone_->create_host(fmt::format("node {}", node), speeds);
      host->seal();
      platform_.hosts.push_back(host);
      platform_.speed_levels.push_back(std::move(factors));
    }
  }

  // Where there are no servers, the workers are the nodes from 1.
  void add_routes_between_workers() {
    const ArchitectureSpec& architecture = scenario_.architecture;
    if (architecture.has_servers()) return;
    for (std::uint32_t root = 1; root < topology_.hosts; ++root) {
      const PathTree tree(topology_, root);
      for (std::uint32_t host = root + 1; host < topology_.hosts; ++host) {
        if (workers_talk(architecture, topology_.hosts - 1, root - 1, host - 1))
          add_routes(host, root, tree.path_from(host));
      }
    }
  }

  void add_routes(std::uint32_t from, std::uint32_t to, const std::vector<Hop>& path) {
    using Direction = sg4::LinkInRoute::Direction;
    std::vector<sg4::LinkInRoute> there, back;
    double latency = 0;
    for (const Hop& hop : path) {
      there.emplace_back(links_[hop.link], hop.forward ? Direction::UP : Direction::DOWN);
      latency += topology_.links[hop.link].latency;
    }
    for (auto hop = path.rbegin(); hop != path.rend(); ++hop) {
      back.emplace_back(links_[hop->link], hop->forward ? Direction::DOWN : Direction::UP);
    }
    if (network_.share_spread > 0) {
      sg4::Link* own = own_link(from, to, latency);
      there.emplace_back(own);
      back.emplace_back(own);
    }
    auto* a = platform_.hosts[from]->get_netpoint();
    auto* b = platform_.hosts[to]->get_netpoint();
    zone_->add_route(a, b, nullptr, nullptr, there, false);
    zone_->add_route(b, a, nullptr, nullptr, back, false);
  }

  // A flow's share of a link is proportional to 1 / latency, so a latency of its own gives every
  // connection a share of its own, both ways the same, as round-trip times do under TCP.
  sg4::Link* own_link(std::uint32_t a, std::uint32_t b, double latency) {
    Stream stream(static_cast<std::uint64_t>(scenario_.seed), "share", a, b);
    const double factor = std::exp(network_.share_spread * stream.uniform(-1, 1));
    sg4::Link* link = zone_->create_link(fmt::format("pair {} {}", a, b), unlimited);
    link->set_latency(latency * factor)->seal();
    return link;
  }

  const Scenario& scenario_;
  const NetworkSpec& network_;
  Topology topology_;
  sg4::NetZone* zone_;
  std::vector<sg4::SplitDuplexLink*> links_;
  Platform platform_;
};

}  // namespace

std::vector<std::string> engine_options(const NetworkSpec& network) {
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  const double window = network.tcp_window ? network.tcp_window->value : lv08 ? 4194304.0 : 0.0;
  std::vector<std::string> options{
      fmt::format("network/model:{}", lv08 ? "LV08" : "CM02"),
      fmt::format("network/crosstraffic:{}", network.cross_traffic ? 1 : 0),
      fmt::format("network/TCP-gamma:{}", shortest(window)),
      // SimGrid 3.32's default, Lazy, forgets links when several flows start to share them at one date, which
      // is what a barrier makes them do: two workers that pull from four servers get 3 times a link's
      // capacity (tests/oracles/network_test.cpp, incast). Full solves for all flows, and is not slower here.
      "network/optim:Full",
  };
  // LV08 adds 20537 / bandwidth to a flow's weight, which would drown the connections' own latencies.
  if (network.share_spread > 0) options.emplace_back("network/weight-S:0");
  return options;
}

Platform build_platform(const Scenario& scenario) { return Builder(scenario).build(); }

}  // namespace psim
