#include "model/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "model/base/parallel.hpp"
#include "model/numerics/functions.hpp"
#include "model/numerics/newton_schulz.hpp"

namespace psim {
namespace {

// One step of the rule, after weight decay, which is the same for all rules that have it.
template <class Scalar>
class Step {
 public:
  Step(const OptimizerSpec& spec, double rate, std::int64_t t, std::size_t columns = 1)
      : move_(spec.kind->rule.of(StepNumbers<Scalar>{.settings = spec.settings,
                                                     .learning_rate = rate,
                                                     .l1 = spec.l1,
                                                     .l2 = spec.l2,
                                                     .t = t,
                                                     .columns = columns,
                                                     .weight_decay = spec.weight_decay})),
        decay_(static_cast<Scalar>(is_coupled(spec) ? spec.weight_decay : 0)),
        kept_(static_cast<Scalar>(spec.kind->decay == WeightDecay::decoupled ? 1 - rate * spec.weight_decay
                                                                             : 1)) {}

  void operator()(Scalar* w, Scalar* g, Scalar* first, Scalar* second, std::size_t n) const {
    if (decay_ != Scalar(0)) {
      for (std::size_t i = 0; i < n; ++i) g[i] += decay_ * w[i];
    }
    if (kept_ != Scalar(1)) {
      for (std::size_t i = 0; i < n; ++i) w[i] *= kept_;
    }
    move_(w, g, first, second, n);
  }

 private:
  static bool is_coupled(const OptimizerSpec& spec) {
    return !spec.kind->elastic_net && spec.kind->decay == WeightDecay::in_gradient;
  }

  StepFunction<Scalar> move_;
  Scalar decay_;  // of the weights, added to their gradient
  Scalar kept_;   // factor of the weights, of decoupled decay
};

// The arrays that a step changes. `first` and `second` are null for optimizers without that state.
template <class Scalar>
struct Arrays {
  Scalar* weights;
  Scalar* first;
  Scalar* second;
};

// This number of weights stays in the first-level cache with their gradients.
constexpr std::size_t block = 2048;
template <class Scalar>
using Block = std::array<Scalar, block>;

// The weights [begin, end), block by block, so that a group needs no sum of the model's size.
template <class Scalar>
void update_part(const Step<Scalar>& step, const Arrays<Scalar>& arrays, std::size_t begin, std::size_t end,
                 std::span<const WeightedGradient> group) {
  alignas(64) Block<Scalar> g;
  for (; begin < end; begin += block) {
    const std::size_t n = std::min(block, end - begin);
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
    step(arrays.weights + begin, g.data(), arrays.first ? arrays.first + begin : nullptr,
         arrays.second ? arrays.second + begin : nullptr, n);
  }
}

// Array by array: the rule sees each matrix or vector as a whole.
template <class Scalar>
void update_arrays(const OptimizerSpec& spec, double rate, std::int64_t t, const Arrays<Scalar>& arrays,
                   Values gradient) {
  std::size_t count = 0;
  for (const ArrayShape& array : spec.arrays) count += array.rows * array.columns;
  if (count != gradient.size()) throw std::logic_error("a rule of whole arrays without the shapes of all");
  for (const ArrayShape& array : spec.arrays) {
    const auto of = [&](Scalar* all) { return all ? all + array.begin : nullptr; };
    Step<Scalar>(spec, rate, t, array.columns)(of(arrays.weights), of(gradient.as<Scalar>().data()),
                                               of(arrays.first), of(arrays.second),
                                               array.rows * array.columns);
  }
}

// The weights that a sparse group touches, and the sum of their gradients.
template <class Scalar>
struct Touched {
  std::vector<std::uint32_t> keys;  // in the order of their first appearance
  std::vector<Scalar> sums;
};

template <class Scalar>
Touched<Scalar> add_up(std::span<const WeightedGradient> group, std::vector<std::uint32_t>& slot) {
  Touched<Scalar> touched;
  for (const WeightedGradient& part : group) {
    const std::span<const Scalar> p = part.gradient.as<Scalar>();
    const auto factor = static_cast<Scalar>(part.weight);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const std::uint32_t key = (*part.keys)[i];
      if (slot[key] != 0) {
        touched.sums[slot[key] - 1] += factor * p[i];
        continue;
      }
      touched.keys.push_back(key);
      touched.sums.push_back(factor * p[i]);
      slot[key] = static_cast<std::uint32_t>(touched.keys.size());
    }
  }
  for (const std::uint32_t key : touched.keys) slot[key] = 0;
  return touched;
}

// Gathers the touched weights and their state, takes the step, and writes them back.
template <class Scalar>
void update_touched(const Step<Scalar>& step, const Arrays<Scalar>& arrays, Touched<Scalar> touched) {
  const std::array all{arrays.weights, arrays.first, arrays.second};
  alignas(64) std::array<Block<Scalar>, all.size()> local;
  for (std::size_t begin = 0; begin < touched.keys.size(); begin += block) {
    const std::size_t n = std::min(block, touched.keys.size() - begin);
    const std::uint32_t* keys = touched.keys.data() + begin;
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t i = 0; all[a] && i < n; ++i) local[a][i] = all[a][keys[i]];
    }
    step(local[0].data(), touched.sums.data() + begin, local[1].data(), local[2].data(), n);
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t i = 0; all[a] && i < n; ++i) all[a][keys[i]] = local[a][i];
    }
  }
}

