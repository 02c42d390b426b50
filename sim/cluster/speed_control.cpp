#include "sim/cluster/speed_control.hpp"

#include <algorithm>
#include <utility>

#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

SpeedControl::SpeedControl(const ClusterSpec& cluster, Cpus& cpus, const Slowness& slowness, Agenda& agenda,
                           Network& network, Recorder& recorder)
    : cluster_(cluster),
      cpus_(cpus),
      slowness_(slowness),
      agenda_(agenda),
      network_(network),
      recorder_(recorder),
      by_fault_(node_count(cluster), 1.0),
      factors_(by_fault_) {}

void SpeedControl::start(std::function<bool()> is_stuck) {
  is_stuck_ = std::move(is_stuck);
  for (std::int64_t worker = 0; worker < cluster_.workers; ++worker)
    follow(static_cast<NodeId>(1 + cluster_.servers + worker));
}

void SpeedControl::follow(NodeId node) {
  if (is_stuck_()) return;
  apply(node);
  if (const auto next = slowness_.next_change(*worker_of(node), Agenda::now()))
    agenda_.at(*next, [this, node] { follow(node); });
}

void SpeedControl::set_fault(NodeId node, double factor) {
  const bool was_frozen = is_frozen(node);
  by_fault_[node] = factor;
  apply(node);
  PSIM_PROBE(was_frozen && factor > 0 && is_frozen(node), "another node keeps the machine frozen");
  if (!was_frozen || is_frozen(node)) return;
  for (const NodeId other : nodes_beside(node)) network_.hand_out(other);
}

std::optional<std::uint32_t> SpeedControl::worker_of(NodeId node) const {
  const std::int64_t worker = static_cast<std::int64_t>(node) - 1 - cluster_.servers;
  if (worker < 0 || worker >= cluster_.workers) return std::nullopt;
  return static_cast<std::uint32_t>(worker);
}

std::vector<NodeId> SpeedControl::nodes_beside(NodeId node) const {
  return nodes_on(cluster_, host_of(cluster_, node));
}

// Stragglers and profiles are properties of the worker's machine. A fault of either node slows both.
double SpeedControl::factor_of(const std::vector<NodeId>& machine) const {
  double by_fault = 1, by_machine = 1;
  for (const NodeId node : machine) {
    by_fault = std::min(by_fault, by_fault_[node]);
    if (const auto worker = worker_of(node)) by_machine = slowness_.speed_factor(*worker, Agenda::now());
  }
  return by_fault * by_machine;
}

void SpeedControl::apply(NodeId node) {
  const double factor = factor_of(nodes_beside(node));
  for (const NodeId one : nodes_beside(node)) {
    if (factor != std::exchange(factors_[one], factor))
      recorder_.on_rate({one, Quantity::speed, Agenda::now(), factor});
  }
  if (factor > 0) return cpus_.of(node).set_factor(factor);
  cpus_.of(node).freeze();
  for (const NodeId other : nodes_beside(node)) network_.hold(other);
}

}  // namespace psim
