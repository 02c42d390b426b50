#include "analysis/whatif/rerun.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/causes/explain.hpp"

namespace psim::analysis {
namespace {

constexpr double no_date = std::numeric_limits<double>::infinity();

}  // namespace

Progress::Progress(const CausalGraph& graph, const Facts& facts, double until) : dates_(facts.workers) {
  // A step with several parts, or a repeated step, is done when the last part ends.
  std::vector<std::map<std::int64_t, double>> done(facts.workers);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= until; ++id) {
    const Moment& moment = graph.moments[id];
    if (!moment.is_step(ComputePhase::ended)) continue;
    done[facts.worker(moment.node)].insert_or_assign(moment.clock, moment.at);
  }
  for (std::size_t worker = 0; worker < done.size(); ++worker) {
    for (const auto& [clock, date] : done[worker]) dates_[worker].push_back(date);
    std::ranges::sort(dates_[worker]);
  }
}

std::int64_t Progress::steps() const {
  std::int64_t all = 0;
  for (const auto& worker : dates_) all += std::ssize(worker);
  return all;
}

double Progress::pace(std::size_t worker) const {
  const auto& dates = dates_[worker];
  if (dates.size() < 2) return no_date;
  return (dates.back() - dates.front()) / static_cast<double>(dates.size() - 1);
}

double Progress::date_of(std::int64_t steps, const std::vector<bool>& goes_on) const {
  const auto count = [&](double date) {
    std::int64_t all = 0;
    for (std::size_t w = 0; w < dates_.size(); ++w) {
      const auto& dates = dates_[w];
      all += std::ranges::upper_bound(dates, date) - dates.begin();
      const double gap = pace(w);
      if (!goes_on.empty() && goes_on[w] && gap > 0 && gap < no_date && date > dates.back())
        all += static_cast<std::int64_t>((date - dates.back()) / gap);
    }
    return all;
  };
  double low = 0, high = 0;
  for (const auto& dates : dates_) high = std::max(high, dates.empty() ? 0 : dates.back());
  for (int doubled = 0; count(high) < steps; ++doubled, high *= 2) {
    if (doubled == 60 || high == 0) return no_date;
  }
  for (int halved = 0; halved < 100 && std::nextafter(low, high) < high; ++halved) {
    const double middle = low + (high - low) / 2;
    (count(middle) >= steps ? high : low) = middle;
  }
  return high;
}

std::vector<bool> Progress::going_on(double end) const {
  std::vector<bool> goes_on;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double gap = pace(w);
    goes_on.push_back(gap < no_date && dates_[w].back() + 4 * gap >= end);
  }
  return goes_on;
}

Rerun rerun_of(const RunRecord& record, const CausalGraph& graph) {
  const Json& summary = record.summary;
  const double end = summary.at("sim_time_s");
  const std::uint32_t last = end_of(graph, end, summary, {}, Until::What::end);
  Rerun run{.progress = Progress(graph, record.facts, end),
            .is_finished = last != CausalGraph::none && graph.moments[last].is<Finish>(),
            .end = end,
            .is_stuck = !summary.at("stuck").empty()};
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto final = summary.find("final");
    if (final == summary.end() || !final->is_object() || !final->contains(name) ||
        !final->at(name).is_number())
      return std::nullopt;
    return final->at(name).get<double>();
  };
  run.loss = number("loss");
  run.accuracy = number("accuracy");
  const auto target = summary.find("target");
  if (target != summary.end() && target->is_object() && target->value("given", false))
    run.reached = target->value("reached", false);
  return run;
}

std::optional<SameSteps> same_steps_of(const Rerun& original, const Rerun& rerun) {
  const std::int64_t steps = original.progress.steps();
  if (original.is_finished && rerun.is_finished && rerun.progress.steps() == steps)
    return SameSteps{.seconds = rerun.end};
  const double date = rerun.progress.date_of(
      steps, rerun.is_finished ? std::vector<bool>() : rerun.progress.going_on(rerun.end));
  if (steps == 0 || std::isinf(date)) return std::nullopt;
  return SameSteps{.seconds = date + original.end - original.progress.date_of(steps),
                   .is_measured = rerun.progress.steps() >= steps};
}

}  // namespace psim::analysis
