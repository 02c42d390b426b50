// The verdict on a fit, and its reasons.
#include "analysis/calibrate/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;

namespace {

// Steps of `workers` workers with mean `mean`, cv 0.1, and bursts of `burst` steps that take three times as
// long.
StepTimes steps(std::size_t count, double mean, std::uint64_t seed, int burst = 0, double last_worker = 1) {
  psim::Stream stream(seed, "test");
  StepTimes times{.workers = {10, 11, 12}, .compute = {}, .rest = {}};
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double>& row = times.compute.emplace_back();
    for (int w = 0; w < 3; ++w) row.push_back(mean * std::exp(0.1 * stream.normal()));
    row[2] *= last_worker;
    if (burst > 0 && (i / static_cast<std::size_t>(burst)) % 4 == 0) row[0] *= 3;
  }
  return times;
}

std::string all(const Verdict& verdict) {
  std::string text;
  for (const std::string& reason : verdict.reasons) text += reason + "\n";
  return text;
}

bool says(const Verdict& verdict, const std::string& part) {
  return all(verdict).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a model that agrees holds, and gives no reasons", "[calibrate]") {
  const Verdict verdict =
      judge(steps(400, 1, 1), steps(400, 1, 2), {steps(400, 1, 3), steps(400, 1, 4)}, 0.05);
  CHECK(verdict.holds);
  CHECK(verdict.reasons.empty());
  REQUIRE(verdict.judged.size() == 3);
  CHECK(std::abs(verdict.judged[0].error()) < 0.03);
}

TEST_CASE("a cluster that changed is the reason of an error", "[calibrate]") {
  const Verdict slower = judge(steps(400, 1, 1), steps(400, 1.2, 2), {steps(400, 1, 3)}, 0.05);
  CHECK(!slower.holds);
  INFO(all(slower));
  CHECK(says(slower, "% slower than those of the first"));
  const Verdict one = judge(steps(400, 1, 1), steps(400, 1, 2, 0, 1.6), {steps(400, 1, 3)}, 0.05);
  INFO(all(one));
  CHECK(!one.holds);
  CHECK(says(one, "worker 12 is"));
}

TEST_CASE("the worker that changed is named, relative to the others", "[calibrate]") {
  // Two workers of five slow down. Beside a mean that contains them the others look faster.
  const auto parts = [](double factor) {
    StepTimes times = steps(400, 1, 5);
    for (std::vector<double>& row : times.compute) {
      const double third = row[2];
      row = {row[0], row[1], third, third / 3 + 0.7, row[1] / 3 + 0.6};
      row[0] *= factor, row[3] *= factor;
    }
    times.workers = {20, 21, 22, 23, 24};
    return times;
  };
  const Verdict verdict = judge(parts(1), parts(1.5), {parts(1)}, 0.05);
  INFO(all(verdict));
  CHECK(!verdict.holds);
  CHECK(says(verdict, "is 50 % slower in the later part, relative to the other workers; 2 of 5 workers"));
  CHECK((says(verdict, "worker 20 ") || says(verdict, "worker 23 ")));
  CHECK(!says(verdict, "the cluster changed"));
}

TEST_CASE("of two workers the one that changed is named", "[calibrate]") {
  for (const double factor : {0.5, 2.0}) {
    const auto parts = [](double of_last, std::uint64_t seed) {
      StepTimes times = steps(400, 1, seed);
      for (std::vector<double>& row : times.compute) row = {row[0], row[1] * of_last};
      times.workers = {7, 8};
      return times;
    };
    const Verdict verdict = judge(parts(1, 1), parts(factor, 2), {parts(1, 3)}, 0.05);
    INFO(all(verdict));
    CHECK(!verdict.holds);
    CHECK(says(verdict, "worker 8 is"));
    CHECK(!says(verdict, "worker 7 is"));
  }
}

TEST_CASE("a cluster that does not change is seldom told that it did", "[calibrate]") {
  constexpr int logs = 300;
  int failed = 0, told = 0;
  for (std::uint64_t log = 0; log < logs; ++log) {
    psim::Stream stream(log, "test");
    StepTimes both{.workers = {0, 1, 2, 3}, .compute = {}, .rest = {}};
    std::vector<double> level(4);
    for (double& one : level) one = stream.normal();
    for (int i = 0; i < 400; ++i) {
      std::vector<double>& row = both.compute.emplace_back();
      for (double& one : level) {
        row.push_back(std::exp(0.2 * one));
        one = 0.9 * one + std::sqrt(1 - 0.81) * stream.normal();
      }
    }
    const StepTimes first = both.part(0, 200), later = both.part(200, 400);
    const Verdict verdict = judge(first, later, {first}, 0.05);
    failed += verdict.holds ? 0 : 1;
    told += says(verdict, "in the later part") || says(verdict, "of the later part") ? 1 : 0;
  }
  INFO(failed << " of " << logs << " verdicts do not hold; " << told << " blame a change");
  CHECK(failed > 60);
  CHECK(told <= 12);  // 2 %, and a normal quantile above it
}

TEST_CASE("the longest computations are judged where nothing else is logged", "[calibrate]") {
  const Verdict verdict = judge(steps(100, 1, 1), steps(100, 1, 2), {steps(100, 1, 3)}, 0.5);
  CHECK(verdict.only_computations);
  CHECK(verdict.judged[0].name == "mean of the longest computation of a step");
}

TEST_CASE("a model without the memory or the imbalance of the steps is told so", "[calibrate]") {
  const Verdict verdict =
      judge(steps(400, 1, 1, 20), steps(400, 1, 2, 20), {steps(400, 1.5, 3), steps(400, 1.5, 4)}, 0.05);
  INFO(all(verdict));
  CHECK(!verdict.holds);
  CHECK(says(verdict, "are autocorrelated over"));
  CHECK(says(verdict, "times the mean one, and"));
}

TEST_CASE("with transfers the time from a step to the next is judged, for each worker", "[calibrate]") {
  StepTimes fitted = steps(300, 1, 1), held_out = steps(300, 1, 2), simulated = steps(300, 1, 3);
  for (StepTimes* times : {&fitted, &held_out, &simulated}) {
    for (const std::vector<double>& row : times->compute) {
      const double longest = *std::ranges::max_element(row);
      std::vector<double>& rest = times->rest.emplace_back();
      for (const double one : row) rest.push_back(longest - one + (times == &simulated ? 0.2 : 0.1));
    }
  }
  CHECK(step_durations({&held_out, 1}).size() == 900);
  const Verdict verdict = judge(fitted, held_out, {simulated}, 0.05);
  CHECK(!verdict.holds);
  // The computations agree, so nothing is said before the network.
  CHECK(verdict.reasons[0].starts_with("push and pull take"));
  CHECK(!verdict.only_computations);
  CHECK(verdict.judged[0].name == "mean of a step");
  CHECK(judge(fitted, held_out, {fitted}, 0.05).holds);
}
