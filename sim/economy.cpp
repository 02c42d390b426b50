#include "sim/economy.hpp"

namespace psim {
namespace {

void add_node(const EconomySpec& spec, const std::vector<const NodeUsage*>& usages, NodeId node, double date,
              RoleCost& cost) {
  constexpr double hour = 3600;
  double on = 0, busy = 0;
  for (const NodeUsage* usage : usages) {
    on += usage->on_seconds(node, date);
    busy += usage->busy_seconds(node, date);
  }
  const double idle = spec.power.idle.value;
  cost.on_s += on;
  cost.busy_s += busy;
  cost.joules += idle * on + (spec.power.full.value - idle) * busy;
  cost.dollars += spec.price * on / hour;
}

}  // namespace

Economy economy_until(const Scenario& scenario, const std::vector<const NodeUsage*>& usages,
                      std::uint64_t bytes, double date) {
  Economy total;
  const ClusterSpec& cluster = scenario.cluster;
  const auto servers = static_cast<NodeId>(cluster.servers), workers = static_cast<NodeId>(cluster.workers);
  for (NodeId node = 1; node <= servers; ++node)
    add_node(cluster.server.economy, usages, node, date, total.servers);
  for (NodeId node = servers + 1; node <= servers + workers; ++node)
    add_node(cluster.worker.economy, usages, node, date, total.workers);
  total.network_joules = cluster.network.joules_per_byte * static_cast<double>(bytes);
  return total;
}

}  // namespace psim
