#include "sim/nodes/own_steps.hpp"

#include <array>
#include <utility>

#include "model/rounding.hpp"

namespace psim {

Slice OwnSteps::step(std::uint32_t shard, const Slice& weights, const Slice& gradient, std::int64_t clock) {
  if (!gradient.values || !weights.values) return gradient;
  auto move = std::make_shared<Values>(Values::copy_of(*weights.values, weights.begin, weights.count));
  Values after(*move);
  std::unique_ptr<Optimizer>& optimizer = optimizers_[shard];
  if (!optimizer)
    optimizer =
        std::make_unique<Optimizer>(plan_.scenario.training.optimizer, after.precision(), after.size());
  const double epochs = plan_.epochs().after(static_cast<double>(clock));
  optimizer->apply(after, std::array{WeightedGradient{gradient, 1.0}}, plan_.learning_rate().at(epochs), {});
  with_scalar(after.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto end = std::as_const(after).template as<Scalar>();
    const auto moved = move->template as<Scalar>();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= end[i];
  });
  round_to(plan_.precision(), *move, plan_.loss_scale());
  return {std::move(move), 0, gradient.count};
}

}  // namespace psim
