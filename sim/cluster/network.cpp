#include "sim/cluster/network.hpp"

#include <simgrid/kernel/resource/Action.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "model/mutant.hpp"
#include "sim/cluster/agenda.hpp"
#include "sim/cluster/simgrid_version.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

namespace {

constexpr auto sent = [](const auto& flight) { return *flight.message.sent; };

}  // namespace

Network::Network(const Platform& platform, Options options, Recorder& recorder, Agenda& agenda)
    : routes_(platform.routes), options_(std::move(options)), recorder_(recorder), agenda_(agenda) {
  for (std::size_t node = 0; node < platform.hosts.size(); ++node) {
    nodes_.push_back(
        {.host = platform.hosts[node], .inbox = {}, .mail = sg4::Semaphore::create(0), .links = {}});
    for (sg4::Link* link : platform.own_links[node])
      nodes_.back().links.emplace_back(link, link->get_bandwidth());
  }
  sg4::Link::on_communication_state_change_cb(
      [this](kernel::resource::NetworkAction& network_action, kernel::resource::Action::State) {
        // NetworkAction is incomplete in the installed headers; Action is its first base
        // (tests/oracles/network_test.cpp).
        auto& action = reinterpret_cast<kernel::resource::Action&>(network_action);
        const auto found = in_flight_.find(action.get_activity());
        if (found == in_flight_.end()) return;  // reported once per link of the route; the first was enough
        if (action.get_state() != kernel::resource::Action::State::FINISHED) return;
        auto entry = in_flight_.extract(found);
        Flight& flight = entry.mapped();
        if (flight.last_turn > 0) return send_last_turn(std::move(flight));
        if (in_background(flight.message)) --in_background_;
        remove_name(flight.message);
        leave_network(std::move(flight));
      });
}

// Of a message that leaves its sender; returns its number.
std::uint64_t Network::record_sending(Flight& flight) {
  const Message& m = flight.message;
  Event event{Agenda::now(), m.from};
  Sent& sent = event.what.emplace<Sent>(facts_of(m.body), m.from, m.to);
  sent.bytes = flight.bytes;
  flight.kind = sent.kind;
  if (sent.has_shard) {
    sent.shard = m.shard;
    sent.epoch = m.epoch;
  }
  return recorder_.record(event);
}

// Of one that arrives, or will not.
template <class T>
void Network::record(NodeId node, const Flight& flight) {
  const Message& m = flight.message;
  recorder_.record({Agenda::now(), node, T{{*m.sent, flight.kind, m.from, m.to, flight.bytes}}});
}

void Network::send(Message&& message) {
  const std::uint32_t rank = in_turn(message.from) ? options_.rank(message) : 0;
  enqueue(std::move(message), rank);
}

void Network::send_again(Message&& message) {
  enqueue(std::move(message), std::numeric_limits<std::uint32_t>::max());
}

void Network::enqueue(Message&& message, std::uint32_t rank) {
  if (!in_turn(message.from)) return transmit(std::move(message));
  const NodeId from = message.from, to = message.to;
  Connection& connection = connection_of(message);
  add_name(message);
  connection.waiting.emplace(std::pair(rank, next_held_++), std::move(message));
  if (!connection.busy) send_next(from, to);
}

bool Network::send_once(Message&& message) {
  const bool is_alone = !carries(message);
  if (is_alone) send(std::move(message));
  return is_alone;
}

void Network::send_next(NodeId from, NodeId to) {
  Connection& connection = connections_[{from, to}];
  connection.busy = !connection.waiting.empty();
  if (!connection.busy) return;
  Message next = std::move(connection.waiting.begin()->second);
  connection.waiting.erase(connection.waiting.begin());
  remove_name(next);
  transmit(std::move(next));
}

void Network::transmit(Message&& message) {
  const MessageFate fate = faults_ != nullptr ? faults_->fate(message) : MessageFate{};
  Flights flights;
  for (int copy = 0; copy < fate.copies; ++copy) launch(Message(message), {}, false, flights);
  const bool has_turn = in_turn(message.from);
  launch(std::move(message), fate, has_turn, flights);
  if (flights.empty()) return;
  // All in one call: where the sender gives way to the kernel it may be killed, or suspended until its
  // messages are long through.
  kernel::actor::simcall_answered([&] {
    for (Flight& flight : flights) {
      if (in_background(flight.message)) ++in_background_;
      set_off(std::move(flight));
    }
  });
}

