#include "analysis/calibrate/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// The longest computation of a step over the mean one.
double imbalance(const StepTimes& times) {
  double sum = 0;
  for (const std::vector<double>& row : times.compute) sum += *std::ranges::max_element(row) / mean_of(row);
  return sum / static_cast<double>(times.size());
}

// The mean over steps and workers.
double mean_of_rows(const std::vector<std::vector<double>>& rows) {
  double sum = 0;
  for (const std::vector<double>& row : rows) sum += mean_of(row);
  return sum / static_cast<double>(rows.size());
}

double mean_compute(const StepTimes& times) { return mean_of_rows(times.compute); }
double mean_rest(const StepTimes& times) { return mean_of_rows(times.rest); }

double mean_of_worker(const StepTimes& times, std::size_t worker) {
  double sum = 0;
  for (const std::vector<double>& row : times.compute) sum += row[worker];
  return sum / static_cast<double>(times.size());
}

const char* more_or_less(double ratio) { return ratio > 1 ? "slower" : "faster"; }

double percent_apart(double ratio) { return 100 * std::abs(ratio - 1); }

// The cluster changed between the two parts of the log.
void find_changes(const StepTimes& fitted, const StepTimes& held_out, double within,
                  std::vector<std::string>& reasons) {
  const double all = mean_compute(held_out) / mean_compute(fitted);
  if (std::abs(all - 1) > within)
    reasons.push_back(
        fmt::format("the computations of the later part are {:.0f} % {} than those of the first: the cluster "
                    "changed, and no fit of the first part can know",
                    percent_apart(all), more_or_less(all)));
  std::size_t worst = 0;
  double most = 0;
  for (std::size_t w = 0; w < fitted.workers.size(); ++w) {
    const double ratio = mean_of_worker(held_out, w) / mean_of_worker(fitted, w) / all;
    if (std::abs(std::log(ratio)) > std::abs(most)) most = std::log(ratio), worst = w;
  }
  if (std::abs(std::expm1(most)) > 2 * within)
    reasons.push_back(fmt::format("worker {} is {:.0f} % {} in the later part, beside the others",
                                  fitted.workers[worst], percent_apart(std::exp(most)),
                                  more_or_less(std::exp(most))));
  if (fitted.rest.empty() || held_out.rest.empty()) return;
  const double rest = mean_rest(held_out) / mean_rest(fitted);
  if (std::abs(rest - 1) > 2 * within)
    reasons.push_back(fmt::format("push and pull take {:.0f} % {} in the later part", percent_apart(rest),
                                  rest > 1 ? "longer" : "less"));
}

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
  Verdict verdict{.within = within};
  const std::vector<double> measured = step_durations({&held_out, 1}), drawn = step_durations(simulated);
  verdict.judged = {{"mean of a step", mean_of(measured), mean_of(drawn)},
                    {"median of a step", quantile_of(measured, 0.5), quantile_of(drawn, 0.5)},
                    {"95 % quantile of a step", quantile_of(measured, 0.95), quantile_of(drawn, 0.95)}};
  verdict.holds = std::ranges::all_of(verdict.judged,
                                      [&](const Compared& one) { return std::abs(one.error()) <= within; });
  const Compared memories{"memory of the longest computation, in steps", memory(held_out),
                          over(simulated, memory)},
      imbalances{"longest computation over the mean one", imbalance(held_out), over(simulated, imbalance)};
  verdict.described = {
      {"mean computation", mean_compute(held_out), over(simulated, mean_compute)}, imbalances, memories};
  if (!held_out.rest.empty())
    verdict.described.push_back({"mean push and pull", mean_rest(held_out), over(simulated, mean_rest)});
  if (verdict.holds) return verdict;
  find_changes(fitted, held_out, within, verdict.reasons);
  if (memories.measured > 2 * memories.simulated && memories.measured > 3)
    verdict.reasons.push_back(fmt::format(
        "the longest computations are autocorrelated over {:.0f} steps, and those of the model over {:.0f}",
        memories.measured, memories.simulated));
  if (std::abs(imbalances.error()) > within)
    verdict.reasons.push_back(fmt::format(
        "the longest computation of a step is {:.2f} times the mean one, and {:.2f} times in the model",
        imbalances.measured, imbalances.simulated));
  if (!held_out.rest.empty() && std::abs(verdict.described.back().error()) > within)
    verdict.reasons.push_back(
        fmt::format("push and pull take {:.4g} s in the mean, and {:.4g} s in the model",
                    verdict.described.back().measured, verdict.described.back().simulated));
  if (std::abs(verdict.judged[2].error()) > within && std::abs(verdict.judged[0].error()) <= within)
    verdict.reasons.push_back(
        "the mean agrees, but the longest steps do not: the held-out part has other bursts");
  if (verdict.reasons.empty())
    verdict.reasons.push_back("no single property of the steps explains the error");
  return verdict;
}

}  // namespace psim::calibrate
