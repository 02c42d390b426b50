// The fit of step times, against series whose properties are known.
#include "analysis/calibrate/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::Stream;

namespace {

// Logarithms of an autoregression of order 1 with standard deviation 1.
std::vector<double> ar1(std::size_t steps, double r, std::uint64_t seed) {
  Stream stream(seed, "test");
  std::vector<double> series;
  double level = stream.normal();
  for (std::size_t i = 0; i < steps; ++i) {
    series.push_back(level);
    level = r * level + std::sqrt(1 - r * r) * stream.normal();
  }
  return series;
}

// Step times of 0.1 s, 0.2 s, ... with an own and a shared autoregression.
StepTimes times_of(std::size_t steps, std::size_t workers, double own, double shared, double r) {
  StepTimes times;
  const std::vector<double> common = ar1(steps, r, 1000);
  for (std::size_t w = 0; w < workers; ++w) times.workers.push_back(static_cast<std::int64_t>(w));
  std::vector<std::vector<double>> each;
  for (std::size_t w = 0; w < workers; ++w) each.push_back(ar1(steps, r, w));
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<double>& row = times.compute.emplace_back();
    for (std::size_t w = 0; w < workers; ++w)
      row.push_back(0.1 * static_cast<double>(w + 1) * std::exp(own * each[w][i] + shared * common[i]));
  }
  return times;
}

}  // namespace

