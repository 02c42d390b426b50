#include "sim/cluster/network.hpp"

#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <utility>

#include "sim/cluster/agenda.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

Network::Network(const Platform& platform, Options options, Recorder& recorder, Agenda& agenda)
    : options_(std::move(options)), recorder_(recorder), agenda_(agenda) {
  for (sg4::Host* host : platform.hosts) nodes_.push_back({host, {}, sg4::Semaphore::create(0)});
  sg4::Link::on_communication_state_change_cb(
      [this](kernel::resource::NetworkAction& network_action, kernel::resource::Action::State) {
        // NetworkAction is incomplete in the installed headers; Action is its first base
        // (tests/sim/network_test.cpp).
        auto& action = reinterpret_cast<kernel::resource::Action&>(network_action);
        const auto found = in_flight_.find(action.get_activity());
        if (found == in_flight_.end()) return;  // reported once per link of the route; the first was enough
        if (action.get_state() != kernel::resource::Action::State::FINISHED) return;
        Flight flight = std::move(found->second);
        in_flight_.erase(found);
        if (in_background(flight.message)) --in_background_;
        arrive(std::move(flight));
      });
}

Event Network::event(EventKind kind, const Flight& flight) const {
  const Message& m = flight.message;
  const bool arrived = kind == EventKind::deliver;
  return {.at = Agenda::now(),
          .kind = kind,
          .message = m.kind,
          .node = arrived ? m.to : m.from,
          .peer = arrived ? m.from : m.to,
          .clock = m.clock,
          .version = m.version,
          .bytes = flight.bytes,
          .value = m.number,
          .shard = m.shard};
}

void Network::send(Message message) {
  if (!in_turn(message.from)) return transmit(std::move(message));
  const NodeId from = message.from, to = message.to;
  Connection& connection = connections_[{from, to}];
  connection.waiting.emplace(std::pair(options_.rank(message), next_held_++), std::move(message));
  if (!connection.busy) send_next(from, to);
}

void Network::send_next(NodeId from, NodeId to) {
  Connection& connection = connections_[{from, to}];
  connection.busy = !connection.waiting.empty();
  if (!connection.busy) return;
  Message next = std::move(connection.waiting.begin()->second);
  connection.waiting.erase(connection.waiting.begin());
  transmit(std::move(next));
}

void Network::transmit(Message message) {
  const std::uint64_t bytes = message.bytes(options_.header);
  auto comm = sg4::Comm::sendto_init(nodes_[message.from].host, nodes_[message.to].host);
  comm->set_payload_size(bytes);
  comm->detach();
  Flight flight{std::move(message), next_number_++, bytes};
  recorder_.record(event(EventKind::send, flight));
  if (in_background(flight.message)) ++in_background_;
  in_flight_.emplace(comm->get_impl(), std::move(flight));
}

void Network::arrive(Flight flight) {
  recorder_.record(event(EventKind::deliver, flight));
  if (on_arrival_) on_arrival_(flight.message);
  if (in_turn(flight.message.from)) {
    agenda_.at(Agenda::now(),
               [this, from = flight.message.from, to = flight.message.to] { send_next(from, to); });
  }
  Node& node = nodes_[flight.message.to];
  node.inbox.push_back(std::move(flight.message));
  node.mail->release();
}

Message Network::receive(NodeId me) {
  Node& node = nodes_[me];
  node.mail->acquire();
  Message message = std::move(node.inbox.front());
  node.inbox.pop_front();
  return message;
}

void Network::close(const std::function<void(const Message&)>& unread) {
  std::vector<Flight> flights;
  for (auto& [key, flight] : in_flight_) flights.push_back(std::move(flight));
  in_flight_.clear();
  in_background_ = 0;
  std::ranges::sort(flights, {}, &Flight::number);
  for (const Flight& flight : flights) recorder_.record(event(EventKind::lose, flight));
  for (Node& node : nodes_) {
    for (const Message& message : node.inbox) unread(message);
    node.inbox.clear();
  }
  connections_.clear();
}

}  // namespace psim
