#include "analysis/whatif/progress.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace psim::analysis {
namespace {

constexpr double no_date = std::numeric_limits<double>::infinity();

}  // namespace

Progress::Progress(const CausalGraph& graph, const Facts& facts, const std::vector<double>& dates,
                   double until)
    : dates_(facts.workers) {
  // A step with several parts, or a repeated step, is done when the last part ends.
  std::vector<std::map<std::int64_t, double>> done(facts.workers);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= until; ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.type != Name("ended") || graph.word_of(moment) != "step") continue;
    done[facts.worker(moment.node)].insert_or_assign(moment.clock, dates[id]);
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

std::int64_t Progress::most() const {
  std::int64_t most = 0;
  for (const auto& worker : dates_) most = std::max<std::int64_t>(most, std::ssize(worker));
  return most;
}

double Progress::pace(std::size_t worker) const {
  const auto& dates = dates_[worker];
  if (dates.size() < 2) return no_date;
  return (dates.back() - dates.front()) / static_cast<double>(dates.size() - 1);
}

double Progress::date_of(std::int64_t steps) const {
  return date_of_more(steps, std::vector<bool>(dates_.size(), false));
}

double Progress::date_of_more(std::int64_t steps, const std::vector<bool>& goes_on) const {
  const auto count = [&](double date) {
    std::int64_t all = 0;
    for (std::size_t w = 0; w < dates_.size(); ++w) {
      const auto& dates = dates_[w];
      all += std::ranges::upper_bound(dates, date) - dates.begin();
      const double gap = pace(w);
      if (goes_on[w] && gap > 0 && gap < no_date && date > dates.back())
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

double Progress::date_of_all(std::int64_t steps) const {
  double last = 0;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double missing = static_cast<double>(steps - std::ssize(dates_[w])), gap = pace(w);
    if (missing > 0 && gap == no_date) return no_date;
    if (!dates_[w].empty()) last = std::max(last, dates_[w].back() + (missing > 0 ? missing * gap : 0));
  }
  return last;
}

std::vector<bool> Progress::going_on(double end) const {
  std::vector<bool> goes_on;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double gap = pace(w);
    goes_on.push_back(gap < no_date && dates_[w].back() + 4 * gap >= end);
  }
  return goes_on;
}

}  // namespace psim::analysis