TEST_CASE("autocorrelation, memory and blocks of an autoregression", "[calibrate]") {
  const std::vector<double> series = ar1(100'000, 0.8, 1);
  const std::vector<double> rho = autocorrelation(series, 10);
  for (std::size_t lag = 0; lag <= 10; ++lag) CHECK(rho[lag] == Approx(std::pow(0.8, lag)).margin(0.03));
  CHECK(memory_of(series) == Approx(1.8 / 0.2).epsilon(0.1));  // (1 + r) / (1 - r)
  // For an AR(1) series Politis and White's constants are g(0) = sum of r^|k| and G = sum of |k| r^|k|, over
  // the variance: 9 and 40. The block is (2 G^2 / (4 / 3 g(0)^2))^(1/3) n^(1/3).
  CHECK(best_block(series) == Approx(std::cbrt(2 * 40 * 40 / (4.0 / 3 * 81) * 1e5)).epsilon(0.15));
  const std::vector<double> noise = ar1(10'000, 0, 2);
  CHECK(memory_of(noise) == Approx(1).margin(0.2));
  CHECK(best_block(noise) < 3);
  CHECK(memory_of(std::vector<double>(50, 3.0)) == 1);
  CHECK(best_block(std::vector<double>(50, 3.0)) == 1);
}

TEST_CASE("quantiles lie between neighbouring values", "[calibrate]") {
  CHECK(quantile_of({3, 1, 2}, 0.5) == 2);
  CHECK(quantile_of({1, 2}, 0.25) == 1.25);
  CHECK(quantile_of({5}, 0.95) == 5);
  CHECK(quantile_of({1, 2, 3, 4, 5}, 1) == 5);
}

TEST_CASE("the fit tells own and shared effects apart, and finds the memory", "[calibrate]") {
  const StepFit own = fit_steps(times_of(2000, 8, 0.2, 0, 0.9));
  CHECK(own.shared < 0.1);
  CHECK(own.cv == Approx(std::sqrt(std::expm1(0.04))).epsilon(0.15));
  CHECK(own.memory == Approx(19).epsilon(0.35));
  CHECK(own.block >= 60);
  CHECK(own.block <= 500);
  const StepFit half = fit_steps(times_of(2000, 8, 0.1, 0.1, 0));
  CHECK(half.shared == Approx(0.5).margin(0.06));
  CHECK(half.memory == Approx(1).margin(0.3));
  const StepFit all = fit_steps(times_of(2000, 8, 0, 0.2, 0));
  CHECK(all.shared == Approx(1).margin(1e-6));
  const StepFit independent = fit_steps(times_of(2000, 4, 0.2, 0, 0));
  CHECK(independent.block <= 8);
  for (std::size_t w = 0; w < 4; ++w) {
    const double truth = 0.1 * static_cast<double>(w + 1) * std::exp(0.02);
    CHECK(independent.means[w] == Approx(truth).epsilon(0.02));
    CHECK(independent.intervals[w].low < truth);
    CHECK(independent.intervals[w].high > truth);
    CHECK(independent.intervals[w].high - independent.intervals[w].low < 0.03 * truth);
  }
}

TEST_CASE("intervals of a mean know about its memory", "[calibrate]") {
  int held = 0;
  constexpr int logs = 60;
  for (int log = 0; log < logs; ++log) {
    StepTimes times{.workers = {0}, .compute = {}, .rest = {}};
    for (const double level : ar1(600, 0.9, 77 + static_cast<std::uint64_t>(log)))
      times.compute.push_back({std::exp(0.2 * level)});
    const StepFit fit = fit_steps(times);
    const double truth = std::exp(0.02);
    held += fit.intervals[0].low <= truth && truth <= fit.intervals[0].high ? 1 : 0;
  }
  CHECK(held >= 0.83 * logs);  // independent rows would hold 50 %
}

TEST_CASE("steps that only some workers have are left out, or go by their order", "[calibrate]") {
  StepLog log;
  for (int step = 0; step < 100; ++step) {
    for (int worker = 0; worker < 3; ++worker) {
      if (worker == 1 && step % 10 == 3) continue;
      log.add(worker, step, {.compute = 1 + 0.001 * step});
    }
  }
  std::vector<std::string> notes;
  const StepTimes times = step_times(log, {}, notes);
  CHECK(times.size() == 90);
  CHECK(times.steps[3] == 4);
  CHECK(times.rest.empty());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "10 of 100 steps are left out, because some workers lack them.");
  StepLog apart;
  for (int step = 0; step < 50; ++step) {
    apart.add(0, 2 * step, {.compute = 1});
    apart.add(1, 2 * step + 1, {.compute = 2});
  }
  notes.clear();
  const StepTimes by_order = step_times(apart, {}, notes);
  CHECK(by_order.size() == 50);
  CHECK(by_order.compute[7] == std::vector<double>{1, 2});
  CHECK(notes.size() == 1);
}

TEST_CASE("a step without push or pull is left out, and most steps without them leave out all of them",
          "[calibrate]") {
  const auto times_with = [](int empty, std::vector<std::string>& notes) {
    StepLog log;
    for (int step = 0; step < 40; ++step) {
      for (int worker = 0; worker < 2; ++worker) {
        LoggedStep one{.compute = 1, .push = 0.5, .pull = 0.25};
        if (worker == 1 && step < empty) one.pull = LoggedStep::unknown;
        log.add(worker, step, one);
      }
    }
    return step_times(log, 0, notes);
  };
  std::vector<std::string> notes;
  CHECK(times_with(0, notes).rest.size() == 40);
  CHECK(notes.empty());
  const StepTimes some = times_with(1, notes);
  REQUIRE(some.rest.size() == 39);
  CHECK(some.compute.size() == 39);
  CHECK(some.rest[0] == std::vector<double>{0.75, 0.75});
  CHECK(some.steps.front() == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "1 of 40 steps are left out, because a worker lacks push_s or pull_s.");
  notes.clear();
  const StepTimes most = times_with(30, notes);
  CHECK(most.rest.empty());
  CHECK(most.compute.size() == 40);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("In 30 of 40 steps a worker lacks push_s or pull_s"));
}

TEST_CASE("a warm-up is left out with a note, and --skip takes another number", "[calibrate]") {
  StepLog log;
  Stream stream(1, "test");
  for (int step = 0; step < 200; ++step) {
    for (int worker = 0; worker < 4; ++worker)
      log.add(worker, step, {.compute = (step < 5 ? 3 : 1) * (1 + 0.02 * stream.normal())});
  }
  std::vector<std::string> notes;
  CHECK(step_times(log, {}, notes).steps.front() == 5);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("5 steps are a warm-up") != std::string::npos);
  notes.clear();
  CHECK(step_times(log, 20, notes).steps.front() == 20);
  CHECK(step_times(log, 0, notes).steps.front() == 0);
  CHECK(notes.empty());
  CHECK_THROWS_AS(step_times(log, 195, notes), LogError);
}

TEST_CASE("resampled rows are blocks of neighbours within the log", "[calibrate]") {
  for (std::uint64_t draw = 0; draw < 50; ++draw) {
    const std::vector<std::size_t> rows = drawn_rows(103, 10, draw);
    REQUIRE(rows.size() == 103);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(rows[i] < 103);
      if (i % 10 != 0) REQUIRE(rows[i] == rows[i - 1] + 1);
    }
  }
  CHECK(drawn_rows(100, 10, 1) != drawn_rows(100, 10, 2));
}
