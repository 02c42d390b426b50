#include "sim/cluster/link_control.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {

LinkControl::LinkControl(const Scenario& scenario, Network& network, Agenda& agenda, Recorder& recorder)
    : seed_(static_cast<std::uint64_t>(scenario.seed)),
      network_(network),
      agenda_(agenda),
      recorder_(recorder),
      nodes_(node_count(scenario.cluster)) {
  for (const ProfileSpec& profile : scenario.profiles) {
    if (!profile.is_of_links()) continue;
    std::vector<std::uint32_t> nodes = fault_nodes(scenario.cluster, profile.nodes);
    for (NodeId node = 0; profile.nodes.empty() && node < nodes_.size(); ++node) nodes.push_back(node);
    for (const NodeId node : nodes) nodes_[node].profiles.push_back(&profile);
  }
}

void LinkControl::start(std::function<bool()> is_stuck) {
  is_stuck_ = std::move(is_stuck);
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].profiles.empty()) follow(node);
  }
}

void LinkControl::follow(NodeId node) {
  if (is_stuck_()) return;
  const double now = Agenda::now();
  double bandwidth = 1, latency = 0;
  std::optional<double> next;
  for (const ProfileSpec* profile : nodes_[node].profiles) {
    if (profile->of == ProfileOf::bandwidth) bandwidth *= value_at(*profile, now, 1, seed_, node);
    else latency += value_at(*profile, now, 0, seed_, node);
    if (const auto date = next_row(*profile, now, seed_, node)) next = std::min(next.value_or(*date), *date);
  }
  network_.set_extra_latency(node, latency);
  if (latency != std::exchange(nodes_[node].latency, latency))
    recorder_.on_rate({node, Quantity::latency, now, latency});
  if (bandwidth != std::exchange(nodes_[node].by_profile, bandwidth)) set_bandwidth(node);
  if (next) agenda_.at(*next, [this, node] { follow(node); });
}

void LinkControl::set_fault(NodeId node, double factor) {
  nodes_[node].by_fault = factor;
  set_bandwidth(node);
}

void LinkControl::set_bandwidth(NodeId node) {
  const double share = nodes_[node].by_fault * nodes_[node].by_profile;
  network_.set_bandwidth(node, share);
  recorder_.on_rate({node, Quantity::bandwidth, Agenda::now(), share});
}

}  // namespace psim
