// The verdict on a fit, and its reasons.
#include "analysis/calibrate/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "model/random.hpp"
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
  CHECK(says(verdict, "push and pull take"));
  CHECK(judge(fitted, held_out, {fitted}, 0.05).holds);
}
