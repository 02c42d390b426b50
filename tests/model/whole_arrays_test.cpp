// Goal: optimizers that see whole arrays treat each matrix and vector by the rule of their paper. Method: the
// same rules written with plain loops, over two arrays of which one is tall.
#include "model/optimizer.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "model/numerics/newton_schulz.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

using Numbers = std::vector<double>;

Numbers some_numbers(std::size_t n, std::uint64_t step) {
  Stream stream(29, "whole_arrays_test", n, step);
  Numbers numbers(n);
  for (double& x : numbers) x = stream.normal();
  return numbers;
}

std::shared_ptr<Values> values_of(const Numbers& numbers) {
  auto values = std::make_shared<Values>(Precision::float64, numbers.size());
  std::ranges::copy(numbers, values->as<double>().begin());
  return values;
}

double norm(const Numbers& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

// A matrix of 3 x 2, then a vector of 4.
const std::vector<ArrayShape> shapes{{0, 3, 2}, {6, 4, 1}};

Numbers part(const Numbers& all, const ArrayShape& shape) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(shape.begin);
  return {begin, begin + static_cast<std::ptrdiff_t>(shape.rows * shape.columns)};
}

// Three steps of the optimizer at rate 0.1, and the weights before and after the last.
struct Steps {
  Numbers before, after;
};
Steps three_steps(OptimizerSpec spec) {
  spec.arrays = shapes;
  Optimizer optimizer(spec, Precision::float64, 10);
  const auto weights = values_of(some_numbers(10, 0));
  Steps steps;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    const auto now = weights->as<double>();
    steps.before.assign(now.begin(), now.end());
    optimizer.apply(*weights,
                    std::vector<WeightedGradient>{{{values_of(some_numbers(10, t)), 0, 10}, 0.5},
                                                  {{values_of(some_numbers(10, t)), 0, 10}, 0.5}},
                    0.1);
  }
  const auto now = weights->as<double>();
  steps.after.assign(now.begin(), now.end());
  return steps;
}

// The state of Adam after three gradients, with its bias taken out.
double adam_of(double g1, double g2, double g3, double b1, double b2, double epsilon) {
  double m = 0, v = 0;
  for (const double g : {g1, g2, g3}) {
    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * g * g;
  }
  return m / (1 - std::pow(b1, 3)) / (std::sqrt(v / (1 - std::pow(b2, 3))) + epsilon);
}

}  // namespace

TEST_CASE("the Newton-Schulz iteration keeps singular vectors and maps singular values by its polynomial",
          "[optimizer]") {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{5, 3}, {3, 5}, {4, 4}, {64, 10}, {1, 2}}) {
    Numbers x = some_numbers(rows * columns, 7);
    const Eigen::Map<Matrix> matrix(x.data(), static_cast<Eigen::Index>(rows),
                                    static_cast<Eigen::Index>(columns));
    const Eigen::JacobiSVD<Matrix> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
    Eigen::VectorXd values = svd.singularValues() / (matrix.norm() + 1e-7);
    for (double& s : values) {
      for (int step = 0; step < 5; ++step) s = 3.4445 * s - 4.7750 * std::pow(s, 3) + 2.0315 * std::pow(s, 5);
      CHECK(s > 0.6);
      CHECK(s < 1.25);
    }
    const Matrix expected = svd.matrixU() * values.asDiagonal() * svd.matrixV().transpose();
    numerics::newton_schulz(x.data(), rows, columns);
    CAPTURE(rows, columns);
    CHECK((matrix - expected).norm() < 1e-11);
  }
}

TEST_CASE("lars: every array has its rate", "[optimizer]") {
  const double mu = 0.8, trust = 0.02, decay = 0.1;
  const Numbers start = some_numbers(10, 0);
  for (const ArrayShape& shape : shapes) {
    Numbers w = part(start, shape), v(w.size(), 0.0);
    for (std::uint64_t t = 1; t <= 3; ++t) {
      const Numbers g = part(some_numbers(10, t), shape);
      const double rate = 0.1 * trust * norm(w) / (norm(g) + decay * norm(w));
      for (std::size_t i = 0; i < w.size(); ++i) v[i] = mu * v[i] + rate * (g[i] + decay * w[i]);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= v[i];
    }
    const Steps steps = three_steps(
        {.kind = "lars", .settings = {{"momentum", mu}, {"trust", trust}}, .weight_decay = decay});
    const Numbers after = part(steps.after, shape);
    for (std::size_t i = 0; i < w.size(); ++i) CHECK(after[i] == Approx(w[i]).epsilon(1e-12));
  }
}

TEST_CASE("lamb: a step of Adam has the length of the array's weights", "[optimizer]") {
  const double decay = 0.05;
  const Steps steps = three_steps({.kind = "lamb", .weight_decay = decay});
  for (const ArrayShape& shape : shapes) {
    const Numbers w = part(steps.before, shape), after = part(steps.after, shape);
    const Numbers g1 = part(some_numbers(10, 1), shape), g2 = part(some_numbers(10, 2), shape),
                  g3 = part(some_numbers(10, 3), shape);
    Numbers direction(w.size());
    for (std::size_t i = 0; i < w.size(); ++i)
      direction[i] = adam_of(g1[i], g2[i], g3[i], 0.9, 0.999, 1e-8) + decay * w[i];
    for (std::size_t i = 0; i < w.size(); ++i)
      CHECK(after[i] == Approx(w[i] - 0.1 * norm(w) / norm(direction) * direction[i]).epsilon(1e-12));
  }
}

TEST_CASE("muon: a matrix takes the orthogonal step, a vector that of Adam", "[optimizer]") {
  const double mu = 0.95, decay = 0.1;
  const Steps steps = three_steps({.kind = "muon", .settings = {{"momentum", mu}}, .weight_decay = decay});
  const Numbers g1 = some_numbers(10, 1), g2 = some_numbers(10, 2), g3 = some_numbers(10, 3);
  Numbers update(6);
  for (std::size_t i = 0; i < 6; ++i) {
    double m = 0;
    for (const double g : {g1[i], g2[i], g3[i]}) m = mu * m + (1 - mu) * g;
    update[i] = (1 - mu) * g3[i] + mu * m;
  }
  numerics::newton_schulz(update.data(), 3, 2);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(steps.after[i] ==
          Approx(steps.before[i] * (1 - 0.1 * decay) - 0.1 * std::sqrt(1.5) * update[i]).epsilon(1e-12));
  for (std::size_t i = 6; i < 10; ++i)
    CHECK(steps.after[i] ==
          Approx(steps.before[i] * (1 - 0.1 * decay) - 0.1 * adam_of(g1[i], g2[i], g3[i], mu, 0.999, 1e-8))
              .epsilon(1e-12));
}
