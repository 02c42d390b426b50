// Goal: every rule is the one of its paper, wherever a weight lies in the array. Method: hand-written
// recurrences for one weight, over several steps and sizes around the block of 2048 that is updated at once.
#include "model/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <ranges>
#include <utility>

#include "model/base/parallel.hpp"
#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

using Numbers = std::vector<double>;

Numbers some_numbers(std::size_t n, std::uint64_t step) {
  Stream stream(13, "optimizer_test", n, step);
  Numbers numbers(n);
  for (double& x : numbers) x = stream.normal();
  return numbers;
}

std::shared_ptr<Values> values_of(const Numbers& numbers, Precision precision = Precision::float64) {
  auto values = std::make_shared<Values>(precision, numbers.size());
  with_scalar(precision, [&](auto zero) {
    using Scalar = decltype(zero);
    std::ranges::transform(numbers, values->as<Scalar>().begin(),
                           [](double x) { return static_cast<Scalar>(x); });
  });
  return values;
}

// The state of one weight, and the rules written out.
struct Weight {
  double w, first = 0, second = 0;
};
using Rule = std::function<void(Weight&, double g, double rate, int t)>;
constexpr double tested_l2 = 0.05;

struct Row {
  OptimizerKind kind;
  Rule rule;
};

const Rule adam_rule = [](Weight& x, double g, double rate, int t) {
  x.first = 0.7 * x.first + 0.3 * g;
  x.second = 0.9 * x.second + 0.1 * g * g;
  const double m = x.first / (1 - std::pow(0.7, t)), v = x.second / (1 - std::pow(0.9, t));
  x.w = x.w - rate * m / (std::sqrt(v) + 1e-3);
};

// With momentum 0.8, buffer 3, momentum_share 0.25, decay 0.95, beta1 0.7, beta2 0.9, epsilon 1e-3, l1 0.3
// and l2 0.05.
std::vector<Row> rows() {
  return {
      {"sgd", [](Weight& x, double g, double rate, int) { x.w = x.w - rate * g; }},
      {"momentum",
       [](Weight& x, double g, double rate, int) {
         x.first = 0.8 * x.first + g;
         x.w = x.w - rate * x.first;
       }},
      {"nesterov",
       [](Weight& x, double g, double rate, int) {
         x.first = 0.8 * x.first + g;
         x.w = x.w - rate * (g + 0.8 * x.first);
       }},
      {"adagrad",
       [](Weight& x, double g, double rate, int) {
         x.first = x.first + g * g;
         x.w = x.w - rate * g / (std::sqrt(x.first) + 1e-3);
       }},
      {"rmsprop",
       [](Weight& x, double g, double rate, int) {
         x.first = 0.95 * x.first + 0.05 * g * g;
         x.w = x.w - rate * g / (std::sqrt(x.first) + 1e-3);
       }},
      {"adam", adam_rule},
      {"adamw", adam_rule},
      {"delayed-nesterov",
       [](Weight& x, double g, double rate, int t) {
         x.second += g;
         if (t % 3 == 0) {
           x.first = 0.8 * x.first + x.second / 3;
           x.second = 0;
         }
         const double share = t % 3 == 0 ? 1 - 0.25 * 3 + 0.25 : 0.25;
         x.w = x.w - rate * (share * 0.8 * x.first + g / 3);
       }},
      {"proximal",
       [](Weight& x, double g, double rate, int) {
         const double v = x.w - rate * g;
         const double soft = v > 0.3 * rate ? v - 0.3 * rate : v < -0.3 * rate ? v + 0.3 * rate : 0;
         x.w = soft / (1 + tested_l2 * rate);  // Parikh, Boyd 2014, 6.5.3
       }},
  };
}

OptimizerSpec spec_of(OptimizerKind kind, double weight_decay) {
  return {.kind = kind,
          .settings = {{"momentum", 0.8},
                       {"decay", 0.95},
                       {"beta1", 0.7},
                       {"beta2", 0.9},
                       {"epsilon", 1e-3},
                       {"buffer", 3},
                       {"momentum_share", 0.25}},
          .weight_decay = weight_decay,
          .l1 = 0.3,
          .l2 = tested_l2};
}

