#include "model/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace psim {
namespace {

std::size_t state_arrays(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return 0;
    case OptimizerKind::adam: return 2;
    default: return 1;
  }
}

// What one step does to `n` weights `w`, given their gradient `g` and up to two state arrays.
template <class Scalar>
struct Step {
  const OptimizerSpec& spec;
  Scalar rate;
  Scalar bias1, bias2;  // adam: 1 - beta^t

  void operator()(Scalar* w, const Scalar* g, Scalar* s0, Scalar* s1, std::size_t n) const {
    const auto mu = static_cast<Scalar>(spec.momentum), eps = static_cast<Scalar>(spec.epsilon);
    const auto rho = static_cast<Scalar>(spec.decay), one = Scalar(1);
    const auto b1 = static_cast<Scalar>(spec.beta1), b2 = static_cast<Scalar>(spec.beta2);
    switch (spec.kind) {
      case OptimizerKind::sgd:
        for (std::size_t i = 0; i < n; ++i) w[i] -= rate * g[i];
        break;
      case OptimizerKind::momentum:  // Polyak's heavy ball, in PyTorch's form
        for (std::size_t i = 0; i < n; ++i) w[i] -= rate * (s0[i] = mu * s0[i] + g[i]);
        break;
      case OptimizerKind::nesterov:  // Sutskever et al. 2013, in PyTorch's form
        for (std::size_t i = 0; i < n; ++i) {
          s0[i] = mu * s0[i] + g[i];
          w[i] -= rate * (g[i] + mu * s0[i]);
        }
        break;
      case OptimizerKind::adagrad:  // Duchi, Hazan, Singer 2011
        for (std::size_t i = 0; i < n; ++i) {
          s0[i] += g[i] * g[i];
          w[i] -= rate * g[i] / (std::sqrt(s0[i]) + eps);
        }
        break;
      case OptimizerKind::rmsprop:  // Tieleman, Hinton 2012
        for (std::size_t i = 0; i < n; ++i) {
          s0[i] = rho * s0[i] + (one - rho) * (g[i] * g[i]);
          w[i] -= rate * g[i] / (std::sqrt(s0[i]) + eps);
        }
        break;
      case OptimizerKind::adam:  // Kingma, Ba 2015, algorithm 1
        for (std::size_t i = 0; i < n; ++i) {
          s0[i] = b1 * s0[i] + (one - b1) * g[i];
          s1[i] = b2 * s1[i] + (one - b2) * (g[i] * g[i]);
          w[i] -= rate * (s0[i] / bias1) / (std::sqrt(s1[i] / bias2) + eps);
        }
        break;
    }
  }
};

}  // namespace

Optimizer::Optimizer(const OptimizerSpec& spec, Precision precision, std::size_t size) : spec_(spec) {
  for (std::size_t i = 0; i < state_arrays(spec.kind); ++i) state_.push_back(Values::zeros(precision, size));
}

void Optimizer::apply(Values& weights, std::span<const WeightedGradient> group, double rate) {
  ++steps_;
  with_scalar(weights.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const double t = static_cast<double>(steps_);
    const Step<Scalar> step{spec_, static_cast<Scalar>(rate),
                            static_cast<Scalar>(1 - std::pow(spec_.beta1, t)),
                            static_cast<Scalar>(1 - std::pow(spec_.beta2, t))};
    Scalar* w = weights.as<Scalar>().data();
    Scalar* s0 = state_.empty() ? nullptr : state_[0].as<Scalar>().data();
    Scalar* s1 = state_.size() < 2 ? nullptr : state_[1].as<Scalar>().data();
    const auto weight_decay = static_cast<Scalar>(spec_.weight_decay);

    // In blocks that stay in the first-level cache, so that a group needs no sum of the model's size.
    constexpr std::size_t block = 2048;
    alignas(64) std::array<Scalar, block> g;
    for (std::size_t begin = 0; begin < weights.size(); begin += block) {
      const std::size_t n = std::min(block, weights.size() - begin);
      bool first = true;
      for (const WeightedGradient& part : group) {
        const Scalar* p = part.gradient.as<Scalar>().data() + begin;
        const auto factor = static_cast<Scalar>(part.weight);
        if (first) {
          for (std::size_t i = 0; i < n; ++i) g[i] = factor * p[i];
        } else {
          for (std::size_t i = 0; i < n; ++i) g[i] += factor * p[i];
        }
        first = false;
      }
      if (weight_decay != Scalar(0)) {
        for (std::size_t i = 0; i < n; ++i) g[i] += weight_decay * w[begin + i];
      }
      step(w + begin, g.data(), s0 ? s0 + begin : nullptr, s1 ? s1 + begin : nullptr, n);
    }
  });
}

double LearningRate::at(double epoch) const {
  switch (schedule) {
    case RateSchedule::constant: return base;
    case RateSchedule::step: return base * std::pow(step_factor, std::floor(epoch / step_every));
    case RateSchedule::cosine: {
      const double progress = std::min(1.0, epoch / total_epochs);
      return base * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    }
    case RateSchedule::inverse_sqrt: return base / std::sqrt(1.0 + epoch);
  }
  return base;
}

}  // namespace psim
