#include "sim/cluster/carrier.hpp"

#include "sim/cluster/fluid_carrier.hpp"
#include "sim/cluster/nic_carrier.hpp"

namespace psim {

std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda) {
  if (scenario.cluster.network.model == NetworkModel::nic)
    return std::make_unique<NicCarrier>(scenario, agenda);
  return std::make_unique<FluidCarrier>(scenario, platform, agenda);
}

}  // namespace psim
