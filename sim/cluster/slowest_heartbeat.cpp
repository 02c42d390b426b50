#include "sim/cluster/slowest_heartbeat.hpp"

#include <algorithm>

#include "sim/cluster/share_weights.hpp"
#include "sim/cluster/wiring.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

double slowest_heartbeat(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  Wiring wiring(cluster.network, make_topology(cluster));
  const auto nodes = static_cast<NodeId>(1 + cluster.servers + cluster.workers);
  double slowest = 0;
  for (NodeId node = 1; node < nodes; ++node)
    slowest = std::max(slowest, wiring.way(host_of(cluster, node), scheduler_node).latency);
  return flow_model(cluster.network).latency * slowest;
}

}  // namespace psim
