#include "sim/scenario/spec/node_life.hpp"

#include "model/base/random.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

double startup_seconds(const Scenario& scenario, NodeRole role, std::uint32_t index) {
  const bool is_worker = role == NodeRole::worker;
  const StartupSpec& spec = is_worker ? scenario.cluster.worker.startup : scenario.cluster.server.startup;
  if (!spec.given()) return 0;
  // A distribution with additional streams draws them from another seed.
  const auto seed = combine(static_cast<std::uint64_t>(scenario.seed), is_worker ? 0x7773 : 0x7373);
  const std::uint32_t of = index;
  StepState state;
  StepDraw draw{.settings = spec.settings,
                .trace = nullptr,
                .seed = seed,
                .worker = of,
                .step = 0,
                .mean_step = spec.mean.value,
                .state = state,
                .stream = Stream(seed, "startup", of, 0)};
  return spec.mean.value * spec.distribution->draw(draw);
}

bool has_economy(const Scenario& scenario) {
  const auto given = [](const EconomySpec& one) {
    return one.power.idle.value > 0 || one.power.full.value > 0 || one.price > 0;
  };
  return given(scenario.cluster.worker.economy) || given(scenario.cluster.server.economy) ||
         scenario.cluster.network.joules_per_byte > 0;
}

}  // namespace psim
