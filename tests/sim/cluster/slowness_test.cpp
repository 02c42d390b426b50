// Goal: computations are as slow as the scenario says, and nobody's slowness depends on anybody else's.
// Method: means and coefficients of variation within four standard errors, with fixed seeds.
#include "sim/cluster/speed_control.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

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
  const Sample s = sample({{.distribution = "constant"}});
  CHECK(s.least == 1);
  CHECK(s.largest == 1);
}

TEST_CASE("every distribution has mean 1 and the coefficient of variation that it should", "[slowness]") {
  for (const double cv : {0.1, 0.5}) {
    check({{.distribution = "uniform", .settings = {{"cv", cv}}}}, cv);
    check({{.distribution = "gamma", .settings = {{"cv", cv}}}}, cv);
    check({{.distribution = "lognormal", .settings = {{"cv", cv}}}}, cv);
  }
  check({{.distribution = "gamma", .settings = {{"cv", 1.5}}}}, 1.5);
  check({{.distribution = "exponential"}}, 1);
  // A quarter of the mean step of 0.1 s is always there.
  check({{.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}}, 0.75);
  // The variance of a Pareto variable is mean^2 / (alpha (alpha - 2)).
  check({{.distribution = "pareto", .settings = {{"alpha", 10.0}}}}, 1 / std::sqrt(80.0));
}

TEST_CASE("distributions begin and end where they should", "[slowness]") {
  const Sample uniform = sample({{.distribution = "uniform", .settings = {{"cv", 0.2}}}});
  CHECK(uniform.least == Approx(1 - 0.2 * std::sqrt(3.0)).epsilon(1e-3));
  CHECK(uniform.largest == Approx(1 + 0.2 * std::sqrt(3.0)).epsilon(1e-3));
  CHECK(uniform.least > 1 - 0.2 * std::sqrt(3.0));
  CHECK(sample({{.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}}).least ==
        Approx(0.25).epsilon(1e-3));
  CHECK(sample({{.distribution = "pareto", .settings = {{"alpha", 2.5}}}}).least ==
        Approx(0.6).epsilon(1e-3));
  CHECK(sample({{.distribution = "gamma", .settings = {{"cv", 0.0}}}}).least == 1);
  CHECK(sample({{.distribution = "lognormal", .settings = {{"cv", 0.0}}}}).largest == 1);
}

TEST_CASE("a shift is a part of the worker's own mean step", "[slowness]") {
  // 25 ms of 100 ms, of 50 ms and of 25 ms.
  Slowness slowness({{.distribution = "shifted-exponential", .settings = {{"shift", Seconds{0.025}}}}}, {}, 1,
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
    const ComputeSpec spec{{.distribution = row.name, .settings = {{"cv", 0.3}}}};
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
  const ComputeSpec spec{
      {.distribution = "markov", .settings = {{"slowdown", 4.0}, {"enter", 0.05}, {"leave", 0.2}}}};
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
  // The chain forgets with 1 - 0.05 - 0.2 a step: its mean varies as that of 7 times fewer independent
  // steps.
  const double error = std::sqrt(share * (1 - share) * (1.75 / 0.25) / total);
  CHECK(std::abs(slow_steps / total - share) < 4 * error);
  CHECK(std::abs(sum / total - 1) < 4 * error * 3 * fast_factor);
  CHECK(slow_steps / spells == Approx(5).epsilon(0.05));                                   // 1 / leave
  CHECK(std::abs(first_slow / many - share) < 4 * std::sqrt(share * (1 - share) / many));  // no warm-up
}

namespace {

// A trace whose value in a row and column is 100 row + column.
FactorSpec trace_of(std::size_t rows, std::size_t columns, const Resampling& how = {}) {
  std::vector<double> values;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      values.push_back(static_cast<double>(100 * row + column));
  }
  FactorSpec spec{.distribution = "trace", .resampling = how};
  spec.steps = std::make_shared<const StepTrace>(columns, std::move(values));
  spec.columns = trace_columns(columns, workers, false, 1);
  return spec;
}

double row_of(double value) { return std::floor(value / 100); }

}  // namespace

TEST_CASE("a trace starts again at its end, and its columns are shared out to the workers", "[slowness]") {
  Slowness columns({trace_of(3, 2)}, {}, 1, mean_steps);
  CHECK(columns.of_step(0, 0) == 0);
  CHECK(columns.of_step(1, 1) == 101);
  CHECK(columns.of_step(2, 2) == 200);
  CHECK(columns.of_step(3, 3) == 1);
  CHECK(columns.of_step(0, 3'000'001) == 100);
  Slowness one({trace_of(2, 1)}, {}, 1, mean_steps);
  CHECK(one.of_step(7, 1) == 100);
  CHECK(one.of_step(8, 2) == 0);
}

