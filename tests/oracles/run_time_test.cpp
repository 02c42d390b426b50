// Expected time per update of every consistency model, from the theory of Dutta, Joshi, Ghosh, Dube,
// Nagpurkar, "Slow and Stale Gradients Can Win the Race", AISTATS 2018. X: a worker's step, X_{k:P}: the k-th
// smallest of P. Every bound is four standard deviations of the mean, from the known variance.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double computations = 30'000;  // per run, about

const std::vector<std::pair<int, int>> sizes{{3, 2}, {8, 1}, {8, 4}, {8, 8}, {30, 27}};  // P, k

struct Law {
  double mean = 0, sd = 0;  // of the time between updates
};

// Duration over updates is the mean time between updates.
double seconds_per_update(const Ideal& scenario) {
  const Json run = toml(scenario).run();
  REQUIRE(run["stuck"].empty());
  return scenario.duration / run["updates"].get<double>();
}

void check_law(Ideal scenario, const Law& law, double updates) {
  scenario.duration = std::ceil(updates * law.mean);
  const double measured = seconds_per_update(scenario);
  INFO(scenario.consistency << ", P = " << scenario.workers << ", " << scenario.compute);
  CHECK(measured == Approx(law.mean).epsilon(0).margin(4 * law.sd / std::sqrt(updates)));
}

std::string model(const char* name, int k) { return fmt::format("model = \"{}\"\nk = {}", name, k); }

// X_{k:P} of an exponential time of mean 1.
Law exponential_order(int p, int k) {
  return {sum_of_powers(p - k + 1, p, 1), std::sqrt(sum_of_powers(p - k + 1, p, 2))};
}

// Its gradients come at P / E[X], so k of them take this long; cv: of a step.
Law renewal(int p, int k, double cv) { return {double(k) / p, cv * std::sqrt(k) / p}; }

double order_moment_of_pareto(int p, int k, double alpha, int power) {
  return std::exp(std::lgamma(p + 1) + std::lgamma(p - k + 1 - power / alpha) - std::lgamma(p - k + 1) -
                  std::lgamma(p + 1 - power / alpha));
}

}  // namespace

TEST_CASE("exponential steps: bsp takes H_P, asp 1/P", "[oracle][slow]") {
  for (const int p : {2, 8, 30}) {
    check_law({.consistency = R"(model = "bsp")", .workers = p}, exponential_order(p, p), computations / p);
    check_law({.consistency = R"(model = "asp")", .workers = p}, renewal(p, 1, 1), computations);
  }
}

TEST_CASE("exponential steps: k-sync takes H_P - H_{P-k}", "[oracle][slow]") {
  for (const auto& [p, k] : sizes)
    check_law({.consistency = model("k-sync", k), .workers = p}, exponential_order(p, k), computations / p);
}

TEST_CASE("exponential steps: k-async takes H_P - H_{P-k}", "[oracle][slow]") {
  for (const auto& [p, k] : sizes)
    check_law({.consistency = model("k-async", k), .workers = p}, exponential_order(p, k), computations / k);
}

TEST_CASE("exponential steps: k-batch-sync and k-batch-async take k/P", "[oracle][slow]") {
  for (const auto& [p, k] : sizes) {
    check_law({.consistency = model("k-batch-sync", k), .workers = p}, renewal(p, k, 1), computations / p);
    check_law({.consistency = model("k-batch-async", k), .workers = p}, renewal(p, k, 1), computations / k);
  }
}

TEST_CASE("shifted exponential steps: every model's time per update", "[oracle][slow]") {
  const double shift = 0.6, rest = 0.4;
  const Ideal base{.consistency = "", .compute = "distribution = \"shifted-exponential\"\nshift = \"600ms\""};
  for (const auto& [p, k] : std::vector<std::pair<int, int>>{{8, 4}, {8, 8}, {20, 15}}) {
    const Law order{shift + rest * exponential_order(p, k).mean, rest * exponential_order(p, k).sd};
    Ideal scenario = base;
    scenario.workers = p;
    scenario.consistency = model("k-sync", k);
    check_law(scenario, order, computations / p);
    scenario.consistency = model("k-batch-async", k);
    check_law(scenario, renewal(p, k, rest), computations / k);
    scenario.consistency = R"(model = "asp")";
    check_law(scenario, renewal(p, 1, rest), computations);
  }
}

TEST_CASE("shifted exponential steps: k-async is strictly faster than k-sync, k-batch-async still faster",
          "[oracle][slow]") {
  for (const auto& [p, k] : std::vector<std::pair<int, int>>{{8, 2}, {8, 4}, {8, 7}, {20, 15}}) {
    const double k_sync = 0.6 + 0.4 * exponential_order(p, k).mean;
    const double updates = computations / k;
    const double measured =
        seconds_per_update({.consistency = model("k-async", k),
                            .workers = p,
                            .duration = std::ceil(updates * k_sync),
                            .compute = "distribution = \"shifted-exponential\"\nshift = \"600ms\""});
    INFO("P = " << p << ", k = " << k);
    CHECK(measured + 4 * 0.4 * exponential_order(p, k).sd / std::sqrt(updates) < k_sync);
    CHECK(measured > double(k) / p);
  }
}

