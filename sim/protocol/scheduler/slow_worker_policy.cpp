#include "sim/protocol/scheduler/slow_worker_policy.hpp"

namespace psim {

// Without a spare the worker stays: a slow worker computes more than none.
std::optional<SlowWorkerPolicy::Verdict> SlowWorkerPolicy::report(NodeId worker, double seconds) {
  const std::optional<SlowNodes::Found> found = search_.report(worker - options_.first_worker, seconds);
  if (!found) return std::nullopt;
  const bool has_spare = spares_used_ < options_.spares.size();
  SlowAction action = options_.action;
  if (action == SlowAction::replace && !has_spare) action = SlowAction::flag;
  Verdict verdict{.found = *found, .action = action};
  if (action == SlowAction::replace && has_spare) verdict.spare = options_.spares[spares_used_++];
  if (action != SlowAction::flag) unwanted_.insert(worker);
  return verdict;
}

void SlowWorkerPolicy::begins_anew(NodeId node) {
  if (!is_worker(node)) return;
  unwanted_.erase(node);
  search_.begins_anew(node - options_.first_worker);
}

}  // namespace psim