// Eight steps of `row` on `n` weights with a group of two gradients, against the recurrences.
void check(const Row& row, double weight_decay, std::size_t n, Precision precision, double tolerance) {
  Optimizer optimizer(spec_of(row.kind, weight_decay), precision, n);
  const Numbers start = some_numbers(n, 0);
  std::vector<Weight> expected;
  for (const double w : start) expected.push_back({w});
  const auto weights = values_of(start, precision);
  for (int t = 1; t <= 8; ++t) {
    const double rate = 0.1 / t;
    const Numbers g1 = some_numbers(n, 2 * t), g2 = some_numbers(n, 2 * t + 1);
    const std::vector<WeightedGradient> group{{{values_of(g1, precision), 0, n}, 0.25},
                                              {{values_of(g2, precision), 0, n}, -1.5}};
    optimizer.apply(*weights, group, rate);
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_coupled = !row.kind->elastic_net && row.kind->decay == WeightDecay::in_gradient;
      const double decay = is_coupled ? weight_decay : 0;
      if (row.kind->decay == WeightDecay::decoupled) expected[i].w *= 1 - rate * weight_decay;
      row.rule(expected[i], 0.25 * g1[i] - 1.5 * g2[i] + decay * expected[i].w, rate, t);
    }
  }
  CHECK(optimizer.steps() == 8);
  double worst = 0;
  with_scalar(precision, [&](auto zero) {
    const auto w = std::as_const(*weights).as<decltype(zero)>();
    for (std::size_t i = 0; i < n; ++i)
      worst = std::max(worst, std::abs(static_cast<double>(w[i]) - expected[i].w));
  });
  CAPTURE(row.kind->name, weight_decay, n, worst);
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("every optimizer follows its recurrence, with weight decay and without", "[optimizer]") {
  for (const Row& row : rows()) {
    for (const double weight_decay : {0.0, 0.05}) {
      check(row, weight_decay, 5, Precision::float64, 1e-13);
      check(row, weight_decay, 5, Precision::float32, 1e-5);
    }
  }
}

TEST_CASE("with a buffer of one update, delayed Nesterov is Nesterov", "[optimizer]") {
  for (const double momentum_share : {0.0, 1.0}) {
    Optimizer delayed(
        {.kind = "delayed-nesterov", .settings = {{"buffer", 1}, {"momentum_share", momentum_share}}},
        Precision::float32, 100);
    Optimizer nesterov({.kind = "nesterov"}, Precision::float32, 100);
    const auto a = values_of(some_numbers(100, 0), Precision::float32), b = std::make_shared<Values>(*a);
    for (int t = 1; t <= 5; ++t) {
      const std::vector<WeightedGradient> group{
          {{values_of(some_numbers(100, t), Precision::float32), 0, 100}, 1}};
      delayed.apply(*a, group, 0.1);
      nesterov.apply(*b, group, 0.1);
    }
    for (std::size_t i = 0; i < 100; ++i)
      REQUIRE(a->as<float>()[i] == Approx(b->as<float>()[i]).epsilon(1e-6));
  }
}

TEST_CASE("blocks leave out no weight and take none twice", "[optimizer]") {
  const std::size_t n = GENERATE(0U, 1U, 2047U, 2048U, 2049U, 4096U, 5000U);
  for (const Row& row : rows()) check(row, 0.05, n, Precision::float64, 1e-13);
}

namespace {

// Does the parts from the last to the first.
struct Backwards final : Executor {
  unsigned threads() const override { return 3; }
  void run_all(std::vector<std::function<void()>> parts) override {
    most = std::max(most, parts.size());
    for (const auto& part : std::views::reverse(parts)) part();
  }
  std::size_t most = 0;
};

}  // namespace

TEST_CASE("parts of an executor leave out no weight and take none twice", "[optimizer]") {
  constexpr std::size_t least = 1U << 15U;
  const std::size_t n = GENERATE(2 * least - 1, 2 * least, 3 * least - 1, 3 * least + 1, 4 * least + 2047);
  Backwards three;
  {
    const LentExecutor lent(&three);
    for (const Row& row : rows()) check(row, 0.05, n, Precision::float64, 1e-13);
  }
  CHECK(three.most == (n < 2 * least ? 0 : n < 3 * least ? 2 : 3));
  CHECK(executor == nullptr);
}

TEST_CASE("a gradient may be a part of a larger array", "[optimizer]") {
  const Numbers whole = some_numbers(3000, 1);
  const auto shared = values_of(whole);
  const auto weights = values_of(Numbers(2500, 1.0));
  Optimizer optimizer({}, Precision::float64, 2500);
  optimizer.apply(*weights, std::vector<WeightedGradient>{{{shared, 400, 2500}, 1.0}}, 0.5);
  for (std::size_t i = 0; i < 2500; ++i) REQUIRE(weights->as<double>()[i] == 1.0 - 0.5 * whole[400 + i]);
}

