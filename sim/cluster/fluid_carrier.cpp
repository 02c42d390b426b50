#include "sim/cluster/fluid_carrier.hpp"

#include <simgrid/kernel/resource/Action.hpp>
#include <xbt/config.hpp>

#include <algorithm>
#include <utility>

#include "sim/cluster/route_table.hpp"
#include "sim/cluster/share_weights.hpp"
#include "sim/cluster/simgrid_version.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

FluidCarrier::FluidCarrier(const Scenario& scenario, const Platform& platform, Agenda& agenda)
    : agenda_(agenda),
      routes_(platform.routes),
      turns_(scenario),
      queues_(scenario.cluster),
      window_(latency_unit(scenario.cluster.network) * flow_model(scenario.cluster.network).window),
      second_(flow_model(scenario.cluster.network).latency / latency_unit(scenario.cluster.network)),
      acknowledges_(scenario.cluster.network.cross_traffic),
      holds_(flow_model(scenario.cluster.network).weight > 0) {
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
        if (found == slots_.end()) return;  // reported once per link of the route; the first is enough
        if (action.get_state() != kernel::resource::Action::State::FINISHED) return;
        const auto [slot, acknowledges] = found->second;
        slots_.erase(found);
        Voyage& voyage = voyages_[slot];
        if (acknowledges) return voyage.acknowledgements.reset();
        const sg4::CommPtr ended = std::move(voyage.flow);
        if (voyage.last_turn > 0) return plan(Agenda::now(), slot);
        forget_acknowledgements(voyage);
        queues_.end(slot);
        arrived_(slot);
      });
}

void FluidCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) {
    if (cargo.slot >= voyages_.size()) voyages_.resize(cargo.slot + std::size_t{1});
    const auto [last_turn, weight] = turns_.next(cargo.from, cargo.to, cargo.bytes);
    voyages_[cargo.slot] = {
        .cargo = cargo, .weight = weight, .rest = cargo.bytes - last_turn, .last_turn = last_turn};
    // What SimGrid counts later: the latency of the first flow, and that of the last turn.
    const double flows = last_turn > 0 ? 1 + 1 / last_turn_gain : 1;
    const double wait =
        cargo.streamed ? 0 : latency(cargo.from, cargo.to) * std::max(0.0, 1 - own_latency * flows / weight);
    const double queue = queues_.begin(cargo, Agenda::now(), [&] {
      return routes_->port_bandwidth(nodes_[cargo.from].host, nodes_[cargo.to].host);
    });
    plan(Agenda::now() + wait + queue, cargo.slot);
  }
}

void FluidCarrier::plan(double date, std::uint32_t slot) {
  voyages_[slot].begins = agenda_.at(date, [this, slot] { begin(slot); });
}

// SimGrid bounds a flow permanently by the bandwidth of its links at its start. So a degraded link gets its
// full bandwidth for this moment. Otherwise the flow would stay slow after the link recovers.
void FluidCarrier::begin(std::uint32_t slot) {
  Voyage& voyage = voyages_[slot];
  const Cargo& cargo = voyage.cargo;
  const bool is_first = voyage.rest > 0 || voyage.last_turn == 0;
  if (is_first && acknowledges_) start_acknowledgements(voyage);
  for (const NodeId end : {cargo.from, cargo.to}) {
    if (nodes_[end].bandwidth < 1) scale_links(nodes_[end], 1);
  }
  const double weight = is_first ? voyage.weight : last_turn_gain * voyage.weight;
  voyage.flow = flow(cargo.from, cargo.to, std::exchange(is_first ? voyage.rest : voyage.last_turn, 0),
                     weight, cargo.streamed, {.slot = slot, .acknowledges = false});
  voyage.flows_from =
      Agenda::now() + (cargo.streamed ? 0 : own_latency / weight * latency(cargo.from, cargo.to));
  if (nodes_[cargo.from].bandwidth < 1 || nodes_[cargo.to].bandwidth < 1) hold(voyage);
  for (const NodeId end : {cargo.from, cargo.to}) {
    if (nodes_[end].bandwidth < 1) scale_links(nodes_[end], nodes_[end].bandwidth);
  }
}

sg4::CommPtr FluidCarrier::flow(NodeId from, NodeId to, std::uint64_t bytes, double weight, bool streamed,
                                const Flow& what) {
  sg4::Host *source = nodes_[from].host, *target = nodes_[to].host;
  scale_latency(own_latency / weight);
  sg4::CommPtr comm = sg4::Comm::sendto_init(source, target);
  comm->set_payload_size(bytes);
  comm->detach();
  if (streamed && routes_->latency(source, target) > 0) {
    comm->suspend();
    comm->resume();
  }
  slots_[comm->get_impl()] = what;
  return comm;
}

// SimGrid gives a flow one window per round trip of its own latency, so the window scales with the latency.
void FluidCarrier::scale_latency(double factor) {
  if (factor == std::exchange(latency_factor_, factor)) return;
  routes_->scale_latency(factor);
  if (window_ > 0) simgrid::config::set_value<double>("network/TCP-gamma", window_ * factor);
}

void FluidCarrier::start_acknowledgements(Voyage& voyage) {
  const Cargo& cargo = voyage.cargo;
  const auto bytes = static_cast<std::uint64_t>(share_of_acknowledgements * static_cast<double>(cargo.bytes));
  voyage.acknowledgements =
      flow(cargo.to, cargo.from, bytes, 1, false, {.slot = cargo.slot, .acknowledges = true});
}

void FluidCarrier::forget_acknowledgements(Voyage& voyage) {
  if (voyage.acknowledgements == nullptr) return;
  slots_.erase(voyage.acknowledgements->get_impl());
  voyage.acknowledgements.reset();
}

void FluidCarrier::cancel(std::uint32_t slot) {
  Voyage& voyage = voyages_[slot];
  queues_.end(slot);
  agenda_.cancel(voyage.begins);
  if (voyage.flow != nullptr) {
    slots_.erase(voyage.flow->get_impl());
    voyage.flow->cancel();
  }
  if (voyage.acknowledgements != nullptr) voyage.acknowledgements->cancel();
  forget_acknowledgements(voyage);
}

double FluidCarrier::latency(NodeId from, NodeId to) {
  return second_ * routes_->latency(nodes_[from].host, nodes_[to].host);
}

void FluidCarrier::scale_links(const Node& node, double factor) {
  for (const auto& [link, bandwidth] : node.links) link->set_bandwidth(factor * bandwidth);
}

void FluidCarrier::hold(const Voyage& voyage) {
  if (!holds_ || !(voyage.flows_from > Agenda::now())) return;
  voyage.flow->suspend();
  agenda_.at(voyage.flows_from, [flow = voyage.flow] { flow->resume(); });
}

void FluidCarrier::set_bandwidth(NodeId node, double factor) {
  const auto crosses = [this, host = nodes_[node].host](const Cargo& cargo) {
    return nodes_[cargo.from].host == host || nodes_[cargo.to].host == host;
  };
  for (const Voyage& voyage : voyages_) {
    if (voyage.flow != nullptr && crosses(voyage.cargo)) hold(voyage);
  }
  nodes_[node].bandwidth = factor;
  scale_links(nodes_[node], factor);
}

}  // namespace psim
