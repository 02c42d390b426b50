#include "analysis/whatif/speed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace psim::analysis {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// The slow time [begin, end) that contains the date or follows it.
std::pair<double, double> window_at(const Straggler& slow, double date) {
  const double until = slow.until.value_or(never);
  if (!slow.every) return {slow.from, until};
  double turn = std::max(0.0, std::floor((date - slow.from) / *slow.every) - 1);
  for (int more = 0; more < 2 && date >= until + turn * *slow.every; ++more) ++turn;
  return {slow.from + turn * *slow.every, until + turn * *slow.every};
}

}  // namespace

Speed::Speed(const Facts& facts, const std::vector<bool>& without) : rows_(facts.workers) {
  for (const Straggler& slow : facts.stragglers) {
    for (const std::uint32_t worker : slow.workers) {
      const bool is_out = worker < without.size() && without[worker];
      if (worker < rows_.size() && !slow.probability && !is_out) rows_[worker].push_back(slow);
    }
  }
}

Speed::Stretch Speed::at(std::uint32_t worker, double date) const {
  Stretch stretch{.share = 1, .until = never};
  for (const Straggler& slow : rows_[worker]) {
    const auto [begin, end] = window_at(slow, date);
    if (date >= begin && date < end) stretch.share /= slow.slowdown;
    for (const double change : {begin, end}) {
      if (change > date) stretch.until = std::min(stretch.until, change);
    }
  }
  return stretch;
}

double Speed::work(std::uint32_t worker, double from, double until) const {
  if (rows_[worker].empty()) return until - from;
  double work = 0;
  while (from < until) {
    const Stretch here = at(worker, from);
    const double end = std::min(here.until, until);
    work += (end - from) * here.share;
    from = end;
  }
  return work;
}

double Speed::end(std::uint32_t worker, double from, double work) const {
  if (rows_[worker].empty()) return from + work;
  for (;;) {
    const Stretch here = at(worker, from);
    const double end = from + work / here.share;
    if (end <= here.until) return end;
    work -= (here.until - from) * here.share;
    from = here.until;
  }
}

}  // namespace psim::analysis
