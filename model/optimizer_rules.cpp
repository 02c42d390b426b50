#include "model/optimizer_rules.hpp"

namespace psim {
namespace {

const Setting momentum{.key = "momentum",
                       .doc = "Share of the last step that is kept.",
                       .value = 0.9,
                       .min = 0,
                       .max = 1,
                       .below_max = true,
                       .draws = {"0.5", "0.99"}};
const Setting decay{.key = "decay",
                    .doc = "Share of the running mean of squares that is kept.",
                    .value = 0.9,
                    .min = 0,
                    .max = 1,
                    .below_max = true,
                    .draws = {"0.5"}};
const Setting beta1{
    .key = "beta1", .doc = "Decay of the first moment.", .value = 0.9, .min = 0, .max = 1, .below_max = true};
const Setting beta2{.key = "beta2",
                    .doc = "Decay of the second moment.",
                    .value = 0.999,
                    .min = 0,
                    .max = 1,
                    .below_max = true};
const Setting epsilon{.key = "epsilon",
                      .doc = "Added to the root in the divisor.",
                      .value = 1e-8,
                      .min = 0,
                      .max = 1,
                      .above_min = true,
                      .draws = {"1e-4"}};

const auto gradient_descent = [](const auto& step) {
  return [rate = step.rate()](auto* w, auto* g, auto*, auto*, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) w[i] -= rate * g[i];
  };
};

const auto heavy_ball = [](const auto& step) {
  return [rate = step.rate(), mu = step(momentum)](auto* w, auto* g, auto* s, auto*, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) w[i] -= rate * (s[i] = mu * s[i] + g[i]);
  };
};

const auto look_ahead = [](const auto& step) {
  return [rate = step.rate(), mu = step(momentum)](auto* w, auto* g, auto* s, auto*, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      s[i] = mu * s[i] + g[i];
      w[i] -= rate * (g[i] + mu * s[i]);
    }
  };
};

const auto adagrad = [](const auto& step) {
  return [rate = step.rate(), eps = step(epsilon)](auto* w, auto* g, auto* s, auto*, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      s[i] += g[i] * g[i];
      w[i] -= rate * g[i] / (std::sqrt(s[i]) + eps);
    }
  };
};

const auto rmsprop = [](const auto& step) {
  const auto rho = step(decay), rest = 1 - rho;
  return
      [rate = step.rate(), rho, rest, eps = step(epsilon)](auto* w, auto* g, auto* s, auto*, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
          s[i] = rho * s[i] + rest * (g[i] * g[i]);
          w[i] -= rate * g[i] / (std::sqrt(s[i]) + eps);
        }
      };
};

const auto adam = [](const auto& step) {
  const auto b1 = step(beta1), b2 = step(beta2), bias1 = step.bias(beta1);
  const auto bias2 = step.bias(beta2);
  return [rate = step.rate(), b1, b2, bias1, bias2, eps = step(epsilon)](auto* w, auto* g, auto* mean,
                                                                         auto* square, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      mean[i] = b1 * mean[i] + (1 - b1) * g[i];
      square[i] = b2 * square[i] + (1 - b2) * (g[i] * g[i]);
      w[i] -= rate * (mean[i] / bias1) / (std::sqrt(square[i] / bias2) + eps);
    }
  };
};

// Parikh, Boyd 2014, 4.2 and 6.5.3: a gradient step of the loss alone, then the elastic net's proximal
// operator: the soft threshold, multiplied by the factor of l2.
const auto proximal = [](const auto& step) {
  using Scalar = decltype(step.rate());
  const auto threshold = static_cast<Scalar>(step.learning_rate * step.l1);
  const auto shrink = static_cast<Scalar>(1 / (1 + step.learning_rate * step.l2));
  return [rate = step.rate(), threshold, shrink](auto* w, auto* g, auto*, auto*, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const Scalar v = w[i] - rate * g[i], kept = std::abs(v) - threshold;
      w[i] = kept > Scalar(0) ? shrink * std::copysign(kept, v) : Scalar(0);
    }
  };
};

}  // namespace

template <>
std::deque<OptimizerRow> built_in_rows() {
  return {
      {.name = "sgd", .doc = "w -= rate * g", .rule = gradient_descent},
      {.name = "momentum",
       .doc = "heavy ball (Polyak 1964)",
       .settings = {&momentum},
       .state_arrays = 1,
       .rule = heavy_ball},
      {.name = "nesterov",
       .doc = "Nesterov's momentum (Sutskever et al. 2013)",
       .settings = {&momentum},
       .state_arrays = 1,
       .rule = look_ahead},
      {.name = "adagrad",
       .doc = "Duchi, Hazan, Singer 2011",
       .settings = {&epsilon},
       .state_arrays = 1,
       .rule = adagrad,
       .adaptive = true},
      {.name = "rmsprop",
       .doc = "Tieleman, Hinton 2012",
       .settings = {&decay, &epsilon},
       .state_arrays = 1,
       .rule = rmsprop,
       .adaptive = true},
      {.name = "adam",
       .doc = "Kingma, Ba 2015",
       .settings = {&beta1, &beta2, &epsilon},
       .state_arrays = 2,
       .rule = adam,
       .adaptive = true},
      {.name = "proximal",
       .doc = "a gradient step, then the proximal operator of l1 and l2 (Parikh, Boyd 2014; Li et al. 2014)",
       .rule = proximal,
       .elastic_net = true},
  };
}

}  // namespace psim
