#include "sim/protocol/scheduler/slow_worker_policy.hpp"

#include <algorithm>
#include <numeric>

namespace psim {

// Without a spare the worker stays: a slow worker computes more than none.
std::optional<SlowWorkerPolicy::Verdict> SlowWorkerPolicy::report(NodeId worker, double seconds) {
  std::erase(options_.spares, worker);  // a fault has started it: it is no spare any more
  const std::optional<SlowNodes::Found> found = search_.report(worker - options_.first_worker, seconds);
  if (!found) return std::nullopt;
  const bool has_spare = !options_.spares.empty();
  SlowAction action = options_.action;
  if (action == SlowAction::replace && !has_spare) action = SlowAction::flag;
  Verdict verdict{.found = *found, .action = action};
  if (action == SlowAction::replace && has_spare) {
    verdict.spare = options_.spares.front();
    options_.spares.erase(options_.spares.begin());
  }
  if (action != SlowAction::flag) unwanted_.insert(worker);
  return verdict;
}

void SlowWorkerPolicy::begins_anew(NodeId node) {
  if (!is_worker(node)) return;
  unwanted_.erase(node);
  search_.begins_anew(node - options_.first_worker);
}

std::optional<double> SlowNodes::mean(std::size_t worker) const {
  const std::deque<double>& times = times_[worker];
  if (times.size() < window_) return std::nullopt;
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

std::optional<SlowNodes::Found> SlowNodes::report(std::size_t worker, double seconds) {
  std::deque<double>& times = times_[worker];
  times.push_back(seconds);
  if (times.size() > window_) times.pop_front();
  const std::optional<double> own = mean(worker);
  if (!own || found_[worker]) return std::nullopt;
  std::vector<double> others;
  for (std::size_t other = 0; other < times_.size(); ++other) {
    if (other == worker || found_[other]) continue;
    if (const std::optional<double> one = mean(other)) others.push_back(*one);
  }
  if (others.empty()) return std::nullopt;
  std::ranges::sort(others);
  const std::size_t half = others.size() / 2;
  const double median = others.size() % 2 == 1 ? others[half] : (others[half - 1] + others[half]) / 2;
  if (!(*own > factor_ * median)) return std::nullopt;
  found_[worker] = true;
  return Found{*own, median};
}

}  // namespace psim
