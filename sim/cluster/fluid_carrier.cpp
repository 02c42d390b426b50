#include "sim/cluster/fluid_carrier.hpp"

#include <simgrid/kernel/resource/Action.hpp>
#include <xbt/config.hpp>

#include <utility>

#include "sim/cluster/route_table.hpp"
#include "sim/cluster/share_weights.hpp"
#include "sim/cluster/simgrid_version.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

namespace {

sg4::CommPtr flow_between(sg4::Host* from, sg4::Host* to, std::uint64_t bytes) {
  sg4::CommPtr comm = sg4::Comm::sendto_init(from, to);
  comm->set_payload_size(bytes);
  comm->detach();
  return comm;
}

}  // namespace

FluidCarrier::FluidCarrier(const Scenario& scenario, const Platform& platform, Agenda& agenda)
    : agenda_(agenda),
      routes_(platform.routes),
      turns_(scenario),
      window_(latency_unit(scenario.cluster.network) * flow_model(scenario.cluster.network).window),
      second_(flow_model(scenario.cluster.network).latency / latency_unit(scenario.cluster.network)),
      acknowledges_(scenario.cluster.network.cross_traffic) {
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
        const sg4::CommPtr flow = std::move(voyage.flow);
        if (voyage.last_turn > 0) return plan_last_turn(slot);
        forget_acknowledgements(voyage);
        arrived_(slot);
      });
}

void FluidCarrier::start(std::span<const Cargo> cargos) {
  // When the sender yields to the kernel, it may be killed.
  kernel::actor::simcall_answered([&] {
    for (const Cargo& cargo : cargos) {
      if (cargo.slot >= voyages_.size()) voyages_.resize(cargo.slot + std::size_t{1});
      Voyage& voyage = voyages_[cargo.slot];
      voyage.cargo = cargo;
      voyage.last_turn = turns_.last_turn_of_next(cargo.from, cargo.to, cargo.bytes);
      if (acknowledges_) start_acknowledgements(voyage);
      start_flow(voyage, cargo.bytes - voyage.last_turn, voyage.last_turn > 0 ? 1 - 1 / last_turn_weight : 1);
    }
  });
}

void FluidCarrier::plan_last_turn(std::uint32_t slot) {
  if (last_turns_.empty()) {
    agenda_.at(Agenda::now(), [this] {
      for (const std::uint32_t next : std::exchange(last_turns_, {}))
        start_flow(voyages_[next], std::exchange(voyages_[next].last_turn, 0), 1 / last_turn_weight);
    });
  }
  last_turns_.push_back(slot);
}

// SimGrid bounds a flow permanently by the bandwidth of its links at its start. So a degraded link gets its
// full bandwidth for this moment. Otherwise the flow would stay slow after the link recovers.
void FluidCarrier::start_flow(Voyage& voyage, std::uint64_t bytes, double latency) {
  const Node &from = nodes_[voyage.cargo.from], &to = nodes_[voyage.cargo.to];
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, 1);
  }
  scale_latency(latency);
  voyage.flow = flow_between(from.host, to.host, bytes);
  if (voyage.cargo.streamed && routes_->latency(from.host, to.host) > 0) {
    voyage.flow->suspend();
    voyage.flow->resume();
  }
  voyage.flows_from =
      Agenda::now() +
      (voyage.cargo.streamed ? 0 : latency * this->latency(voyage.cargo.from, voyage.cargo.to));
  if (from.bandwidth < 1 || to.bandwidth < 1) hold(voyage);
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, end->bandwidth);
  }
  slots_[voyage.flow->get_impl()] = {.slot = voyage.cargo.slot, .acknowledges = false};
}

// SimGrid gives a flow one window per round trip of its own latency, so the window scales with the latency.
void FluidCarrier::scale_latency(double factor) {
  if (factor == std::exchange(latency_factor_, factor)) return;
  routes_->scale_latency(factor);
  if (window_ > 0) simgrid::config::set_value<double>("network/TCP-gamma", window_ * factor);
}

void FluidCarrier::start_acknowledgements(Voyage& voyage) {
  scale_latency(1);
  const Cargo& cargo = voyage.cargo;
  voyage.acknowledgements =
      flow_between(nodes_[cargo.to].host, nodes_[cargo.from].host,
                   static_cast<std::uint64_t>(share_of_acknowledgements * static_cast<double>(cargo.bytes)));
  slots_[voyage.acknowledgements->get_impl()] = {.slot = cargo.slot, .acknowledges = true};
}

void FluidCarrier::forget_acknowledgements(Voyage& voyage) {
  if (voyage.acknowledgements == nullptr) return;
  slots_.erase(voyage.acknowledgements->get_impl());
  voyage.acknowledgements.reset();
}

void FluidCarrier::cancel(std::uint32_t slot) {
  Voyage& voyage = voyages_[slot];
  if (voyage.flow != nullptr) {
    slots_.erase(voyage.flow->get_impl());
    voyage.flow->cancel();
  } else {
    std::erase(last_turns_, slot);
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
  if (!(voyage.flows_from > Agenda::now())) return;
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
