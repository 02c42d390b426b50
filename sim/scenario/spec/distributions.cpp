#include "sim/scenario/spec/distributions.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/numerics/functions.hpp"
#include "sim/scenario/spec/compute.hpp"

namespace psim {
namespace {

const Setting cv{.key = "cv",
                 .doc = "Coefficient of variation.",
                 .value = 0.1,
                 .min = 0,
                 .max = 10,
                 .draws = {"0.1", "0.5"}};
const Setting alpha{.key = "alpha",
                    .doc = "Tail exponent.",
                    .value = 2.5,
                    .min = 1,
                    .max = 1e3,
                    .above_min = true,
                    .draws = {"1.5", "3.0"}};
const Setting shift{.key = "shift",
                    .doc = "The constant part of a step's time.",
                    .value = Seconds{0},
                    .min = 0,
                    .max = 1e9,
                    .draws = {"\"200us\""}};
const Setting slowdown{.key = "slowdown",
                       .doc = "Factor by which a step takes longer in the slow state; below 1 it is faster.",
                       .value = 5.0,
                       .min = 0,
                       .max = 1e6,
                       .above_min = true,
                       .draws = {"2.0", "10.0"}};
const Setting enter{.key = "enter",
                    .doc = "Probability that a worker becomes slow with a step.",
                    .value = 0.05,
                    .min = 0,
                    .max = 1,
                    .above_min = true,
                    .draws = {"0.2"}};
const Setting leave{.key = "leave",
                    .doc = "Probability that a slow worker becomes normal with a step.",
                    .value = 0.25,
                    .min = 0,
                    .max = 1,
                    .above_min = true,
                    .draws = {"0.5"}};
const Setting correlation{.key = "correlation",
                          .doc = "Correlation of a worker's step with its next step.",
                          .value = 0.9,
                          .min = 0,
                          .max = 1,
                          .below_max = true,
                          .draws = {"0.5", "0.95"}};

const double root3 = std::sqrt(3.0);

double uniform(StepDraw& d) { return d.stream.uniform(1 - root3 * d(cv), 1 + root3 * d(cv)); }

std::optional<Misfit> negative_times(const Settings& settings, std::optional<double> shortest) {
  if (shortest || settings.of(cv) * root3 <= 1) return std::nullopt;
  return Misfit{cv, "a uniform time would become negative", "at most 0.577 (1 / sqrt(3))"};
}

double shifted_exponential(StepDraw& d) {
  const double fixed = d(shift) / d.mean_step;
  return fixed + (1 - fixed) * d.stream.exponential();
}

std::optional<Misfit> shift_above_mean(const Settings& settings, std::optional<double> shortest) {
  if (!shortest || settings.of(shift) <= *shortest) return std::nullopt;
  return Misfit{shift, fmt::format("must be at most the shortest mean step, {:.4g} s", *shortest), ""};
}

double gamma(StepDraw& d) {
  const double variance = d(cv) * d(cv);
  return variance > 0 ? d.stream.gamma(1 / variance) * variance : 1.0;
}

// The lognormal number that lies `level` standard deviations from the median of the logarithm; mean 1.
double lognormal_at(StepDraw& d, double level) {
  const double variance = numerics::log1p(d(cv) * d(cv));
  return numerics::exp(std::sqrt(variance) * level - (variance / 2));
}

double lognormal(StepDraw& d) { return lognormal_at(d, d.stream.normal()); }

// The logarithm is a stationary autoregression of order 1: level' = r level + sqrt(1 - r^2) normal. It starts
// in its stationary distribution. A draw continues from the last drawn step.
double ar1(StepDraw& d) {
  StepState& state = d.state;
  if (d.step < state.step) state = {};
  while (state.step < d.step) {
    ++state.step;
    const double z = Stream(d.seed, "ar1", d.worker, static_cast<std::uint64_t>(state.step)).normal();
    const double r = state.step == 0 ? 0 : d(correlation);
    state.level = (r * state.level) + (std::sqrt(1 - (r * r)) * z);
  }
  return lognormal_at(d, state.level);
}

// The two-state chain starts in its stationary distribution. A draw continues from the last drawn step.
double markov(StepDraw& d) {
  const double share_slow = d(enter) / (d(enter) + d(leave));
  StepState& state = d.state;
  if (d.step < state.step) state = {};
  while (state.step < d.step) {
    ++state.step;
    const double u = Stream(d.seed, "markov", d.worker, static_cast<std::uint64_t>(state.step)).uniform();
    if (state.step == 0) state.slow = u < share_slow;
    else state.slow = state.slow ? u >= d(leave) : u < d(enter);
  }
  return (state.slow ? d(slowdown) : 1.0) / (1 + share_slow * (d(slowdown) - 1));
}

double trace(StepDraw& d) {
  const FactorSpec& of = *d.trace;
  const auto [column, copy] = of.columns.at(d.worker);
  const std::size_t row = row_of_step(of.resampling, of.steps->rows(), d.seed, copy, d.step);
  const double value = of.steps->at(row, column);
  return of.is_in_seconds() ? value / of.steps->mean(column) : value;
}

}  // namespace

template <>
std::deque<DistributionRow> built_in_rows() {
  return {
      {.name = "constant", .doc = "every step takes the mean time", .draw = [](StepDraw&) { return 1.0; }},
      {.name = "uniform",
       .doc = "uniform around the mean with coefficient of variation `cv`",
       .settings = {&cv},
       .draw = uniform,
       .misfit = negative_times},
      {.name = "exponential",
       .doc = "exponential: memoryless, the usual worst case in theory",
       .draw = [](StepDraw& d) { return d.stream.exponential(); }},
      {.name = "shifted-exponential",
       .doc = "`shift` plus an exponential time",
       .settings = {&shift},
       .draw = shifted_exponential,
       .misfit = shift_above_mean},
      {.name = "pareto",
       .doc = "Pareto: a heavy tail with exponent `alpha`",
       .settings = {&alpha},
       .draw = [](StepDraw& d) { return d.stream.pareto(d(alpha)) * (d(alpha) - 1) / d(alpha); }},
      {.name = "gamma", .doc = "gamma with coefficient of variation `cv`", .settings = {&cv}, .draw = gamma},
      {.name = "lognormal",
       .doc = "lognormal with coefficient of variation `cv`",
       .settings = {&cv},
       .draw = lognormal},
      {.name = "markov",
       .doc = "a two-state chain for each worker: it is normal, or for some time `slowdown` times slower",
       .settings = {&slowdown, &enter, &leave},
       .draw = markov},
      {.name = "ar1",
       .doc = "lognormal with coefficient of variation `cv`, and each step is like the worker's step before: "
              "an autoregression of order 1 with `correlation`",
       .settings = {&cv, &correlation},
       .draw = ar1},
      {.name = "trace",
       .doc = "factors or seconds from a file, one row per step",
       .draw = trace,
       .reads_trace = true,
       .fuzz = 0}};
}

}  // namespace psim