TEST_CASE("Pareto steps: k-sync takes the k-th order statistic", "[oracle][slow]") {
  struct Case {
    int p, k;
    double alpha;
  };
  for (const auto& [p, k, alpha] : {Case{8, 4, 2.5}, Case{8, 7, 2.5}, Case{30, 20, 2}, Case{10, 10, 3.5}}) {
    const double least = (alpha - 1) / alpha;  // the mean is 1
    const double first = order_moment_of_pareto(p, k, alpha, 1),
                 second = order_moment_of_pareto(p, k, alpha, 2);
    check_law({.consistency = model("k-sync", k),
               .workers = p,
               .compute = fmt::format("distribution = \"pareto\"\nalpha = {:.1f}", alpha)},
              {least * first, least * std::sqrt(second - first * first)}, computations / p);
  }
}

TEST_CASE("Pareto steps: with a heavy tail k-async is slower than k-sync", "[oracle]") {
  const Ideal base{.consistency = model("k-async", 27),
                   .workers = 30,
                   .duration = 4000,
                   .compute = "distribution = \"pareto\"\nalpha = 2.0",
                   .time = R"(time = "2s")"};
  CHECK(seconds_per_update(base) == Approx(3.66).epsilon(0.02));  // Monte Carlo; k-sync: 3.05
}

TEST_CASE("uniform steps: k-sync takes the k-th order statistic", "[oracle][slow]") {
  const double cv = 0.5, least = 1 - std::sqrt(3.0) * cv, width = 2 * std::sqrt(3.0) * cv;
  for (const auto& [p, k] : sizes) {
    const double variance = double(k) * (p - k + 1) / ((p + 1.0) * (p + 1.0) * (p + 2.0));
    check_law(
        {.consistency = model("k-sync", k), .workers = p, .compute = "distribution = \"uniform\"\ncv = 0.5"},
        {least + width * k / (p + 1), width * std::sqrt(variance)}, computations / p);
  }
}

TEST_CASE("whatever the distribution, asp and k-batch-async take k E(X) / P", "[oracle][slow]") {
  // Of a Markov chain the variance of the mean is that of independent steps times (1 + r) / (1 - r).
  const double slow = 0.05 / (0.05 + 0.25), mean = 1 + 4 * slow, r = 1 - 0.05 - 0.25;
  const double markov = std::sqrt(slow * (1 - slow) * 16 / (mean * mean) * (1 + r) / (1 - r));
  const std::vector<std::pair<std::string, double>> distributions{
      {"distribution = \"gamma\"\ncv = 0.5", 0.5},
      {"distribution = \"gamma\"\ncv = 2.0", 2},
      {"distribution = \"lognormal\"\ncv = 0.8", 0.8},
      {"distribution = \"uniform\"\ncv = 0.5", 0.5},
      {"distribution = \"markov\"", markov}};
  for (const auto& [compute, cv] : distributions) {
    for (const auto& [p, k] : std::vector<std::pair<int, int>>{{8, 1}, {5, 3}}) {
      const std::string consistency = k == 1 ? R"(model = "asp")" : model("k-batch-async", k);
      check_law({.consistency = consistency, .workers = p, .compute = compute}, renewal(p, k, cv),
                computations / k);
    }
  }
}

TEST_CASE("workers of different speeds: rates add up", "[oracle][slow]") {
  const std::string speeds = "[cluster.worker]\nspeed = [\"2Gf\", \"1Gf\", \"500Mf\", \"125Mf\"]\n";
  const double rate = 2 + 1 + 0.5 + 0.125;
  for (const std::string compute : {"distribution = \"exponential\"", "distribution = \"gamma\"\ncv = 1.0"}) {
    for (const int k : {1, 3}) {
      check_law({.consistency = model("k-batch-async", k),
                 .workers = 4,
                 .compute = compute,
                 .time = "",
                 .cluster = speeds},
                {k / rate, std::sqrt(k) / rate}, computations / k);
    }
  }
  check_law({.consistency = R"(model = "asp")",
             .workers = 6,
             .cluster = "[[straggler]]\nworkers = [2, 4]\nslowdown = 4.0\n"},
            {1 / 4.5, 1 / 4.5}, computations);
}

TEST_CASE("workers of different speeds: no step is shorter than the shift", "[oracle]") {
  const Ideal scenario{.consistency = R"(model = "asp")",
                       .workers = 2,
                       .duration = 200,
                       .compute = "distribution = \"shifted-exponential\"\nshift = \"900ms\"",
                       .time = "",
                       .cluster = "[cluster.worker]\nspeed = [\"500Mf\", \"1Gf\"]\n"};
  std::vector<double> begun(2, 0.0), shortest(2, 1e9);
  for (const RecordedEvent& e : toml(scenario).trace().events) {
    const std::size_t worker = e.node < 2 ? 0 : static_cast<std::size_t>(e.node - 2);
    if (e.is("computation", "begun")) begun[worker] = e.at;
    if (e.is("computation", "ended")) shortest[worker] = std::min(shortest[worker], e.at - begun[worker]);
  }
  CHECK(shortest[0] >= 0.9 - 1e-8);
  CHECK(shortest[1] >= 0.9 - 1e-8);
  CHECK(shortest[0] < 1.0);  // 1.1 s of an exponential rest, 100 steps
}