TEST_CASE("blocks of a trace are neighbouring rows, the same for all columns, and other ones for each seed",
          "[slowness]") {
  const FactorSpec spec = trace_of(50, 2, {.kind = ResamplingKind::blocks, .block = 7});
  Slowness slowness({spec}, {}, 1, mean_steps), other_seed({spec}, {}, 2, mean_steps);
  std::vector<double> starts, other_starts;
  for (std::int64_t step = 0; step < 7'000; ++step) {
    const double row = row_of(slowness.of_step(0, step));
    if (step % 7 == 0) {
      starts.push_back(row);
      other_starts.push_back(row_of(other_seed.of_step(0, step)));
    }
    REQUIRE(row == starts.back() + static_cast<double>(step % 7));
    REQUIRE(row < 50);
    REQUIRE(slowness.of_step(1, step) == 100 * row + 1);
  }
  CHECK(starts != other_starts);
  // A block begins in rows 0 to 43, each as often as the others.
  std::vector<int> times(44, 0);
  for (const double start : starts) ++times.at(static_cast<std::size_t>(start));
  CHECK(*std::ranges::min_element(times) > 5);
  CHECK(*std::ranges::max_element(times) < 50);
}

TEST_CASE("independent rows of a trace have its distribution and no order", "[slowness]") {
  Slowness slowness({trace_of(10, 1, {.kind = ResamplingKind::iid})}, {}, 1, mean_steps);
  std::vector<int> times(10, 0);
  int neighbours = 0;
  double before = -1;
  for (std::int64_t step = 0; step < steps; ++step) {
    const double row = row_of(slowness.of_step(0, step));
    ++times.at(static_cast<std::size_t>(row));
    neighbours += row == before + 1 ? 1 : 0;
    before = row;
  }
  for (const int one : times) CHECK(std::abs(one - 1000) < 4 * 30);
  CHECK(std::abs(neighbours - 900) < 4 * 30);
}

TEST_CASE("a drawn start of a trace is one row for all workers", "[slowness]") {
  FactorSpec spec = trace_of(1000, 3);
  spec.resampling.drawn_start = true;
  Slowness slowness({spec}, {}, 1, mean_steps), other_seed({spec}, {}, 2, mean_steps);
  const double first = row_of(slowness.of_step(0, 0));
  CHECK(first != row_of(other_seed.of_step(0, 0)));
  CHECK(first != 0);
  for (std::int64_t step = 0; step < 1000; ++step) {
    const double row = std::fmod(first + static_cast<double>(step), 1000);
    REQUIRE(slowness.of_step(0, step) == 100 * row);
    REQUIRE(slowness.of_step(2, step) == 100 * row + 2);
  }
}

TEST_CASE("drawn columns are each used once before any is used again, and copies take other rows",
          "[slowness]") {
  const std::vector<TraceColumn> columns = trace_columns(4, 10, true, 7);
  std::vector<int> times(4, 0);
  for (std::size_t worker = 0; worker < columns.size(); ++worker) {
    ++times.at(columns[worker].column);
    CHECK(columns[worker].copy == worker / 4);
    if (worker % 4 == 3) CHECK(*std::ranges::min_element(times) == *std::ranges::max_element(times));
  }
  const std::vector<TraceColumn> fewer = trace_columns(40, 3, true, 7), other = trace_columns(40, 3, true, 8);
  CHECK((fewer[0].column != other[0].column || fewer[1].column != other[1].column));
  for (const ResamplingKind kind : {ResamplingKind::as_it_is, ResamplingKind::blocks, ResamplingKind::iid}) {
    const Resampling how{.kind = kind, .block = 5};
    int equal = 0;
    for (std::int64_t step = 0; step < 500; ++step)
      equal += row_of_step(how, 100, 1, 0, step) == row_of_step(how, 100, 1, 1, step) ? 1 : 0;
    CHECK(equal < 50);
  }
}

