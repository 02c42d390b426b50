// Checks how slow nodes and links become when all their slowdowns combine.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr double most_slowness = 1e15;  // a step of 1 us then takes 30 years
constexpr double most_speeds = 4096;    // of a node

// The number of speeds that its profiles give a worker, in all combinations.
double profiled_speeds(const Scenario& scenario, std::int64_t worker) {
  double speeds = 1;
  for (const ProfileSpec& profile : scenario.profiles) {
    if (worker >= scenario.cluster.workers || !concerns(profile, worker)) continue;
    std::set<double> factors{1};
    for (const auto& [date, factor] : profile.rows) factors.insert(factor);
    speeds *= static_cast<double>(factors.size());
  }
  return speeds;
}

}  // namespace

void check_slowness(const Check& check) {
  struct Load {
    double slowness = 1;
    std::map<double, int> by_clock = {};  // the number of times of each slowdown
  };
  std::map<std::uint32_t, Load> nodes, links;
  bool sound = true;
  const auto slow_down = [&](std::map<std::uint32_t, Load>& all, std::uint32_t node, double slowdown,
                             bool by_clock, const std::string& field, const std::string& table) {
    Load& load = all[node];
    if (by_clock) ++load.by_clock[slowdown];
    load.slowness *= slowdown;
    if (!sound || load.slowness <= most_slowness) return;
    sound = false;
    check.add({field, table, "cluster.workers"},
              fmt::format("{} becomes {:.3g} times as slow", node_name(check.s.cluster, node), load.slowness),
              fmt::format("when all its slowdowns combine; at most {:.0e} times", most_slowness),
              table == "fault" ? "factor = 0 with kind = \"slow\" stops a node" : "");
  };
  for (std::size_t i = 0; i < check.s.stragglers.size(); ++i) {
    const StragglerSpec& g = check.s.stragglers[i];
    for (std::int64_t w = 0; w < check.s.cluster.workers; ++w) {
      if (std::ranges::find(g.workers, w) == g.workers.end()) continue;
      slow_down(nodes, static_cast<std::uint32_t>(1 + check.s.cluster.servers + w), g.slowdown,
                !g.probability, fmt::format("straggler.{}.slowdown", i), "straggler");
    }
  }
  for (std::size_t i = 0; i < check.s.faults.size(); ++i) {
    const FaultSpec& f = check.s.faults[i];
    if (!f.kind->takes_factor() || f.factor.value_or(0) <= 0) continue;
    if (!std::ranges::all_of(f.nodes,
                             [&](const std::string& name) { return is_known(check.s.cluster, name); }))
      continue;
    for (const std::uint32_t node : fault_nodes(check.s.cluster, f.nodes))
      slow_down(f.kind->slows ? nodes : links, node, 1 / *f.factor, true, fmt::format("fault.{}.factor", i),
                "fault");
  }
  for (std::int64_t w = 0; w < check.s.cluster.workers && !check.s.profiles.empty(); ++w)
    nodes[static_cast<std::uint32_t>(1 + check.s.cluster.servers + w)];
  for (const auto& [node, load] : nodes) {
    double speeds = 1;
    for (const auto& [slowdown, count] : load.by_clock) speeds *= slowdown > 1 ? 1 + count : 1;
    speeds *= profiled_speeds(check.s, static_cast<std::int64_t>(node) - 1 - check.s.cluster.servers);
    if (speeds <= most_speeds) continue;
    return check.add({check.s.stragglers.empty() ? check.s.faults.empty() ? "profile" : "fault" : "straggler",
                      "fault", "straggler", "profile", "cluster.workers"},
                     fmt::format("{} has {:.3g} speeds", node_name(check.s.cluster, node), speeds),
                     fmt::format("at most {:.0f}: one for each combination of slowdowns", most_speeds),
                     "use equal slowdowns, or fewer slowdowns");
  }
}

}  // namespace psim
