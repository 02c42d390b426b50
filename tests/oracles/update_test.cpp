// Updates of a custom model whose condition counts each worker's gradients (Malenia SGD: Tyurin and
// Richtarik, NeurIPS 2023), and signSGD's majority vote (Bernstein et al., ICML 2018), against closed forms.
#include <cmath>
#include <vector>

#include "tests/oracles/two_workers.hpp"

using namespace psim::test;

namespace {

constexpr double rate = 0.05;

ScenarioBuilder malenia(const std::string& update, const std::string& aggregation) {
  return of_two_workers({.training = "learning_rate = 0.05",
                         .consistency = fmt::format(
                             "model = \"custom\"\nk = 2\nupdate = \"{}\"\ntoo_late = \"age > 0\"\n"
                             "aggregation = \"{}\"",
                             update, aggregation)})
      .straggler(1, 3.5);
}

}  // namespace

TEST_CASE("each worker counts once, however many gradients it has in an update", "[oracle][update]") {
  // Until worker 1 has its gradient at 0.35 s, worker 0 has three.
  std::vector<double> equal{start}, by_push{start};
  for (int t = 0; t < 8; ++t) {
    const double w = equal.back(), v = by_push.back();
    equal.push_back(w - rate * (gradient(0, w) + gradient(1, w)) / 2);
    by_push.push_back(v - rate * (3 * gradient(0, v) + gradient(1, v)) / 4);
  }
  const Json run = malenia("least >= 1", "worker-mean").run();
  check_losses(run, equal);
  CHECK(run["sim_time_s"].get<double>() == Approx(8 * 0.35));
  CHECK(run["staleness"]["max"] == 0);
  check_losses(malenia("distinct >= 2", "mean").run(), by_push);
}

TEST_CASE("an update waits for the harmonic mean of the workers' numbers of gradients", "[oracle][update]") {
  // With 1 gradient of worker 1 the mean is 2 / (1 / n + 1) < 2; with its second one, at 0.7 s, it is at
  // least 2: then worker 0 has six.
  const Json run = malenia("harmonic >= k", "worker-mean").run();
  CHECK(run["sim_time_s"].get<double>() == Approx(8 * 0.7));
  CHECK(run["pushes"]["applied"] == 8 * 8);
  std::vector<double> weights{start};
  for (int t = 0; t < 8; ++t) {
    const double w = weights.back();
    weights.push_back(w - rate * (gradient(0, w) + gradient(1, w)) / 2);
  }
  check_losses(run, weights);
}

TEST_CASE("a majority vote moves every weight by the rate", "[oracle][update]") {
  std::vector<double> weights{start};
  for (int t = 0; t < 8; ++t) {
    const double w = weights.back();
    const auto sign = [](double x) { return (x > 0) - (x < 0); };
    const int votes = sign(gradient(0, w)) + sign(gradient(1, w));
    weights.push_back(w - rate * sign(votes));
  }
  check_losses(of_two_workers({.training = "learning_rate = 0.05",
                               .consistency = "model = \"bsp\"\naggregation = \"vote\""})
                   .run(),
               weights);
}

TEST_CASE("a filter that sends all differences trains as no filter does", "[oracle][update]") {
  const auto curve = [](const char* filter) {
    return of_two_workers({.training = "learning_rate = 0.05", .more = filter}).run()["curve"];
  };
  const Json all = curve("filter = [{kind = \"top-k\", fraction = 1.0, memory = \"difference\"}]\n"),
             plain = curve("");
  REQUIRE(all.size() == plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(all[i]["loss"].get<double>() == Approx(plain[i]["loss"].get<double>()).epsilon(1e-12));
}
