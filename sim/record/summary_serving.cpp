#include "sim/record/summary_serving.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/record/serving.hpp"

namespace psim {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_none(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

Json staleness_and_age(const ServingWindow& w) {
  return {{"staleness", {{"mean", number_or_none(w.mean(w.staleness_sum))}, {"max", w.staleness_max}}},
          {"age_s", {{"mean", number_or_none(w.mean(w.age_sum))}, {"max", w.age_max}}}};
}

Json served(const std::vector<ServingWindow>& windows) {
  Json all = Json::array();
  for (const ServingWindow& w : windows) {
    all.push_back({{"begin_s", w.begin},
                   {"end_s", w.end},
                   {"requests", w.requests},
                   {"answered", w.answered},
                   {"latency_s", {{"mean", number_or_none(w.mean(w.latency_sum))}, {"max", w.latency_max}}}});
    all.back().update(staleness_and_age(w));
  }
  return all;
}

}  // namespace

Json inference(const InferenceSpec& spec, const InferenceStats& stats, double end) {
  const ServingWindow all = served_in_all(stats, end);
  std::vector<double> latencies;
  for (const InferenceStats::Answered& answer : stats.answers) latencies.push_back(answer.latency);
  std::ranges::sort(latencies);
  const auto answered = static_cast<double>(latencies.size());
  const auto percentile = [&](double share) {  // nearest rank
    if (latencies.empty()) return Json(nullptr);
    return Json(latencies[static_cast<std::size_t>(std::ceil(share * answered)) - 1]);
  };
  const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  Json json = {
      {"requests", stats.requests},
      {"answered", latencies.size()},
      {"latency_s",
       {{"mean", number_or_none(all.mean(sum))}, {"p50", percentile(0.5)}, {"p99", percentile(0.99)}}}};
  json.update(staleness_and_age(all));
  json["accuracy"] = stats.samples > 0
                         ? Json(static_cast<double>(stats.hits) / static_cast<double>(stats.samples))
                         : Json(nullptr);
  json["pulls"] = stats.pulls;
  json["bytes_pulled"] = stats.bytes_pulled;
  const std::optional<double> window = spec.window ? std::optional(spec.window->value) : std::nullopt;
  json["over_time"] = served(served_over_time(stats, window, end));
  return json;
}

}  // namespace psim