void Network::launch(Message&& message, const MessageFate& fate, bool has_turn, Flights& flights) {
  const std::uint64_t header = mutant("headers-cost-nothing") ? 0 : options_.header;
  const std::uint64_t bytes = header + wire_size(message.body);
  const NodeId from = message.from, to = message.to;
  Flight& flight = flights.emplace_back(std::move(message), bytes, has_turn, fate.dropped, fate.delay);
  flight.message.sent = record_sending(flight);
  flight.last_turn = options_.share.last_turn(from, to, connections_[{from, to}].sent++, bytes);
  if (faults_ == nullptr || !faults_->cut(from, to)) return add_name(flight.message);
  pass_on_turn(flight);
  record<Lost>(from, flight);
  flights.pop_back();
}

// SimGrid bounds a flow for good by the bandwidth that links have when it begins. A degraded link is whole
// for that moment, so that the flow is as fast as the others when the link is whole again.
void Network::start_flow(Flight& flight, std::uint64_t bytes, double latency) {
  const Node &from = nodes_[flight.message.from], &to = nodes_[flight.message.to];
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, 1);
  }
  routes_->scale_latency(latency);
  flight.flow = sg4::Comm::sendto_init(from.host, to.host);
  flight.flow->set_payload_size(bytes);
  flight.flow->detach();
  routes_->scale_latency(1);
  for (const Node* end : {&from, &to}) {
    if (end->bandwidth < 1) scale_links(*end, end->bandwidth);
  }
  const void* name = flight.flow->get_impl();
  in_flight_.emplace(name, std::move(flight));
}

void Network::set_off(Flight&& flight) {
  const std::uint64_t rest = flight.bytes - flight.last_turn;
  const double acknowledged = options_.acknowledgements * static_cast<double>(flight.bytes);
  if (acknowledged > 0) {
    sg4::CommPtr back =
        sg4::Comm::sendto_init(nodes_[flight.message.to].host, nodes_[flight.message.from].host);
    back->set_payload_size(static_cast<std::uint64_t>(acknowledged));
    back->detach();
  }
  start_flow(flight, rest, flight.last_turn > 0 ? 1 - 1 / last_turn_weight : 1);
}

void Network::send_last_turn(Flight&& flight) {
  start_flow(flight, std::exchange(flight.last_turn, 0), 1 / last_turn_weight);
}

void Network::scale_links(const Node& node, double factor) {
  for (const auto& [link, bandwidth] : node.links) link->set_bandwidth(factor * bandwidth);
}

// What makes two messages of one connection the same; of a shard's states, any two are.
Network::Name Network::name_of(const Message& m) {
  const MessageFacts facts = facts_of(m.body);
  const bool is_view = facts.kind == MessageKind::view || facts.kind == MessageKind::start;
  return {facts.kind, m.shard, m.epoch, is_view ? facts.view : m.is<State>() ? std::nullopt : facts.number()};
}

void Network::add_name(const Message& message) {
  if (options_.repeats) connection_of(message).names.insert(name_of(message));
}

void Network::remove_name(const Message& message) {
  if (options_.repeats) connection_of(message).names.extract(name_of(message));  // one of them
}

bool Network::carries(const Message& like) const {
  const auto connection = connections_.find({like.from, like.to});
  return connection != connections_.end() && connection->second.names.contains(name_of(like));
}

bool Network::is_lost(const Flight& flight) const {
  const Message& m = flight.message;
  return flight.dropped || !nodes_[m.to].up || (faults_ != nullptr && faults_->cut(m.from, m.to));
}

void Network::pass_on_turn(const Flight& flight) {
  if (!flight.has_turn) return;
  agenda_.at(Agenda::now(),
             [this, from = flight.message.from, to = flight.message.to] { send_next(from, to); });
}

void Network::leave_network(Flight&& flight) {
  pass_on_turn(flight);
  if (flight.delay == 0) return arrive(std::move(flight));
  const std::uint64_t number = *flight.message.sent;
  const double date = Agenda::now() + flight.delay;
  delayed_.emplace(number, std::move(flight));
  agenda_.at(date, [this, number] {
    if (auto entry = delayed_.extract(number)) arrive(std::move(entry.mapped()));
  });
}

