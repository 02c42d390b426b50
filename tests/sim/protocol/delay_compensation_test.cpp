// DC-ASGD (Zheng et al., ICML 2017, equation 10 and algorithm 2): a server's update by a late gradient g is
// that by g + lambda * g * g * (w now - w that the worker was sent); in the adaptive form lambda is divided
// by the root of a running mean of g * g. The paper's recursion is computed here on its own.
#include <cmath>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr double rate = 0.5;
const Numbers start{1, -2, 0.5};

// asp with every gradient at the full rate.
Driver server(double lambda, double decay) {
  Driver d({.model = "asp", .aggregation = {"sum"}}, 3,
           {.weights = start, .learning_rate = {.base = rate}, .compensation = {lambda, decay}});
  d.pull_all();
  return d;
}

struct Recursion {
  double lambda, decay;
  Numbers w = start, mean_square = Numbers(3, 0);
  std::vector<Numbers> sent = std::vector<Numbers>(3, start);  // to each worker

  void push(std::size_t worker, const Numbers& g) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      mean_square[i] = decay * mean_square[i] + (1 - decay) * g[i] * g[i];
      const double l = decay > 0 ? lambda / std::sqrt(mean_square[i] + 1e-7) : lambda;
      w[i] -= rate * (g[i] + l * g[i] * g[i] * (w[i] - sent[worker][i]));
    }
    sent[worker] = w;
  }
};

}  // namespace

TEST_CASE("delay compensation is DC-ASGD's recursion", "[protocol]") {
  const std::vector<std::uint32_t> order{0, 1, 1, 2, 0,
                                         0, 2, 1, 2, 2};  // who is late, and by how much, varies
  for (const auto& [lambda, decay] : std::vector<std::pair<double, double>>{{0.5, 0}, {2, 0}, {2, 0.95}}) {
    INFO("lambda = " << lambda << ", decay = " << decay);
    Driver d = server(lambda, decay);
    Recursion expected{lambda, decay};
    for (std::size_t t = 0; t < order.size(); ++t) {
      const double x = 0.1 + 0.05 * static_cast<double>(t);
      const Numbers gradient{x, -2 * x, 0.7 - x};
      d.turn(order[t], gradient);
      expected.push(order[t], gradient);
      const Numbers weights = d.weights();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        INFO("push " << t << ", weight " << i);
        CHECK(weights[i] == Approx(expected.w[i]).epsilon(1e-13));
      }
    }
  }
}

TEST_CASE("delay compensation leaves gradients alone that are not late", "[protocol]") {
  for (const double decay : {0.0, 0.9}) {
    Driver plain = server(0, 0), compensating = server(3, decay);
    for (const double x : {0.3, -0.2, 0.9}) {
      plain.turn(0, {x, 2 * x, 1});
      compensating.turn(0, {x, 2 * x, 1});
    }
    CHECK(plain.weights() == compensating.weights());
  }
}
