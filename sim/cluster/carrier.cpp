#include "sim/cluster/carrier.hpp"

#include <utility>

#include "sim/cluster/fluid_carrier.hpp"
#include "sim/cluster/nic_carrier.hpp"
#include "sim/cluster/rack_aggregation.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

Summable summable(const Message& message) {
  if (const Push* push = message.as<Push>())
    return {.kind = Summable::Kind::push, .shard = message.shard, .number = push->number};
  const Answer* answer = message.as<Answer>();
  if (answer == nullptr || answer->weights.values.count == 0) return {};
  return {.kind = Summable::Kind::answer, .shard = message.shard, .number = answer->version};
}

std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda) {
  std::unique_ptr<Carrier> carrier;
  if (scenario.cluster.network.model == NetworkModel::nic)
    carrier = std::make_unique<NicCarrier>(scenario, agenda);
  else carrier = std::make_unique<FluidCarrier>(scenario, platform, agenda);
  if (aggregator_count(scenario.cluster) == 0) return carrier;
  return std::make_unique<AggregatingCarrier>(scenario, std::move(carrier), agenda);
}

}  // namespace psim
