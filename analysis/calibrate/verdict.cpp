#include "analysis/calibrate/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/calibrate/reasons.hpp"
#include "analysis/calibrate/series.hpp"

namespace psim::calibrate {
namespace {

using statistics::mean_of;

// A number of each simulation, averaged.
template <class Number>
double over(const std::vector<StepTimes>& simulated, Number&& number) {
  double sum = 0;
  for (const StepTimes& one : simulated) sum += number(one);
  return sum / static_cast<double>(simulated.size());
}

double memory(const StepTimes& times) { return memory_of(times.slowest()); }

double imbalance(const StepTimes& times) { return mean_of(times.imbalances()); }

// The mean over steps and workers.
double mean_of_rows(const std::vector<std::vector<double>>& rows) {
  double sum = 0;
  for (const std::vector<double>& row : rows) sum += mean_of(row);
  return sum / static_cast<double>(rows.size());
}

double mean_compute(const StepTimes& times) { return mean_of_rows(times.compute); }
double mean_rest(const StepTimes& times) { return mean_of_rows(times.rest); }

}  // namespace

std::vector<double> step_durations(std::span<const StepTimes> runs) {
  std::vector<double> result;
  for (const StepTimes& times : runs) {
    if (times.rest.empty()) {
      const std::vector<double> slowest = times.slowest();
      result.insert(result.end(), slowest.begin(), slowest.end());
      continue;
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
      for (std::size_t w = 0; w < times.compute[i].size(); ++w)
        result.push_back(times.compute[i][w] + times.rest[i][w]);
    }
  }
  return result;
}

Verdict judge(const StepTimes& fitted, const StepTimes& held_out, const std::vector<StepTimes>& simulated,
              double within) {
  Verdict verdict{.within = within, .only_computations = held_out.rest.empty()};
  const std::vector<double> measured = step_durations({&held_out, 1}), drawn = step_durations(simulated);
  const std::string what = verdict.only_computations ? "the longest computation of a step" : "a step";
  verdict.judged = {{"mean of " + what, mean_of(measured), mean_of(drawn)},
                    {"median of " + what, quantile_of(measured, 0.5), quantile_of(drawn, 0.5)},
                    {"95 % quantile of " + what, quantile_of(measured, 0.95), quantile_of(drawn, 0.95)}};
  verdict.holds = std::ranges::all_of(verdict.judged,
                                      [&](const Compared& one) { return std::abs(one.error()) <= within; });
  const Compared memories{"memory of the longest computation, in steps", memory(held_out),
                          over(simulated, memory), ""},
      imbalances{"longest computation over the mean one", imbalance(held_out), over(simulated, imbalance),
                 ""};
  verdict.described = {
      {"mean computation", mean_compute(held_out), over(simulated, mean_compute)}, imbalances, memories};
  if (!held_out.rest.empty())
    verdict.described.push_back({"mean push and pull", mean_rest(held_out), over(simulated, mean_rest)});
  if (!verdict.holds) verdict.reasons = reasons_of(fitted, held_out, simulated, verdict);
  return verdict;
}

}  // namespace psim::calibrate
