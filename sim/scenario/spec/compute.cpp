#include "sim/scenario/spec/compute.hpp"

#include <algorithm>

namespace psim {
namespace {

std::optional<double> seconds_in(const FactorSpec& factor, std::uint32_t worker) {
  if (!factor.is_in_seconds() || worker >= factor.columns.size()) return std::nullopt;
  return factor.steps->mean(factor.columns[worker].column);
}

}  // namespace

bool EffectSpec::concerns(std::uint32_t worker) const {
  return workers.empty() || std::ranges::find(workers, static_cast<std::int64_t>(worker)) != workers.end();
}

std::vector<const FactorSpec*> ComputeSpec::factors() const {
  std::vector<const FactorSpec*> all{this};
  for (const EffectSpec& effect : effects) all.push_back(&effect);
  return all;
}

std::optional<double> ComputeSpec::traced_seconds(std::uint32_t worker) const {
  if (const std::optional<double> seconds = seconds_in(*this, worker)) return seconds;
  for (const EffectSpec& effect : effects) {
    if (!effect.concerns(worker)) continue;
    if (const std::optional<double> seconds = seconds_in(effect, worker)) return seconds;
  }
  return std::nullopt;
}

}  // namespace psim