// The untouched weights of `rest` take the step with a gradient of zero; for rules without state.
template <class Scalar>
void update_rest(const Step<Scalar>& step, Scalar* weights, const std::vector<std::uint32_t>& touched,
                 std::vector<std::uint32_t>& slot, std::span<const Range> rest) {
  for (const std::uint32_t key : touched) slot[key] = 1;
  alignas(64) Block<Scalar> zeros;
  for (const Range& range : rest) {
    for (std::size_t i = range.begin; i < range.begin + range.count;) {
      std::size_t n = 0;
      while (n < block && i + n < range.begin + range.count && slot[i + n] == 0) ++n;
      zeros.fill(0);
      step(weights + i, zeros.data(), nullptr, nullptr, n);
      i += std::max<std::size_t>(n, 1);
    }
  }
  for (const std::uint32_t key : touched) slot[key] = 0;
}

}  // namespace

Optimizer Optimizer::part(Range range) const {
  Optimizer result;
  result.spec_ = spec_;
  result.steps_ = steps_;
  for (const Values& values : state_)
    result.state_.push_back(Values::copy_of(values, range.begin, range.count));
  if (!slot_.empty()) result.slot_.resize(range.count);
  return result;
}

Optimizer::Optimizer(const OptimizerSpec& spec, Precision precision, std::size_t size) : spec_(spec) {
  for (std::size_t i = 0; i < spec.kind->state_arrays; ++i) state_.push_back(Values::zeros(precision, size));
}

void Optimizer::apply(Values& weights, std::span<const WeightedGradient> group, double rate,
                      std::span<const Range> rest) {
  ++steps_;
  const auto sparse = std::ranges::count_if(group, [](const auto& part) { return part.keys != nullptr; });
  const bool fits = std::ranges::all_of(group, [&](const WeightedGradient& part) {
    if (part.keys == nullptr) return part.gradient.count == weights.size();
    return part.gradient.count == part.keys->size() &&
           (part.keys->empty() || part.keys->back() < weights.size());
  });
  if (!fits || (sparse != 0 && sparse != std::ssize(group)))
    throw std::logic_error("gradients that do not fit the weights or each other");
  with_scalar(weights.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const Arrays<Scalar> arrays{.weights = weights.as<Scalar>().data(),
                                .first = state_.empty() ? nullptr : state_[0].as<Scalar>().data(),
                                .second = state_.size() < 2 ? nullptr : state_[1].as<Scalar>().data()};
    if (spec_.kind->whole_arrays) {
      if (sparse != 0) throw std::logic_error("a rule of whole arrays gets whole gradients");
      return update_arrays(spec_, rate, steps_, arrays,
                           weighted_sum(group, weights.precision(), weights.size()));
    }
    const Step<Scalar> step(spec_, rate, steps_);
    if (sparse == 0)
      return parallel_for(weights.size(), block, [&](std::size_t begin, std::size_t end) {
        update_part(step, arrays, begin, end, group);
      });
    slot_.resize(weights.size());
    Touched<Scalar> touched = add_up<Scalar>(group, slot_);
    if (spec_.kind->elastic_net) update_rest(step, arrays.weights, touched.keys, slot_, rest);
    update_touched(step, arrays, std::move(touched));
  });
}

// Plain gradient descent from zero at rate -1.
Values weighted_sum(std::span<const WeightedGradient> gradients, Precision precision, std::size_t count) {
  Values sum = Values::zeros(precision, count);
  Optimizer({}, precision, count).apply(sum, gradients, -1);
  return sum;
}

