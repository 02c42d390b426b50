#include "sim/cluster/speed_control.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cluster/simgrid_version.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {

SpeedControl::SpeedControl(const Platform& platform, const Slowness& slowness, Agenda& agenda,
                           Network& network, NodeId first_worker, std::uint32_t workers)
    : platform_(platform),
      slowness_(slowness),
      agenda_(agenda),
      network_(network),
      first_worker_(first_worker),
      workers_(workers),
      by_fault_(platform.hosts.size(), 1.0) {
  for (NodeId node = 0; node < platform.hosts.size(); ++node) nodes_of_[platform.hosts[node]].push_back(node);
}

void SpeedControl::start(std::function<bool()> is_stuck) {
  is_stuck_ = std::move(is_stuck);
  for (NodeId node = first_worker_; node < first_worker_ + workers_; ++node) follow(node);
}

void SpeedControl::follow(NodeId node) {
  if (is_stuck_() || platform_.speed_levels[node].size() == 1) return;
  apply(node);
  if (const auto next = slowness_.next_change(node - first_worker_, Agenda::now()))
    agenda_.at(*next, [this, node] { follow(node); });
}

void SpeedControl::set_fault(NodeId node, double factor) {
  const bool was_frozen = is_frozen(node);
  by_fault_[node] = factor;
  apply(node);
  if (!was_frozen || is_frozen(node)) return;
  for (const sg4::ActorPtr& actor : platform_.hosts[node]->get_all_actors()) actor->resume();
  for (const NodeId other : nodes_beside(node)) network_.hand_out(other);
}

bool SpeedControl::is_frozen(NodeId node) const {
  return std::ranges::any_of(nodes_beside(node), [this](NodeId other) { return by_fault_[other] == 0; });
}

double SpeedControl::factor_of(NodeId node) const {
  const bool is_worker = node >= first_worker_ && node < first_worker_ + workers_;
  const double straggler = is_worker ? slowness_.speed_factor(node - first_worker_, Agenda::now()) : 1.0;
  return straggler * by_fault_[node];
}

// Only an actor may suspend other actors, but faults come from timers. So a new actor suspends them.
void SpeedControl::suspend_actors(NodeId node) {
  constexpr const char* name = "freezer";
  add_actor(name, platform_.hosts[node], [this, node] {
    if (!is_frozen(node)) return;
    for (const sg4::ActorPtr& actor : platform_.hosts[node]->get_all_actors()) {
      if (actor->get_name() != name && !actor->is_suspended()) actor->suspend();
    }
  });
}

void SpeedControl::apply(NodeId node) {
  sg4::Host* host = platform_.hosts[node];
  if (is_frozen(node)) {
    for (const NodeId other : nodes_beside(node)) network_.hold(other);
    return suspend_actors(node);
  }
  const std::vector<double>& levels = platform_.speed_levels[node];
  double factor = HUGE_VAL;  // a profile's factor may be above 1
  for (const NodeId other : nodes_beside(node)) factor = std::min(factor, factor_of(other));
  const auto level = std::ranges::min_element(levels, {}, [&](double x) { return std::abs(x - factor); });
  host->set_pstate(static_cast<unsigned long>(level - levels.begin()));
}

}  // namespace psim
