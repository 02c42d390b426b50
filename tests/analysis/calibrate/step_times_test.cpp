// The fit of step times, against series whose properties are known.
#include "analysis/calibrate/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/base/random.hpp"
#include "tests/analysis/calibrate/autoregression.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::Stream;
using psim::test::ar1;

namespace {

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

TEST_CASE("own effects of two workers share nothing", "[unit][calibrate]") {
  StepTimes times{.workers = {0, 1}, .compute = {}, .rest = {}};
  // Logarithms of zero mean, each series at right angles to the other.
  for (const auto& [one, other] : {std::pair(0.1, 0.2), {-0.1, 0.2}, {0.1, -0.2}, {-0.1, -0.2}})
    times.compute.push_back({std::exp(one), std::exp(other)});
  CHECK(fit_steps(times).shared == Approx(0).margin(1e-12));
  for (std::vector<double>& row : times.compute) row[1] = row[0];
  CHECK(fit_steps(times).shared == Approx(1));
}

TEST_CASE("three steps give a fit with the interval of Student's t", "[unit][calibrate]") {
  StepLog log;
  for (int step = 0; step < 3; ++step) log.add(0, step, {.compute = 0.1 + 0.01 * step});
  std::vector<std::string> notes;
  const StepFit fit = fit_steps(step_times(log, {}, notes));
  CHECK(fit.block == 1);
  CHECK(fit.means[0] == Approx(0.11));
  CHECK(fit.intervals[0].high - fit.means[0] == Approx(4.302653 * 0.01 / std::sqrt(3)).epsilon(1e-4));
  StepLog two;
  for (int step = 0; step < 2; ++step) two.add(0, step, {.compute = 0.1});
  CHECK_THROWS_WITH(step_times(two, {}, notes), Catch::Contains("the log has 2 steps of every worker"));
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

TEST_CASE("one worker with a memory gives the blocks, whatever the others do", "[calibrate]") {
  StepTimes times = times_of(400, 8, 0, 0, 0);
  const std::vector<double> level = ar1(400, 0.9, 3);
  Stream stream(4, "test");
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t w = 0; w < 8; ++w)
      times.compute[i][w] = std::exp(w == 5 ? 0.2 * level[i] : 0.1 * stream.normal());
  }
  const StepFit fit = fit_steps(times);
  CHECK(fit.memory > 9);
  CHECK(fit.block >= 72);  // eight memories
}

TEST_CASE("steps without a memory are drawn one by one", "[calibrate]") {
  int found = 0;
  constexpr int logs = 200;
  for (int log = 0; log < logs; ++log) {
    StepTimes times{.workers = {0, 1, 2, 3, 4, 5, 6, 7}, .compute = {}, .rest = {}};
    Stream stream(static_cast<std::uint64_t>(log), "test");
    for (int i = 0; i < 300; ++i) {
      std::vector<double>& row = times.compute.emplace_back();
      for (int w = 0; w < 8; ++w) row.push_back(std::exp(0.1 * stream.normal()));
    }
    const StepFit fit = fit_steps(times);
    found += fit.memory > 1 ? 1 : 0;
    if (fit.memory == 1 && fit.shared_memory == 1) CHECK(fit.block == 1);
    else CHECK(fit.block >= 8);
  }
  CHECK(found <= 0.04 * logs);  // 2 %, and a normal quantile above it
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
  CHECK_THROWS_AS(step_times(log, 198, notes), LogError);
}
