// Causes of events around faults. A fault causes its own end, the return of its node, and a suspicion of the
// node. The fault itself comes at its date, or by a condition. Its cause is the last event of its node, which
// it interrupts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/record/event.hpp"

namespace psim {

class FaultCauses {
 public:
  // None: the event is no fault, and no fault is its cause.
  std::optional<Cause> of(const Event& event) const {
    if (const FaultChange* fault = event.as<FaultChange>(); fault != nullptr && fault->target)
      return of(*fault, *fault->target);
    const Suspicion* suspicion = event.as<Suspicion>();
    if (suspicion == nullptr) return std::nullopt;
    const std::optional<Cause> gone = found(away_, suspicion->suspect, Spent::timeout);
    return gone && gone->event > event.cause.event ? gone : std::nullopt;  // unless it was heard after that
  }
  void on(const Event& event, std::int64_t number) {
    if (const FaultChange* fault = event.as<FaultChange>()) return on(*fault, number);
    const Computation* computation = event.as<Computation>();
    const bool computes = computation != nullptr && (computation->phase == ComputePhase::begun ||
                                                     computation->phase == ComputePhase::resumed);
    if (is_heartbeat(event)) return;
    const bool still_computes = event.as<Sent>() != nullptr || event.as<Received>() != nullptr;
    Cause& last = last_of(event.node);
    if (still_computes && last.spent == Spent::compute) return;
    last = {number, computes ? Spent::compute : Spent::idle};
  }

 private:
  std::optional<Cause> of(const FaultChange& fault, NodeId target) const {
    if (!fault.begins) return found(begun_, std::pair{fault.fault_table, target}, Spent::down);
    const bool comes = fault.kind->restarts || fault.kind->joins;
    if (const auto gone = found(away_, target, Spent::down); gone && comes) return gone;
    const bool was_there = target < last_.size() && last_[target].event >= 0;
    return was_there ? std::optional(last_[target]) : std::nullopt;
  }
  void on(const FaultChange& fault, std::int64_t number) {
    if (!fault.target) return;
    if (fault.begins) begun_[{fault.fault_table, *fault.target}] = number;
    const bool takes_away = fault.kind->crashes || fault.kind->leaves;
    if (takes_away && fault.begins) away_[*fault.target] = number;
    else if (takes_away || fault.kind->restarts || fault.kind->joins) away_.erase(*fault.target);
    last_of(*fault.target) = {number};
  }
  Cause& last_of(NodeId node) {
    if (last_.size() <= node) last_.resize(node + 1);
    return last_[node];
  }
  static bool is_heartbeat(const Event& event) {
    const Sent* sent = event.as<Sent>();
    const Received* received = event.as<Received>();
    return (sent != nullptr && sent->kind == MessageKind::heartbeat) ||
           (received != nullptr && received->kind == MessageKind::heartbeat);
  }
  template <class Key>
  static std::optional<Cause> found(const std::map<Key, std::int64_t>& events, const Key& key, Spent spent) {
    const auto event = events.find(key);
    return event == events.end() ? std::nullopt : std::optional(Cause{event->second, spent});
  }

  std::map<std::pair<std::int64_t, NodeId>, std::int64_t> begun_;  // by [[fault]] and target
  std::map<NodeId, std::int64_t> away_;                            // by node: the fault that took it away
  std::vector<Cause> last_;                                        // by node: its last event
};

}  // namespace psim
