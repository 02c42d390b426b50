#include "sim/cluster/fluid_carrier.hpp"

#include <simgrid/kernel/resource/Action.hpp>

#include <utility>

#include "sim/cluster/simgrid_version.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

FluidCarrier::FluidCarrier(const Platform& platform) {
  for (std::size_t node = 0; node < platform.hosts.size(); ++node) {
    nodes_.push_back({.host = platform.hosts[node], .links = {}});
    for (sg4::Link* link : platform.own_links[node])
      nodes_.back().links.emplace_back(link, link->get_bandwidth());
  }
  sg4::Link::on_communication_state_change_cb(
      [this](kernel::resource::NetworkAction& network_action, kernel::resource::Action::State) {
        // NetworkAction is incomplete in the installed headers; Action is its first base
        // (tests/oracles/network_test.cpp).
        auto& action = reinterpret_cast<kernel::resource::Action&>(network_action);
        const auto found = slots_.find(action.get_activity());
        if (found == slots_.end()) return;  // reported once per link of the route; the first was enough
        if (action.get_state() != kernel::resource::Action::State::FINISHED) return;
        const std::uint32_t slot = found->second;
        slots_.erase(found);
        const sg4::CommPtr flow = std::move(flows_[slot]);
        arrived_(slot);
      });
}

void FluidCarrier::start(std::span<const Cargo> cargos) {
  // Where the sender gives way to the kernel it may be killed, or suspended until its messages are long
  // through.
  kernel::actor::simcall_answered([&] {
    for (const Cargo& cargo : cargos) {
      if (cargo.slot >= flows_.size()) flows_.resize(cargo.slot + std::size_t{1});
      flows_[cargo.slot] = start_flow(cargo);
      slots_[flows_[cargo.slot]->get_impl()] = cargo.slot;
    }
  });
}

// SimGrid bounds a flow for good by the bandwidth that links have when it begins. A degraded link is whole
// for that moment, so that the flow is as fast as the others when the link is whole again.
sg4::CommPtr FluidCarrier::start_flow(const Cargo& cargo) const {
  const Node &from = nodes_[cargo.from], &to = nodes_[cargo.to];
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, 1);
  }
  sg4::CommPtr comm = sg4::Comm::sendto_init(from.host, to.host);
  comm->set_payload_size(cargo.bytes);
  comm->detach();
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, end->bandwidth);
  }
  return comm;
}

void FluidCarrier::cancel(std::uint32_t slot) {
  slots_.erase(flows_[slot]->get_impl());
  flows_[slot]->cancel();
}

void FluidCarrier::scale_links(const Node& node, double factor) {
  for (const auto& [link, bandwidth] : node.links) link->set_bandwidth(factor * bandwidth);
}

void FluidCarrier::set_bandwidth(NodeId node, double factor) {
  nodes_[node].bandwidth = factor;
  scale_links(nodes_[node], factor);
}

}  // namespace psim
