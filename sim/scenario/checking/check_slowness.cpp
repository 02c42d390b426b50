// How slow nodes and links become when all that slows them comes together.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr double most_slowness = 1e15;  // a step of 1 us then takes 30 years
constexpr double most_speeds = 4096;    // of a node

}  // namespace

void Checker::check_slowness() {
  struct Load {
    double slowness = 1;
    std::map<double, int> by_clock = {};  // how often each slowdown
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
    add({field, table, "cluster.workers"},
        fmt::format("{} becomes {:.3g} times as slow", node_name(s_.cluster, node), load.slowness),
        fmt::format("with all that slows it together; at most {:.0e} times", most_slowness),
        table == "fault" ? "factor = 0 with kind = \"slow\" stops a node" : "");
  };
  for (std::size_t i = 0; i < s_.stragglers.size(); ++i) {
    const StragglerSpec& g = s_.stragglers[i];
    for (std::int64_t w = 0; w < s_.cluster.workers; ++w) {
      if (std::ranges::find(g.workers, w) == g.workers.end()) continue;
      slow_down(nodes, static_cast<std::uint32_t>(1 + s_.cluster.servers + w), g.slowdown, !g.probability,
                fmt::format("straggler.{}.slowdown", i), "straggler");
    }
  }
  for (std::size_t i = 0; i < s_.faults.size(); ++i) {
    const FaultSpec& f = s_.faults[i];
    if (!f.kind->takes_factor() || f.factor.value_or(0) <= 0) continue;
    if (!std::ranges::all_of(f.nodes, [&](const std::string& name) { return is_known(s_.cluster, name); }))
      continue;
    for (const std::uint32_t node : fault_nodes(s_.cluster, f.nodes))
      slow_down(f.kind->slows ? nodes : links, node, 1 / *f.factor, true, fmt::format("fault.{}.factor", i),
                "fault");
  }
  for (const auto& [node, load] : nodes) {
    double speeds = 1;
    for (const auto& [slowdown, count] : load.by_clock) speeds *= slowdown > 1 ? 1 + count : 1;
    if (speeds <= most_speeds) continue;
    return add({s_.stragglers.empty() ? "fault" : "straggler", "fault", "straggler", "cluster.workers"},
               fmt::format("{} has {:.3g} speeds", node_name(s_.cluster, node), speeds),
               fmt::format("at most {:.0f}: one for each set of what may slow it at once", most_speeds),
               "use the same slowdown several times, or fewer of them");
  }
}

}  // namespace psim
