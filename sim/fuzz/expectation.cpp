#include "sim/fuzz/expectation.hpp"

#include <algorithm>
#include <set>

namespace psim::fuzz {
namespace {

using Nodes = std::vector<std::uint32_t>;

constexpr double seldom = 0.3;        // a message that is lost so often comes through soon ...
constexpr double many_attempts = 30;  // ... and one of so many does

// Whether a later fault of this kind, at a date, takes back what `fault` does to all its nodes.
bool is_undone(const Scenario& scenario, const FaultSpec& fault, FaultKind by) {
  const Nodes nodes = fault_nodes(scenario.cluster, fault.nodes);
  return fault.at && std::ranges::any_of(scenario.faults, [&](const FaultSpec& other) {
           if (other.kind != by || !other.at || other.at->value <= fault.at->value) return false;
           const Nodes back = fault_nodes(scenario.cluster, other.nodes);
           return std::ranges::all_of(
               nodes, [&](std::uint32_t node) { return std::ranges::find(back, node) != back.end(); });
         });
}

bool passes_by(const Scenario& scenario, const FaultSpec& fault) {
  if (fault.mtbf || fault.every) return false;
  const bool ends = fault.until || fault.lasts;
  switch (fault.kind) {
    case FaultKind::crash: return fault.restart_after || is_undone(scenario, fault, FaultKind::restart);
    case FaultKind::join: return fault.when.empty();  // else the node may never be there
    case FaultKind::slow: return ends || fault.factor.value_or(0) > 0;
    case FaultKind::degrade: return ends || fault.factor.value_or(0) > 0.1;  // else requests pile up
    case FaultKind::partition: return ends || is_undone(scenario, fault, FaultKind::heal);
    case FaultKind::link_down: return ends;
    default: return true;
  }
}

// What is lost for ever can be lived with if patience has room for many repetitions.
bool comes_through(const Scenario& scenario) {
  double arrives = 1;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.kind == FaultKind::drop && !fault.until && !fault.lasts) arrives *= 1 - fault.probability;
  }
  const RecoverySpec& recovery = scenario.recovery;
  return arrives == 1 ||
         (arrives >= 1 - seldom && recovery.patience.value >= many_attempts * recovery.longest_retry.value);
}

}  // namespace

bool must_end(const Scenario& scenario) {
  if (!scenario.may_fail()) return true;
  if (scenario.recovery.retry_limit > 0 || !comes_through(scenario)) return false;
  std::set<std::uint32_t> gone;
  for (const FaultSpec& fault : scenario.faults) {
    if (!passes_by(scenario, fault)) return false;
    const Nodes nodes = fault_nodes(scenario.cluster, fault.nodes);
    if (fault.kind == FaultKind::leave) gone.insert(nodes.begin(), nodes.end());
  }
  const auto servers = static_cast<std::uint32_t>(scenario.cluster.servers);
  const auto left =
      std::ranges::count_if(gone, [&](std::uint32_t node) { return node > 0 && node <= servers; });
  return left < scenario.cluster.servers;
}

}  // namespace psim::fuzz