double LearningRate::at(double epoch) const {
  switch (schedule) {
    case RateSchedule::constant: return base;
    case RateSchedule::step: {
      constexpr double rounding = 1e-12;  // 49 steps of 1/49 epoch are an epoch
      return base * numerics::pow(step_factor, std::floor(epoch / step_every * (1 + rounding)));
    }
    case RateSchedule::cosine: {
      const double progress = std::min(1.0, epoch / total_epochs);
      return base * 0.5 * (1.0 + numerics::cos_of_turns(progress / 2));
    }
    case RateSchedule::inverse_sqrt: return base / std::sqrt(1.0 + epoch);
  }
  return base;
}

namespace {

const Setting momentum{.key = "momentum",
                       .doc =
                           "Share of the last step that is kept. With many asynchronous workers a negative "
                           "share may be best (Mitliagkas et al. 2016).",
                       .value = 0.9,
                       .min = -1,
                       .max = 1,
                       .above_min = true,
                       .below_max = true,
                       .draws = {"0.5", "0.99", "-0.3"}};
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

const Setting trust{.key = "trust",
                    .doc =
                        "The rate of an array is this number times the norm of its weights over that of its "
                        "gradient (eta of LARS).",
                    .value = 0.001,
                    .min = 0,
                    .max = 1e3,
                    .above_min = true,
                    .draws = {"0.1"}};
const Setting buffer{.key = "buffer",
                     .doc = "Number of updates from one change of the momentum to the next (N of the paper).",
                     .value = std::int64_t{4},
                     .min = 1,
                     .max = 1e6,
                     .draws = {"2", "3"}};
const Setting momentum_share{.key = "momentum_share",
                             .doc =
                                 "Share of the momentum that every update applies: 1 / buffer at most, and "
                                 "so is a larger number (c of the paper).",
                             .value = 0.0,
                             .min = 0,
                             .max = 1,
                             .draws = {"0.25"}};

// Algorithm 3 of Liu et al. 2024. With a buffer of one update it is Nesterov's momentum.
const auto delayed_look_ahead = [](const auto& step) {
  using Scalar = decltype(step.rate());
  const Scalar n_pushes = step(buffer), c = std::min(step(momentum_share), 1 / n_pushes);
  const bool is_full = step.t % static_cast<std::int64_t>(n_pushes) == 0;
  const Scalar share = is_full ? 1 - c * n_pushes + c : c;
  return [rate = step.rate(), mu = step(momentum), n_pushes, is_full, share](auto* w, auto* g, auto* m,
                                                                             auto* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += g[i];
      if (is_full) {
        m[i] = mu * m[i] + b[i] / n_pushes;
        b[i] = 0;
      }
      w[i] -= rate * (share * mu * m[i] + g[i] / n_pushes);
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

double norm_of(const auto* x, std::size_t n) {
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(squares);
}

// Jordan et al. 2024: a matrix takes the orthogonal matrix near its gradient's momentum, as long as the
// matrix is tall; a vector takes the step of Adam.
const auto orthogonal = [](const auto& step) {
  using Scalar = decltype(step.rate());
  const Scalar mu = step(momentum), b2 = step(beta2), eps = step(epsilon);
  const Scalar bias1 = step.bias(momentum), bias2 = step.bias(beta2);
  return [rate = step.rate(), columns = step.columns, mu, b2, eps, bias1, bias2](
             auto* w, auto* g, auto* mean, auto* square, std::size_t n) {
    const std::size_t rows = n / columns;
    const bool is_matrix = rows > 1 && columns > 1;
    for (std::size_t i = 0; i < n; ++i) {
      mean[i] = mu * mean[i] + (1 - mu) * g[i];
      square[i] = b2 * square[i] + (1 - b2) * (g[i] * g[i]);
      g[i] =
          is_matrix ? (1 - mu) * g[i] + mu * mean[i] : mean[i] / bias1 / (std::sqrt(square[i] / bias2) + eps);
    }
    if (is_matrix) numerics::newton_schulz(&g[0], rows, columns);
    const double tall = std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns));
    const Scalar factor = rate * static_cast<Scalar>(is_matrix ? std::sqrt(tall) : 1);
    for (std::size_t i = 0; i < n; ++i) w[i] -= factor * g[i];
  };
};

// You, Gitman, Ginsburg 2017: each array has a rate of its own, in proportion to the norm of its weights over
// that of its gradient.
const auto layerwise = [](const auto& step) {
  using Scalar = decltype(step.rate());
  return [rate = step.learning_rate, decay = step.weight_decay, mu = step(momentum),
          trusted = static_cast<double>(step(trust))](auto* w, auto* g, auto* s, auto*, std::size_t n) {
    const double weights = norm_of(w, n), gradient = norm_of(g, n);
    const bool has_ratio = weights > 0 && gradient > 0;
    const double local = has_ratio ? trusted * weights / (gradient + decay * weights) : 1;
    for (std::size_t i = 0; i < n; ++i) {
      s[i] = mu * s[i] + static_cast<Scalar>(rate * local) * (g[i] + static_cast<Scalar>(decay) * w[i]);
      w[i] -= s[i];
    }
  };
};

// You et al., ICLR 2020, algorithm 2: the step of Adam with decoupled decay, in the length of the weights.
const auto layerwise_adam = [](const auto& step) {
  using Scalar = decltype(step.rate());
  const auto b1 = step(beta1), b2 = step(beta2), bias1 = step.bias(beta1), bias2 = step.bias(beta2);
  return [rate = step.learning_rate, decay = static_cast<Scalar>(step.weight_decay), b1, b2, bias1, bias2,
          eps = step(epsilon)](auto* w, auto* g, auto* mean, auto* square, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      mean[i] = b1 * mean[i] + (1 - b1) * g[i];
      square[i] = b2 * square[i] + (1 - b2) * (g[i] * g[i]);
      g[i] = (mean[i] / bias1) / (std::sqrt(square[i] / bias2) + eps) + decay * w[i];
    }
    const double weights = norm_of(w, n), direction = norm_of(g, n);
    const double ratio = weights > 0 && direction > 0 ? weights / direction : 1;
    for (std::size_t i = 0; i < n; ++i) w[i] -= static_cast<Scalar>(rate * ratio) * g[i];
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

std::deque<OptimizerRow> rows_of_whole_arrays() {
  return {
      {.name = "muon",
       .doc = "the orthogonal matrix near the momentum of a matrix's gradient; vectors take Adam's step "
              "(Jordan et al. 2024)",
       .settings = {&momentum, &beta2, &epsilon},
       .state_arrays = 2,
       .rule = orthogonal,
       .decay = WeightDecay::decoupled,
       .counts_steps = true,
       .whole_arrays = true,
       .fuzz = 0.3},
      {.name = "lars",
       .doc = "momentum with a rate for each array (You, Gitman, Ginsburg 2017)",
       .settings = {&momentum, &trust},
       .state_arrays = 1,
       .rule = layerwise,
       .decay = WeightDecay::by_rule,
       .whole_arrays = true,
       .fuzz = 0.3},
      {.name = "lamb",
       .doc = "Adam with a rate for each array and decoupled decay (You et al., ICLR 2020)",
       .settings = {&beta1, &beta2, &epsilon},
       .state_arrays = 2,
       .rule = layerwise_adam,
       .decay = WeightDecay::by_rule,
       .counts_steps = true,
       .whole_arrays = true,
       .fuzz = 0.3},
  };
}

}  // namespace

template <>
std::deque<OptimizerRow> built_in_rows() {
  std::deque<OptimizerRow> rows{
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
       .adaptive = true,
       .counts_steps = true},
      {.name = "adamw",
       .doc = "Adam with decoupled weight decay (Loshchilov, Hutter, ICLR 2019)",
       .settings = {&beta1, &beta2, &epsilon},
       .state_arrays = 2,
       .rule = adam,
       .adaptive = true,
       .decay = WeightDecay::decoupled,
       .counts_steps = true},
      {.name = "delayed-nesterov",
       .doc = "Nesterov's momentum, which changes only every `buffer` updates (Liu et al., arXiv 2401.09135, "
              "2024)",
       .settings = {&momentum, &buffer, &momentum_share},
       .state_arrays = 2,
       .rule = delayed_look_ahead,
       .counts_steps = true},
      {.name = "proximal",
       .doc = "a gradient step, then the proximal operator of l1 and l2 (Parikh, Boyd 2014; Li et al. 2014)",
       .rule = proximal,
       .elastic_net = true},
  };
  std::ranges::move(rows_of_whole_arrays(), std::back_inserter(rows));
  return rows;
}

}  // namespace psim