TEST_CASE("a drawn sample is a file of blocks, from which a seed draws blocks", "[slowness]") {
  const Resampling how{.kind = ResamplingKind::blocks, .block = 5, .drawn_sample = true};
  std::vector<int> times(200, 0);
  std::size_t neighbours = 0, before = 1000;
  for (std::int64_t step = 0; step < 100'000; ++step) {
    const std::size_t row = row_of_step(how, 200, 1, 0, step);
    ++times.at(row);
    neighbours += row == before + 1 ? 1 : 0;
    before = row;
  }
  // The sample lacks a third of the rows (1 / e), and a block that lies across two of its blocks is cut once.
  const auto missing = std::ranges::count(times, 0);
  CHECK(missing > 30);
  CHECK(missing < 110);
  CHECK(neighbours > 55'000);
  CHECK(neighbours < 75'000);
  CHECK(row_of_step(how, 200, 1, 0, 7) != row_of_step(how, 200, 2, 0, 7));
}

TEST_CASE("a trace of seconds is divided by the mean of its column", "[slowness]") {
  FactorSpec spec = trace_of(3, 2);
  spec.trace_unit = TraceUnit::seconds;
  ComputeSpec compute{spec};
  Slowness slowness(compute, {}, 1, mean_steps);
  CHECK(compute.traced_seconds(0) == 100.0);
  CHECK(compute.traced_seconds(1) == 101.0);
  CHECK(slowness.of_step(0, 1) == 1);
  CHECK(slowness.of_step(1, 2) == Approx(201.0 / 101));
}

TEST_CASE("an ar1 worker has the right mean, spread and correlation from its first step on", "[slowness]") {
  Slowness slowness({{.distribution = "ar1", .settings = {{"cv", 0.2}, {"correlation", 0.8}}}}, {}, 3,
                    mean_steps);
  constexpr std::uint32_t many = 400;
  constexpr std::int64_t length = 500;
  double sum = 0, squares = 0, products = 0, first = 0, first_squares = 0;
  for (std::uint32_t w = 0; w < many; ++w) {
    double before = 0;
    for (std::int64_t step = 0; step < length; ++step) {
      const double x = slowness.of_step(w, step) - 1;
      sum += x;
      squares += x * x;
      products += x * before;
      before = x;
      if (step == 0) first += x / many, first_squares += x * x / many;
    }
  }
  const double total = many * static_cast<double>(length);
  // The mean of such a chain varies like that of (1 + r) / (1 - r) = 9 times fewer independent steps.
  CHECK(std::abs(sum / total) < 4 * 0.2 * 3 / std::sqrt(total));
  CHECK(std::sqrt(squares / total) == Approx(0.2).epsilon(0.02));
  // Of the factors; of their logarithms it is 0.8: (exp(s2 r) - 1) / (exp(s2) - 1), s2 = log(1 + cv^2).
  const double s2 = std::log(1.04);
  CHECK(products / squares == Approx(std::expm1(0.8 * s2) / std::expm1(s2)).epsilon(0.02));
  CHECK(std::abs(first) < 4 * 0.2 / std::sqrt(many));
  CHECK(std::sqrt(first_squares) == Approx(0.2).epsilon(4 / std::sqrt(2.0 * many)));
}

TEST_CASE("effects multiply the time of the workers that they concern", "[slowness]") {
  ComputeSpec compute{{.distribution = "lognormal", .settings = {{"cv", 0.3}}}};
  Slowness without(compute, {}, 1, mean_steps);
  EffectSpec own{{.distribution = "gamma", .settings = {{"cv", 0.5}}}};
  own.workers = {1, 2};
  EffectSpec shared{{.distribution = "markov"}};
  shared.shared = true;
  compute.effects = {own};
  Slowness with_own(compute, {}, 1, mean_steps);
  compute.effects = {own, shared};
  Slowness with_both(compute, {}, 1, mean_steps);
  bool differ = false, slow = false;
  for (std::int64_t step = 0; step < 300; ++step) {
    std::vector<double> gammas, commons;
    for (std::uint32_t w = 0; w < 4; ++w) {
      gammas.push_back(with_own.of_step(w, step) / without.of_step(w, step));
      commons.push_back(with_both.of_step(w, step) / with_own.of_step(w, step));
    }
    REQUIRE(gammas[0] == 1);
    REQUIRE(gammas[3] == 1);
    differ = differ || std::abs(gammas[1] - gammas[2]) > 0.1;
    for (const double common : commons) REQUIRE(common == Approx(commons[0]));
    slow = slow || commons[0] > 1;
  }
  CHECK(differ);
  CHECK(slow);
}

TEST_CASE("random stragglers are slow in steps of their own", "[slowness]") {
  const StragglerSpec half{.workers = {0, 1}, .slowdown = 3, .probability = 0.5};
  Slowness slowness({{.distribution = "constant"}}, {half}, 3, mean_steps);
  int together = 0;
  for (std::int64_t step = 0; step < steps; ++step)
    together += slowness.of_step(0, step) == slowness.of_step(1, step) ? 1 : 0;
  const double share = together / static_cast<double>(steps);
  CHECK(std::abs(share - 0.5) < 4 * 0.5 / std::sqrt(static_cast<double>(steps)));
}