void Network::arrive(Flight&& flight) {
  const bool lost = is_lost(flight);
  lost ? record<Lost>(flight.message.from, flight) : record<Received>(flight.message.to, flight);
  if (lost) return;
  Node& node = nodes_[flight.message.to];
  if (node.held) node.waiting.push_back(std::move(flight.message));
  else hand_over(node, std::move(flight.message));
}

void Network::hand_over(Node& node, Message&& message) {
  if (on_arrival_) on_arrival_(message);
  node.inbox.push_back(std::move(message));
  node.mail->release();
}

void Network::hand_out(NodeId id) {
  Node& node = nodes_[id];
  node.held = false;
  for (Message& message : std::exchange(node.waiting, {})) hand_over(node, std::move(message));
}

void Network::set_bandwidth(NodeId node, double factor) {
  nodes_[node].bandwidth = factor;
  scale_links(nodes_[node], factor);
}

Message Network::receive(NodeId me) {
  nodes_[me].mail->acquire();
  return take(me);
}

Message Network::take(NodeId me) {
  std::deque<Message>& inbox = nodes_[me].inbox;
  Message message = std::move(inbox.front());
  inbox.pop_front();
  return message;
}

std::optional<Message> Network::receive_until(NodeId me, double date) {
  const simgrid::s4u::SemaphorePtr mail = nodes_[me].mail;
  if (!has_mail(me)) {
    if (!(date > Agenda::now())) return std::nullopt;
    nodes_[me].receives_until = true;
    const bool is_late = mail->acquire_timeout(date - Agenda::now());
    nodes_[me].receives_until = false;
    if (is_late) {
      ++timeouts_;
      return std::nullopt;
    }
  } else {
    mail->acquire();
  }
  return take(me);
}

void Network::let_go(NodeId node) {
  if (std::exchange(nodes_[node].receives_until, false)) nodes_[node].mail->release();
}

void Network::take_down(NodeId node, const std::function<void(const Message&)>& unread) {
  Node& down = nodes_[node];
  ++down.incarnation;
  down.up = false;
  for (const Message& message : std::exchange(down.inbox, {})) unread(message);
  for (const Message& message : std::exchange(down.waiting, {})) unread(message);
  down.held = false;
  down.mail = sg4::Semaphore::create(0);  // whoever waited at the old one is gone
  for (auto& [ends, connection] : connections_) {
    if (ends.first != node && ends.second != node) continue;
    connection.waiting.clear();
    connection.names.clear();
  }
  break_connections(node);
}

// In the order in which they were sent: SimGrid's sums depend on the order of what it is told.
void Network::break_connections(NodeId node) {
  std::vector<Flight> flights;
  const auto take = [&flights, node](auto& entry) {
    const Message& m = entry.second.message;
    if (m.from != node && m.to != node) return false;
    flights.push_back(std::move(entry.second));
    return true;
  };
  std::erase_if(in_flight_, take);
  std::ranges::sort(flights, {}, sent);
  for (const Flight& flight : flights) {
    if (in_background(flight.message)) --in_background_;
    if (!mutant("flows-outlive-their-ends")) flight.flow->cancel();
    pass_on_turn(flight);
  }
  std::erase_if(delayed_, take);
  std::ranges::sort(flights, {}, sent);
  for (const Flight& flight : flights) record<Lost>(flight.message.from, flight);
}

void Network::close(const std::function<void(const Message&)>& unread) {
  std::vector<Flight> flights;
  for (auto& [key, flight] : in_flight_) flights.push_back(std::move(flight));
  in_flight_.clear();
  for (auto& [number, flight] : delayed_) flights.push_back(std::move(flight));
  delayed_.clear();
  in_background_ = 0;
  std::ranges::sort(flights, {}, sent);
  for (const Flight& flight : flights) record<Lost>(flight.message.from, flight);
  for (Node& node : nodes_) {
    for (const Message& message : node.inbox) unread(message);
    for (const Message& message : node.waiting) unread(message);
    node.inbox.clear();
    node.waiting.clear();
  }
  connections_.clear();
}

}  // namespace psim
