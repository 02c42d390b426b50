// Two workers fit y = w x to four samples each, all of them a batch, so that gradients are known in closed
// form. Losses are over all eight samples.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace psim::test {

// The workers' shards disagree: the best w of the first is near 2, of the second near -1.
inline constexpr std::array<double, 8> xs{1, 2, 0.5, 1.5, -1, 2, 0.25, 1};
inline constexpr std::array<double, 8> ys{2, 4.5, 1, 2.5, 1.5, -2, 0, -1};
inline constexpr double start = 0.5;

inline double gradient(int worker, double w) {
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t sample = static_cast<std::size_t>(worker) * 4 + i;
    sum += (w * xs[sample] - ys[sample]) * xs[sample];
  }
  return sum / 4;
}

inline double loss(double w) {
  double sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum += 0.5 * (w * xs[i] - ys[i]) * (w * xs[i] - ys[i]);
  return sum / 8;
}

template <class Numbers>
std::string rows(const Numbers& numbers) {
  std::string text;
  for (const double x : numbers) text += fmt::format("[{:.17g}], ", x);
  return text;
}

struct TwoWorkers {
  std::string training;
  int steps = 8;
  std::string consistency = "model = \"bsp\"";
  std::string more = "";
};

inline ScenarioBuilder of_two_workers(const TwoWorkers& f) {
  return ScenarioBuilder({"data.source=inline", "data.partition=contiguous", "model.layers=[1, 1]",
                          "model.bias=false", "model.activation=identity", "model.loss=half-sse",
                          "model.precision=float64", "training.batch_size=4",
                          "training.evaluate_every=1 update", "compute.time=100ms", "cluster.workers=2"})
      .links("1000Tbps", "0s")
      .set("data.inputs", fmt::format("[{}]", rows(xs)))
      .set("data.targets", fmt::format("[{}]", rows(ys)))
      .set("model.weights", fmt::format("[[[{}]]]", start))
      .set("training.steps", f.steps)
      .with("training", f.training)
      .with("consistency", f.consistency)
      .with(f.more);
}

inline void check_losses(const Json& run, const std::vector<double>& weights) {
  const Json& curve = run["curve"];
  REQUIRE(curve.size() >= weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    INFO("after " << i << " updates");
    CHECK(curve[i]["loss"].get<double>() == Approx(loss(weights[i])).epsilon(1e-12));
  }
}

}  // namespace psim::test
