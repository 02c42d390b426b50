// Searches for a ring over neighbours. In a round of a ring every worker sends to the next worker at the same
// time, so a round takes as long as the fullest link. Each direction of a link needs some time for the ring's
// messages; the search minimises the sum of the squares of these times. The result is a short ring that
// shares few links. NCCL also searches for its rings, over the links of a machine. The search is greedy, from
// worker 0 on. A ring of few workers is then improved as long as moving one worker, or reversing a part,
// makes it better. The search is not random; among equal routes it takes the route to the lowest worker.
#include "sim/scenario/spec/ranks.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/protocol/all_reduce.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

using Order = std::vector<std::uint32_t>;  // workers, in ring order

class RingSearch {
 public:
  RingSearch(const Scenario& scenario, Topology topology)
      : cluster_(scenario.cluster),
        topology_(std::move(topology)),
        paths_(topology_),
        messages_(2 * topology_.links.size()) {
    // Time per byte as a multiple of the fastest link's, so usual networks have whole numbers.
    double fastest = 0;
    for (const TopologyLink& link : topology_.links) fastest = std::max(fastest, link.bandwidth);
    for (const TopologyLink& link : topology_.links) slowness_.push_back(fastest / link.bandwidth);
  }

  Order find(std::uint32_t workers) {
    Order plain(workers);
    std::iota(plain.begin(), plain.end(), 0U);
    Order found = improved(nearest(plain));
    return cost(plain) <= cost(found) ? plain : found;
  }

 private:
  static constexpr std::size_t most_improved = 64;  // an improvement tries N^2 changes of a ring of N routes

  // The time of the fullest link, and the sum of the squares of all times.
  using Cost = std::pair<double, double>;

  std::vector<Hop> way(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t first = 1;  // node 0 is the scheduler; a ring has no servers
    return paths_.between(host_of(cluster_, first + from), host_of(cluster_, first + to));
  }
  static std::size_t direction(const Hop& hop) { return 2 * std::size_t{hop.link} + (hop.forward ? 0 : 1); }

  void empty() { std::ranges::fill(messages_, 0); }
  void fill(const std::vector<Hop>& hops) {
    for (const Hop& hop : hops) ++messages_[direction(hop)];
  }

  Cost cost(const Order& order) {
    empty();
    for (std::size_t i = 0; i < order.size(); ++i) fill(way(order[i], order[(i + 1) % order.size()]));
    Cost sum{0, 0};
    for (std::size_t d = 0; d < messages_.size(); ++d) {
      const double time = messages_[d] * slowness_[d / 2];
      sum.first = std::max(sum.first, time);
      sum.second += time * time;
    }
    return sum;
  }

  // The cost of one more message on a route, and the route's latency.
  std::pair<double, double> price(const std::vector<Hop>& hops) const {
    std::pair<double, double> sum{0, 0};
    for (const Hop& hop : hops) {
      const double slowness = slowness_[hop.link];
      sum.first += (2 * messages_[direction(hop)] + 1) * slowness * slowness;
      sum.second += topology_.links[hop.link].latency;
    }
    return sum;
  }

  Order nearest(Order left) {
    Order order{left.front()};
    left.erase(left.begin());
    empty();
    while (!left.empty()) {
      auto best = left.begin();
      std::pair<double, double> least{};
      for (auto next = left.begin(); next != left.end(); ++next) {
        const std::pair<double, double> asked = price(way(order.back(), *next));
        if (next != left.begin() && !(asked < least)) continue;
        best = next;
        least = asked;
      }
      fill(way(order.back(), *best));
      order.push_back(*best);
      left.erase(best);
    }
    return order;
  }

  Order improved(Order order) {
    if (order.size() > most_improved) return order;
    Cost least = cost(order);
    const auto take = [&](Order other) {
      const Cost asked = cost(other);
      if (!(asked < least)) return false;
      least = asked;
      order = std::move(other);
      return true;
    };
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t i = 1; i < order.size(); ++i) {
        for (std::size_t j = 1; j < order.size(); ++j) {
          if (i == j) continue;
          Order moved = order;
          moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(i));
          moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(j), order[i]);
          goes_on = take(std::move(moved)) || goes_on;
          if (i > j) continue;
          Order turned = order;
          std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(i),
                       turned.begin() + static_cast<std::ptrdiff_t>(j) + 1);
          goes_on = take(std::move(turned)) || goes_on;
        }
      }
    }
    return order;
  }

  const ClusterSpec& cluster_;
  Topology topology_;
  Paths paths_;
  std::vector<double> slowness_;  // by link
  std::vector<double> messages_;  // of the ring: by link and direction
};

}  // namespace

void give_ranks(Scenario& scenario) {
  constexpr std::int64_t most_searched = 2048;  // a search computes one route per two pairs
  ArchitectureSpec& spec = scenario.architecture;
  spec.ranks.clear();
  const TopologyKind kind = scenario.cluster.network.topology;
  const bool is_plain = spec.rank_order == RankOrder::index || kind == TopologyKind::star ||
                        kind == TopologyKind::simgrid_xml || scenario.cluster.workers > most_searched;
  if (is_plain) return;
  const auto workers = static_cast<std::uint32_t>(scenario.cluster.workers);
  const Order order = RingSearch(scenario, make_topology(scenario.cluster)).find(workers);
  const std::vector<std::uint32_t> along = ranks_along(spec.algorithm, workers);
  spec.ranks.resize(workers);
  for (std::uint32_t place = 0; place < workers; ++place) spec.ranks[order[place]] = along[place];
}

}  // namespace psim
