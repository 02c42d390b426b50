#include "sim/scenario/spec/shards.hpp"

namespace psim {

KeySpace key_space_of(const Scenario& scenario) {
  return make_key_space(parameter_arrays(scenario.model),
                        {.placement = scenario.placement,
                         .unit = scenario.messages.unit,
                         .slice = scenario.messages.slice,
                         .servers = static_cast<std::uint32_t>(scenario.cluster.servers),
                         .seed = static_cast<std::uint64_t>(scenario.seed)});
}

}  // namespace psim