TEST_CASE("gradients are added in the order given", "[optimizer]") {
  // 1 + 1e16 - 1e16 is 0 or 1, depending on the order.
  const auto apply = [](const Numbers& gradients) {
    const auto weights = values_of({0.0});
    std::vector<WeightedGradient> group;
    for (const double g : gradients) group.push_back({{values_of({g}), 0, 1}, 1.0});
    Optimizer({}, Precision::float64, 1).apply(*weights, group, 1.0);
    return weights->as<double>()[0];
  };
  CHECK(apply({1, 1e16, -1e16}) == 0);
  CHECK(apply({1e16, -1e16, 1}) == -1);
}

TEST_CASE("a negative momentum takes back a part of the last step", "[optimizer]") {
  Optimizer optimizer({.kind = "momentum", .settings = {{"momentum", -0.5}}}, Precision::float64, 1);
  const auto w = values_of({0.0});
  const std::vector<WeightedGradient> one{{{values_of({1.0}), 0, 1}, 1.0}};
  optimizer.apply(*w, one, 1);
  optimizer.apply(*w, one, 1);
  CHECK(w->as<double>()[0] == -1.5);  // 1, then 1 - 0.5
}

TEST_CASE("an optimizer's state belongs to it alone", "[optimizer]") {
  Optimizer a({.kind = "momentum"}, Precision::float64, 1), b({.kind = "momentum"}, Precision::float64, 1);
  const auto wa = values_of({0.0}), wb = values_of({0.0});
  const std::vector<WeightedGradient> one{{{values_of({1.0}), 0, 1}, 1.0}};
  a.apply(*wa, one, 1);
  a.apply(*wa, one, 1);
  b.apply(*wb, one, 1);
  CHECK(wa->as<double>()[0] == Approx(-2.9));
  CHECK(wb->as<double>()[0] == -1);
}

TEST_CASE("a part of an optimizer goes on as the whole would", "[optimizer]") {
  constexpr std::size_t n = 12;
  constexpr Range part{3, 5};
  const std::string_view kind = GENERATE("momentum", "adagrad", "rmsprop", "adam");
  Optimizer whole(spec_of(kind, 0), Precision::float64, n);
  const auto weights = values_of(some_numbers(n, 0));
  const auto step = [&](Optimizer& optimizer, Values& of, int t, Range range) {
    const auto gradient = values_of(some_numbers(n, static_cast<std::uint64_t>(t)));
    optimizer.apply(of, std::vector<WeightedGradient>{{{gradient, range.begin, range.count}, 1.0}}, 0.1);
  };
  for (int t = 1; t <= 4; ++t) step(whole, *weights, t, {0, n});
  Optimizer own = whole.part(part);
  Values own_weights = Values::copy_of(*weights, part.begin, part.count);
  for (int t = 5; t <= 8; ++t) {
    step(whole, *weights, t, {0, n});
    step(own, own_weights, t, part);
  }
  for (std::size_t i = 0; i < part.count; ++i)
    CHECK(own_weights.as<double>()[i] == weights->as<double>()[part.begin + i]);
}

TEST_CASE("the learning rate follows its schedule", "[optimizer]") {
  const LearningRate constant{.base = 0.3};
  CHECK(constant.at(0) == 0.3);
  CHECK(constant.at(1e6) == 0.3);

  const LearningRate step{.base = 0.8, .schedule = RateSchedule::step, .step_every = 2, .step_factor = 0.5};
  CHECK(step.at(0) == 0.8);
  CHECK(step.at(1.999) == 0.8);
  CHECK(step.at(2) == 0.4);
  CHECK(step.at(7.5) == Approx(0.1));
  CHECK(step.at(98 * (1.0 / 49)) == 0.4);  // 49 steps of a 49th epoch are an epoch, though their sum is less

  const LearningRate cosine{.base = 0.4, .schedule = RateSchedule::cosine, .total_epochs = 12};
  CHECK(cosine.at(0) == 0.4);
  CHECK(cosine.at(3) == Approx(0.4 * (1 + std::sqrt(0.5)) / 2));
  CHECK(cosine.at(6) == Approx(0.2));
  CHECK(cosine.at(0.6) == Approx(0.4 * (1 + std::cos(0.05 * std::acos(-1.0))) / 2));
  CHECK(cosine.at(8) == Approx(0.1));
  CHECK(cosine.at(12) == Approx(0).margin(1e-16));
  CHECK(cosine.at(13) == Approx(0).margin(1e-16));  // and does not rise again

  const LearningRate root{.base = 0.6, .schedule = RateSchedule::inverse_sqrt};
  CHECK(root.at(0) == 0.6);
  CHECK(root.at(3) == Approx(0.3));
  CHECK(root.at(8) == Approx(0.2));
  CHECK(root.at(0.25) == Approx(0.6 / std::sqrt(1.25)));  // within an epoch too
  CHECK(root.at(2.9) == Approx(0.6 / std::sqrt(3.9)));
}
