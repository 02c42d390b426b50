#include "sim/nodes/worker/gradient_probe.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace psim {
namespace {

// The angle and the lengths of two arrays of the same size.
struct Angle {
  double product = 0, first = 0, second = 0;
  double cosine() const { return product / std::sqrt(first * second); }
  double ratio() const { return std::sqrt(first / second); }
};

Angle angle_of(const Values& a, const Values& b) {
  return with_scalar(a.precision(), [&](auto kind) {
    using Scalar = decltype(kind);
    const std::span<const Scalar> x = a.as<Scalar>(), y = b.as<Scalar>();
    Angle angle;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double one = x[i], other = y[i];
      angle.product += one * other;
      angle.first += one * one;
      angle.second += other * other;
    }
    return angle;
  });
}

}  // namespace

std::string GradientProbe::why_not(const JobPlan& plan) {
  if (plan.learner == nullptr) return "a phantom model has no gradients";
  if (plan.sparse()) return "the gradients of a sparse model have other keys in each step";
  if (plan.elastic() || plan.steals() || plan.pushes_moves() || plan.scenario.training.pull_every > 1)
    return "workers do not push the gradient of one batch on weights that they pulled";
  if (plan.workers_sum()) return "the servers have no weights";
  if (plan.scenario.may_fail() && plan.scenario.recovery.rebalance == Rebalance::load)
    return "the scheduler may cut shards during the run";
  return "";
}

void GradientProbe::on_gradient(NodeId worker, std::int64_t clock, const Values& gradient) {
  OfWorker& here = workers_[worker];
  here.pushed.insert_or_assign(clock, Pushed{Values(gradient), here.work});
}

void GradientProbe::on_applied(const JobPlan& plan, std::uint32_t shard, const ProbedGradient& applied,
                               Slice weights) {
  OfWorker& here = workers_[applied.worker];
  const auto pushed = here.pushed.find(applied.clock);
  if (pushed == here.pushed.end()) return;  // a repeated push
  pushed->second.weights.insert_or_assign(shard, std::move(weights));
  pushed->second.staleness = std::max(pushed->second.staleness, applied.staleness);
  if (pushed->second.weights.size() < plan.keys.shards.size()) return;
  std::vector<Slice> parts;
  for (auto& [number, part] : pushed->second.weights) parts.push_back(std::move(part));
  Assembly whole(std::move(parts), plan.places_in(nullptr));
  LocalCopy local;
  const Values fresh = local_gradient(*plan.learner, &whole, pushed->second.work, local);
  const Angle angle = angle_of(pushed->second.gradient, fresh);
  ProbedGradient probed = applied;
  probed.staleness = pushed->second.staleness;
  // Older pushes will never come, or are useless.
  here.pushed.erase(here.pushed.begin(), std::next(pushed));
  if (!(angle.first > 0) || !(angle.second > 0)) return;  // a zero gradient has no direction
  probed.cosine = angle.cosine();
  probed.ratio = angle.ratio();
  gradients_.push_back(probed);
}

}  // namespace psim
