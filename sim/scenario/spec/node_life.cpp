#include "sim/scenario/spec/node_life.hpp"

#include <algorithm>
#include <cmath>

#include "model/random.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

double startup_seconds(const Scenario& scenario, NodeRole role, std::uint32_t index) {
  const bool is_worker = role == NodeRole::worker;
  const StartupSpec& spec = is_worker ? scenario.cluster.worker.startup : scenario.cluster.server.startup;
  if (!spec.given()) return 0;
  // A distribution with additional streams draws them from another seed.
  const auto seed = combine(static_cast<std::uint64_t>(scenario.seed), is_worker ? 0x7773 : 0x7373);
  const std::uint32_t of = index;
  const std::vector<std::vector<double>> no_trace;
  StepState state;
  StepDraw draw{.settings = spec.settings,
                .trace = no_trace,
                .seed = seed,
                .worker = of,
                .step = 0,
                .mean_step = spec.mean.value,
                .state = state,
                .stream = Stream(seed, "startup", of, 0)};
  return spec.mean.value * spec.distribution->draw(draw);
}

bool concerns(const ProfileSpec& profile, std::int64_t worker) {
  return profile.workers.empty() ? worker >= 0
                                 : std::ranges::find(profile.workers, worker) != profile.workers.end();
}

namespace {

// The repetition that contains `now`. Dates are computed from the start of their repetition, so they are the
// same at every call.
double turn_at(const ProfileSpec& profile, double now) {
  if (!profile.every) return 0;
  const double period = profile.every->value;
  double turn = std::max(0.0, std::floor(now / period) - 1);
  for (int more = 0; more < 2 && now >= (turn + 1) * period; ++more) ++turn;
  return turn;
}

}  // namespace

double value_at(const ProfileSpec& profile, double now) {
  const double turn = turn_at(profile, now);
  const double begin = profile.every ? turn * profile.every->value : 0;
  double value = turn > 0 ? profile.rows.back().second : 1;
  for (const auto& [date, factor] : profile.rows) {
    if (begin + date > now) break;
    value = factor;
  }
  return value;
}

std::optional<double> next_row(const ProfileSpec& profile, double now) {
  const double turn = turn_at(profile, now);
  for (double t = turn; t <= turn + (profile.every ? 1 : 0); ++t) {
    const double begin = profile.every ? t * profile.every->value : 0;
    for (const auto& [date, factor] : profile.rows) {
      if (begin + date > now) return begin + date;
    }
  }
  return std::nullopt;
}

bool has_economy(const Scenario& scenario) {
  const auto given = [](const EconomySpec& one) {
    return one.power.idle.value > 0 || one.power.full.value > 0 || one.price > 0;
  };
  return given(scenario.cluster.worker.economy) || given(scenario.cluster.server.economy) ||
         scenario.cluster.network.joules_per_byte > 0;
}

}  // namespace psim
