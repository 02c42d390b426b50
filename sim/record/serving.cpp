#include "sim/record/serving.hpp"

#include <algorithm>
#include <cmath>

namespace psim {
namespace {

double length_of_windows(std::optional<double> given, double end) {
  constexpr double most = 10'000, most_by_default = 50;
  if (given) {
    double length = *given;
    while (end / length > most) length *= 2;
    return length;
  }
  const double least = end / most_by_default;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least) return times * power;
  }
  return 10 * power;
}

}  // namespace

void ServingWindow::add(const InferenceStats::Answered& answer) {
  ++requests;
  ++answered;
  latency_sum += answer.latency;
  latency_max = std::max(latency_max, answer.latency);
  staleness_sum += static_cast<double>(answer.staleness);
  staleness_max = std::max(staleness_max, answer.staleness);
  age_sum += answer.age;
  age_max = std::max(age_max, answer.age);
}

ServingWindow served_in_all(const InferenceStats& stats, double end) {
  ServingWindow all{.end = end};
  for (const InferenceStats::Answered& answer : stats.answers) all.add(answer);
  all.requests = stats.requests;
  return all;
}

std::vector<ServingWindow> served_over_time(const InferenceStats& stats, std::optional<double> given,
                                            double end) {
  if (!(end > 0)) return {};
  const double length = length_of_windows(given, end);
  std::vector<ServingWindow> windows;
  for (double i = 0; windows.empty() || i * length < end; ++i)
    windows.push_back({.begin = i * length, .end = std::min(end, (i + 1) * length)});
  const auto window_of = [&](double date) -> ServingWindow& {
    return windows[std::min(windows.size() - 1, static_cast<std::size_t>(date / length))];
  };
  for (const InferenceStats::Answered& answer : stats.answers) window_of(answer.arrival).add(answer);
  for (const double arrival : stats.unanswered) ++window_of(arrival).requests;
  return windows;
}

}  // namespace psim
