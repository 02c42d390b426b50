#include "sim/cluster/share_weights.hpp"

#include <algorithm>

namespace psim {

FlowModel flow_model(const NetworkSpec& network) {
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  FlowModel model;
  if (lv08) model = {.latency = 13.01, .bandwidth = 0.97, .window = 4194304, .weight = 20537};
  if (network.tcp_window) model.window = network.tcp_window->value;
  // LV08 adds 20537 / bandwidth to the divisor of a flow's weight. This would hide the effect of the
  // latencies.
  if (network.share_spread > 0) model.weight = 0;
  return model;
}

double share_weight(const NetworkSpec& network, double latency, double slowness) {
  if (!(latency > 0)) return 1;
  return 1 / (own_latency * latency_unit(network) * latency + flow_model(network).weight * slowness);
}

double latency_unit(const NetworkSpec& network) {
  double longest = network.latency.value;
  for (const LinkSpec& link : network.links)
    longest = std::max(longest, link.latency ? link.latency->value : 0.0);
  if (network.topology == TopologyKind::simgrid_xml) return 1;
  // A long latency times the unit makes a weight too small. Flows have a part of their latencies, and last
  // turns have more weight.
  if (longest < 0.02) return 65536;
  return longest < 1 ? 1024 : 1 / own_latency;
}

}  // namespace psim
