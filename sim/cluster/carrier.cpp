#include "sim/cluster/carrier.hpp"

#include <utility>

#include "sim/cluster/aggregation.hpp"
#include "sim/cluster/fluid_carrier.hpp"
#include "sim/cluster/nic_carrier.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda) {
  std::unique_ptr<Carrier> carrier;
  if (scenario.cluster.network.model == NetworkModel::nic)
    carrier = std::make_unique<NicCarrier>(scenario, agenda);
  else carrier = std::make_unique<FluidCarrier>(scenario, platform, agenda);
  if (aggregator_count(scenario.cluster) == 0) return carrier;
  return std::make_unique<AggregatingCarrier>(scenario, std::move(carrier), agenda);
}

}  // namespace psim
