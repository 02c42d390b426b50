#include "analysis/causes/typical_steps.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace psim::analysis {
namespace {

constexpr double a_median = 0.5;

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto it = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, it);
  return *it;
}

TypicalSteps::TypicalSteps(const CausalGraph& graph) {
  struct Open {
    double since = 0, seconds = 0;
  };
  std::map<std::uint32_t, Open> open;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& moment = graph.moments[id];
    const bool begins = moment.type == Name("begun"), ends = moment.type == Name("ended");
    Open& one = open[moment.node];
    if (begins) one = {};
    if (begins || moment.type == Name("resumed")) one.since = moment.at;
    if (ends || moment.type == Name("paused")) one.seconds += moment.at - one.since;
    if (ends) durations_[{moment.word, moment.part}][moment.node].push_back(one.seconds);
  }
  for (const auto& [part, workers] : durations_) {
    std::vector<double> medians;
    for (const auto& [worker, all] : workers) medians.push_back(quantile(all, a_median));
    typical_[part] = quantile(std::move(medians), a_median);
  }
}

double TypicalSteps::of(const Moment& end) const {
  const auto found = typical_.find({end.word, end.part});
  return found == typical_.end() ? std::numeric_limits<double>::infinity() : found->second;
}

bool TypicalSteps::is_always_slow(std::uint32_t worker) const {
  constexpr double longer = 1.1, nearly_all = 0.25;
  double fast = 0, typical = 0;
  for (const auto& [part, workers] : durations_) {
    const auto own = workers.find(worker);
    if (own == workers.end()) continue;
    fast += quantile(own->second, nearly_all);
    typical += typical_.at(part);
  }
  return fast > longer * typical;
}

std::map<std::uint32_t, double> TypicalSteps::by_worker() const {
  std::map<std::uint32_t, double> seconds;
  for (const auto& [part, workers] : durations_) {
    for (const auto& [worker, all] : workers)
      seconds[worker] += std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
  return seconds;
}

}  // namespace psim::analysis
