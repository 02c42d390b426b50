// Goal: a sparse update touches its keys and nothing else, and is the dense one where both can be had; the
// proximal step minimises what it says. Method: bit by bit against dense gradients, and a search by hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "model/base/random.hpp"
#include "model/optimizer.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

OptimizerSpec spec_of(OptimizerKind kind) {
  return {.kind = kind, .weight_decay = 0.01, .l1 = 0.2, .l2 = 0.01};
}

template <class Scalar>
std::shared_ptr<Values> random_values(std::size_t n, std::uint64_t who) {
  auto values = std::make_shared<Values>(sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64, n);
  Stream stream(17, "sparse_update_test", who);
  for (Scalar& x : values->as<Scalar>()) x = static_cast<Scalar>(stream.normal());
  return values;
}

template <class Scalar>
std::vector<Scalar> list(const Values& values) {
  return {values.as<Scalar>().begin(), values.as<Scalar>().end()};
}

template <class Scalar>
void check_all_keys(OptimizerKind kind, std::size_t n) {
  const Precision precision = sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64;
  Optimizer dense(spec_of(kind), precision, n), sparse(spec_of(kind), precision, n);
  const auto dense_weights = random_values<Scalar>(n, 0), sparse_weights = random_values<Scalar>(n, 0);
  std::vector<std::uint32_t> keys(n);
  std::iota(keys.begin(), keys.end(), 0U);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    std::vector<WeightedGradient> group{{{random_values<Scalar>(n, 3 * step), 0, n}, 0.3},
                                        {{random_values<Scalar>(n, 3 * step + 1), 0, n}, -0.7},
                                        {{random_values<Scalar>(n, 3 * step + 2), 0, n}, 1.1}};
    dense.apply(*dense_weights, group, 0.1);
    for (WeightedGradient& part : group) part.keys = &keys;
    sparse.apply(*sparse_weights, group, 0.1);
  }
  CAPTURE(kind->name, n);
  CHECK(list<Scalar>(*dense_weights) == list<Scalar>(*sparse_weights));
}

}  // namespace

TEST_CASE("a sparse update of all keys is the dense one, bit for bit", "[optimizer]") {
  const std::size_t n = GENERATE(0U, 1U, 37U, 2048U, 5001U);
  for (const OptimizerRow& row : all_rows<OptimizerRow>()) {
    if (row.whole_arrays) continue;  // sparse models exclude them
    check_all_keys<float>(row.name, n);
    check_all_keys<double>(row.name, n);
  }
}

// Every step two gradients with overlapping keys. A weight with its state alone, which takes only the steps
// that touch it (and Adam's clock, which runs on), must come out the same.
TEST_CASE("untouched weights keep their values and their state", "[optimizer]") {
  const OptimizerKind kind =
      OptimizerKind::at(GENERATE(range(std::size_t{0}, all_rows<OptimizerRow>().size())));
  if (kind->whole_arrays) return;
  constexpr std::size_t n = 5000, steps = 6;
  Optimizer optimizer(spec_of(kind), Precision::float64, n);
  const auto weights = random_values<double>(n, 0);
  std::vector<Optimizer> single;
  std::vector<Values> expected;
  for (std::size_t i = 0; i < n; ++i) {
    single.emplace_back(spec_of(kind), Precision::float64, 1);
    expected.emplace_back(Precision::float64, 1);
    expected.back().as<double>()[0] = weights->as<double>()[i];
  }
  const std::vector<std::uint32_t> here{0}, nowhere;
  const auto none = std::make_shared<const Values>(Precision::float64, 0);
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::vector<std::vector<std::uint32_t>> keys(2);
    for (std::uint32_t i = 0; i < n; ++i) {
      Stream stream(23, "sparse_update_test.keys", i, step);
      for (auto& part : keys)
        if (stream.uniform() < 0.3) part.push_back(i);
    }
    std::vector<WeightedGradient> group;
    for (std::uint64_t p = 0; p < 2; ++p)
      group.push_back({{random_values<double>(keys[p].size(), 2 * step + p + 1), 0, keys[p].size()},
                       p == 0 ? 0.4 : 0.6,
                       &keys[p]});
    optimizer.apply(*weights, group, 0.05);
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<WeightedGradient> alone;
      for (std::size_t p = 0; p < 2; ++p) {
        const auto at = std::ranges::lower_bound(keys[p], i);
        if (at == keys[p].end() || *at != i) continue;
        alone.push_back({{group[p].gradient.values, static_cast<std::size_t>(at - keys[p].begin()), 1},
                         group[p].weight,
                         &here});
      }
      if (alone.empty()) alone.push_back({{none, 0, 0}, 1.0, &nowhere});
      single[i].apply(expected[i], alone, 0.05);
    }
  }
  for (std::size_t i = 0; i < n; ++i) REQUIRE(weights->as<double>()[i] == expected[i].as<double>()[0]);
}

