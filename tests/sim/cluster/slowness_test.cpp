// Goal: computations are as slow as the scenario says, and nobody's slowness depends on anybody else's.
// Method: means and coefficients of variation within four standard errors, with fixed seeds.
#include "sim/cluster/slowness.hpp"

#include <algorithm>
#include <cmath>

#include "sim/scenario/spec/scenario.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::uint32_t workers = 20;
constexpr std::int64_t steps = 10'000;
constexpr double n = static_cast<double>(workers) * static_cast<double>(steps);
const std::vector<double> mean_steps(400, 0.1);  // seconds

struct Sample {
  double mean = 0, cv = 0, least = HUGE_VAL, largest = 0;
  double mean_error = 0, cv_error = 0;  // standard errors, from the sample itself
};

Sample sample(const ComputeSpec& spec) {
  Slowness slowness(spec, {}, 3, mean_steps);
  std::vector<double> x;
  for (std::uint32_t w = 0; w < workers; ++w) {
    for (std::int64_t step = 0; step < steps; ++step) x.push_back(slowness.of_step(w, step));
  }
  Sample s;
  for (const double v : x) {
    s.mean += v / n;
    s.least = std::min(s.least, v);
    s.largest = std::max(s.largest, v);
  }
  double second = 0, fourth = 0;
  for (const double v : x) {
    second += std::pow(v - s.mean, 2) / n;
    fourth += std::pow(v - s.mean, 4) / n;
  }
  const double sd = std::sqrt(second);
  s.cv = sd / s.mean;
  s.mean_error = sd / std::sqrt(n);
  s.cv_error = std::sqrt(fourth - second * second) / (2 * sd * std::sqrt(n)) + s.cv * s.mean_error;
  return s;
}

void check(const ComputeSpec& spec, double cv) {
  const Sample s = sample(spec);
  CAPTURE(spec.distribution->name, s.mean, s.cv, cv);
  CHECK(std::abs(s.mean - 1) <= 4 * s.mean_error);
  CHECK(std::abs(s.cv - cv) <= 4 * s.cv_error);
  CHECK(s.cv_error < 0.02 * cv);  // or the test would say nothing
  CHECK(s.least > 0);
}

}  // namespace

TEST_CASE("the constant distribution is 1, without any error", "[slowness]") {
  const Sample s = sample({.distribution = "constant"});
  CHECK(s.least == 1);
  CHECK(s.largest == 1);
}

TEST_CASE("every distribution has mean 1 and the coefficient of variation that it should", "[slowness]") {
  for (const double cv : {0.1, 0.5}) {
    check({.distribution = "uniform", .settings = {{"cv", cv}}}, cv);
    check({.distribution = "gamma", .settings = {{"cv", cv}}}, cv);
    check({.distribution = "lognormal", .settings = {{"cv", cv}}}, cv);
  }
  check({.distribution = "gamma", .settings = {{"cv", 1.5}}}, 1.5);
  check({.distribution = "exponential"}, 1);
  // A quarter of the mean step of 0.1 s is always there.
  check({.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}, 0.75);
  // The variance of a Pareto variable is mean^2 / (alpha (alpha - 2)).
  check({.distribution = "pareto", .settings = {{"alpha", 10.0}}}, 1 / std::sqrt(80.0));
}

TEST_CASE("distributions begin and end where they should", "[slowness]") {
  const Sample uniform = sample({.distribution = "uniform", .settings = {{"cv", 0.2}}});
  CHECK(uniform.least == Approx(1 - 0.2 * std::sqrt(3.0)).epsilon(1e-3));
  CHECK(uniform.largest == Approx(1 + 0.2 * std::sqrt(3.0)).epsilon(1e-3));
  CHECK(uniform.least > 1 - 0.2 * std::sqrt(3.0));
  CHECK(sample({.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}).least ==
        Approx(0.25).epsilon(1e-3));
  CHECK(sample({.distribution = "pareto", .settings = {{"alpha", 2.5}}}).least == Approx(0.6).epsilon(1e-3));
  CHECK(sample({.distribution = "gamma", .settings = {{"cv", 0.0}}}).least == 1);
  CHECK(sample({.distribution = "lognormal", .settings = {{"cv", 0.0}}}).largest == 1);
}

TEST_CASE("a shift is a part of the worker's own mean step", "[slowness]") {
  // 25 ms of 100 ms, of 50 ms and of 25 ms.
  Slowness slowness({.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}, {}, 1,
                    {0.1, 0.05, 0.025});
  std::vector<double> least(3, HUGE_VAL), mean(3, 0);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::uint32_t w = 0; w < 3; ++w) {
      const double x = slowness.of_step(w, step);
      least[w] = std::min(least[w], x);
      mean[w] += x / static_cast<double>(steps);
    }
  }
  CHECK(least[0] == Approx(0.25).epsilon(2e-3));
  CHECK(least[1] == Approx(0.5).epsilon(2e-3));
  CHECK(least[2] == 1);
  CHECK(mean[0] == Approx(1).epsilon(4 * 0.75 / 100));
  CHECK(mean[1] == Approx(1).epsilon(4 * 0.5 / 100));
}

