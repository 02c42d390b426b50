#include "sim/fuzz/expectation.hpp"

#include <algorithm>
#include <set>

namespace psim::fuzz {
namespace {

constexpr double seldom = 0.3;  // a message that is lost so often comes through soon

bool passes_by(const FaultSpec& fault) {
  if (fault.mtbf || fault.every || !fault.when.empty()) return false;
  const bool ends = fault.until || fault.lasts;
  switch (fault.kind) {
    case FaultKind::crash: return fault.restart_after.has_value();
    case FaultKind::slow: return ends || fault.factor.value_or(0) > 0;
    case FaultKind::degrade: return ends || fault.factor.value_or(0) > 0.1;  // else requests pile up
    case FaultKind::link_down:
    case FaultKind::partition: return ends;
    case FaultKind::drop: return ends || fault.probability <= seldom;
    default: return true;
  }
}

}  // namespace

bool must_end(const Scenario& scenario) {
  if (!scenario.may_fail() || scenario.recovery.retry_limit > 0) return false;
  std::set<std::uint32_t> gone;
  for (const FaultSpec& fault : scenario.faults) {
    if (!passes_by(fault)) return false;
    const std::vector<std::uint32_t> nodes = fault_nodes(scenario.cluster, fault.nodes);
    if (fault.kind == FaultKind::leave) gone.insert(nodes.begin(), nodes.end());
  }
  const auto servers = static_cast<std::uint32_t>(scenario.cluster.servers);
  const auto left =
      std::ranges::count_if(gone, [&](std::uint32_t node) { return node > 0 && node <= servers; });
  return left < scenario.cluster.servers;
}

}  // namespace psim::fuzz
