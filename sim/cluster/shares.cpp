#include "sim/cluster/shares.hpp"

#include <algorithm>
#include <cmath>

#include "model/random.hpp"

namespace psim {

FlowModel flow_model(const NetworkSpec& network) {
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  FlowModel model;
  if (lv08) model = {.latency = 13.01, .bandwidth = 0.97, .window = 4194304, .weight = 20537};
  if (network.tcp_window) model.window = network.tcp_window->value;
  // LV08 adds 20537 / bandwidth to a flow's weight, which would drown the connections' own latencies.
  if (network.share_spread > 0) model.weight = 0;
  return model;
}

double connection_latency(const Scenario& scenario, std::uint32_t from, std::uint32_t to, double latency) {
  const double spread = scenario.cluster.network.share_spread;
  if (!(spread > 0)) return latency;
  Stream stream(static_cast<std::uint64_t>(scenario.seed), "share", std::max(from, to), std::min(from, to));
  return latency * std::exp(spread * stream.uniform(-1, 1));
}

double share_weight(const NetworkSpec& network, double latency, double slowness) {
  if (!(latency > 0)) return 1;
  return 1 / (latency_unit(network) * latency + flow_model(network).weight * slowness);
}

double latency_unit(const NetworkSpec& network) {
  double longest = network.latency.value;
  for (const LinkSpec& link : network.links)
    longest = std::max(longest, link.latency ? link.latency->value : 0.0);
  constexpr double usual = 1;  // seconds: what is longer weighs too little when it is made larger
  return network.topology != TopologyKind::simgrid_xml && longest < usual ? 1024 : 1;
}

}  // namespace psim