TEST_CASE("a step's slowness depends on seed, worker and step alone", "[slowness]") {
  for (const DistributionRow& row : all_rows<DistributionRow>()) {
    if (row.name == "constant" || row.reads_trace) continue;
    const ComputeSpec spec{.distribution = row.name, .settings = {{"cv", 0.3}}};
    CAPTURE(row.name);
    Slowness alone(spec, {}, 1, mean_steps), crowd(spec, {}, 1, mean_steps),
        backwards(spec, {}, 1, mean_steps), other_seed(spec, {}, 2, mean_steps);
    std::vector<double> in_order, from_the_end, of_other_seed, of_other_worker;
    for (std::int64_t step = 0; step < 200; ++step) {
      in_order.push_back(alone.of_step(4, step));
      for (std::uint32_t w = 0; w < 4; ++w) crowd.of_step(w, step);
      REQUIRE(crowd.of_step(4, step) == in_order.back());
      of_other_worker.push_back(crowd.of_step(5, step));
      from_the_end.insert(from_the_end.begin(), backwards.of_step(4, 199 - step));
      of_other_seed.push_back(other_seed.of_step(4, step));
    }
    CHECK(from_the_end == in_order);
    CHECK(of_other_seed != in_order);
    CHECK(of_other_worker != in_order);
  }
}

TEST_CASE("a markov worker is slow for the right share of steps, in spells of the right length",
          "[slowness]") {
  const ComputeSpec spec{.distribution = "markov",
                         .settings = {{"slowdown", 4.0}, {"enter", 0.05}, {"leave", 0.2}}};
  Slowness slowness(spec, {}, 5, mean_steps);
  const double share = 0.05 / 0.25, fast_factor = 1 / (1 + share * 3);
  double slow_steps = 0, spells = 0, first_slow = 0, sum = 0;
  constexpr std::uint32_t many = 400;
  constexpr std::int64_t length = 500;
  for (std::uint32_t w = 0; w < many; ++w) {
    bool before = false;
    for (std::int64_t step = 0; step < length; ++step) {
      const double x = slowness.of_step(w, step);
      const bool slow = x > 1;
      REQUIRE(x == Approx(slow ? 4 * fast_factor : fast_factor));
      slow_steps += slow;
      spells += slow && !before;
      first_slow += slow && step == 0;
      sum += x;
      before = slow;
    }
  }
  const double total = many * static_cast<double>(length);
  // The chain forgets with 1 - 0.05 - 0.2 a step: its mean varies as that of 7 times fewer independent steps.
  const double error = std::sqrt(share * (1 - share) * (1.75 / 0.25) / total);
  CHECK(std::abs(slow_steps / total - share) < 4 * error);
  CHECK(std::abs(sum / total - 1) < 4 * error * 3 * fast_factor);
  CHECK(slow_steps / spells == Approx(5).epsilon(0.05));                                   // 1 / leave
  CHECK(std::abs(first_slow / many - share) < 4 * std::sqrt(share * (1 - share) / many));  // no warm-up
}

TEST_CASE("a trace starts again at its end, and its columns are shared out to the workers", "[slowness]") {
  Slowness columns({.distribution = "trace", .trace_rows = {{1, 10}, {2, 20}, {3, 30}}}, {}, 1, mean_steps);
  CHECK(columns.of_step(0, 0) == 1);
  CHECK(columns.of_step(1, 1) == 20);
  CHECK(columns.of_step(2, 2) == 3);
  CHECK(columns.of_step(3, 3) == 10);
  CHECK(columns.of_step(0, 3'000'001) == 2);
  Slowness one({.distribution = "trace", .trace_rows = {{0.5}, {1.5}}}, {}, 1, mean_steps);
  CHECK(one.of_step(7, 1) == 1.5);
  CHECK(one.of_step(8, 2) == 0.5);
}

TEST_CASE("random stragglers are slow in steps of their own", "[slowness]") {
  const StragglerSpec half{.workers = {0, 1}, .slowdown = 3, .probability = 0.5};
  Slowness slowness({.distribution = "constant"}, {half}, 3, mean_steps);
  int together = 0;
  for (std::int64_t step = 0; step < steps; ++step)
    together += slowness.of_step(0, step) == slowness.of_step(1, step) ? 1 : 0;
  const double share = together / static_cast<double>(steps);
  CHECK(std::abs(share - 0.5) < 4 * 0.5 / std::sqrt(static_cast<double>(steps)));
}