TEST_CASE("gradients that do not fit together are refused", "[optimizer]") {
  const auto weights = random_values<double>(4, 0), two = random_values<double>(2, 1);
  const std::vector<std::uint32_t> keys{1, 3}, outside{1, 4}, one{2};
  Optimizer optimizer({}, Precision::float64, 4);
  const auto apply = [&](const std::vector<WeightedGradient>& group) { optimizer.apply(*weights, group, 1); };
  CHECK_NOTHROW(apply({{{two, 0, 2}, 1.0, &keys}}));
  CHECK_THROWS_AS(apply({{{two, 0, 2}, 1.0, &outside}}), std::logic_error);
  CHECK_THROWS_AS(apply({{{two, 0, 2}, 1.0, &one}}), std::logic_error);
  CHECK_THROWS_AS(apply({{{two, 0, 2}, 1.0}}), std::logic_error);
  CHECK_THROWS_AS(apply({{{two, 0, 2}, 1.0, &keys}, {{weights, 0, 4}, 1.0}}), std::logic_error);
}

// Parikh, Boyd 2014, (1.2): prox minimises l1 |x| + l2 / 2 x^2 + (x - v)^2 / (2 rate), of v = w - rate g.
TEST_CASE("the proximal step is the minimiser of its objective", "[optimizer]") {
  const double l1 = GENERATE(0.0, 0.4, 3.0), l2 = GENERATE(0.0, 0.5), rate = GENERATE(0.1, 1.0);
  for (double w = -2; w <= 2; w += 0.37) {
    const double g = std::sin(5 * w), v = w - rate * g;
    const auto objective = [&](double x) {
      return l1 * std::abs(x) + l2 / 2 * x * x + (x - v) * (x - v) / (2 * rate);
    };
    double low = -5, high = 5;  // convex: thirds leave the minimum between them
    for (int i = 0; i < 200; ++i) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      (objective(a) < objective(b) ? high : low) = objective(a) < objective(b) ? b : a;
    }
    Values weights(Precision::float64, 1);
    weights.as<double>()[0] = w;
    auto gradient = std::make_shared<Values>(Precision::float64, 1);
    gradient->as<double>()[0] = g;
    Optimizer({.kind = "proximal", .l1 = l1, .l2 = l2}, Precision::float64, 1)
        .apply(weights, std::vector<WeightedGradient>{{{gradient, 0, 1}}}, rate);
    const double x = weights.as<double>()[0];
    CAPTURE(w, g, v, l1, l2, rate);
    CHECK(x == Approx((low + high) / 2).margin(1e-7));
    if (std::abs(v) <= rate * l1) CHECK((x == 0 && !std::signbit(x)));
  }
}

TEST_CASE("the proximal operator shrinks the weights of `rest` that no gradient touches", "[optimizer]") {
  auto weights = std::make_shared<Values>(Values::zeros(Precision::float64, 3));
  std::ranges::fill(weights->as<double>(), 1.0);
  const std::vector<std::uint32_t> keys{0};
  const auto gradient = std::make_shared<Values>(Values::zeros(Precision::float64, 1));
  const std::vector<WeightedGradient> group{{{gradient, 0, 1}, 1.0, &keys}};
  const std::vector<Range> rest{{0, 2}};
  Optimizer({.kind = "proximal", .l1 = 0.5}, Precision::float64, 3).apply(*weights, group, 0.5, rest);
  CHECK(list<double>(*weights) == std::vector<double>{0.75, 0.75, 1});
}
