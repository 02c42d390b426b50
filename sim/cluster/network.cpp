#include "sim/cluster/network.hpp"

#include <simgrid/s4u/Semaphore.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

// Seconds that a process needs for a message: the overhead, and the time of its bytes.
double handling(Seconds overhead, const std::optional<BytesPerSecond>& bandwidth, std::uint64_t bytes) {
  return overhead.value + (bandwidth ? static_cast<double>(bytes) / bandwidth->value : 0);
}

}  // namespace

Network::Network(std::size_t nodes, std::unique_ptr<Carrier> carrier, Options options, Recorder& recorder,
                 Agenda& agenda)
    : options_(std::move(options)), recorder_(recorder), agenda_(agenda), carrier_(std::move(carrier)) {
  for (std::size_t node = 0; node < nodes; ++node)
    nodes_.push_back({.inbox = {}, .mail = sg4::Semaphore::create(0)});
  carrier_->on_arrival([this](std::uint32_t slot) { leave(slot); });
}

// Records the sending of a message. Sets the message's number, and returns its kind.
MessageKind Network::record_sending(Message& m, std::uint64_t bytes) {
  Event event{Agenda::now(), m.from};
  Sent& sent = event.what.emplace<Sent>(facts_of(m.body), m.from, m.to);
  sent.bytes = bytes;
  const MessageKind kind = sent.kind;
  if (sent.has_shard) {
    sent.shard = m.shard;
    sent.epoch = m.epoch;
  }
  m.sent = recorder_.record(std::move(event), m.because, std::exchange(m.needs, {}));
  return kind;
}

// Records the arrival or the loss of a message.
template <class T>
std::int64_t Network::record(NodeId node, const Flight& flight) {
  const Cause sending{static_cast<std::int64_t>(flight.sent), Spent::network};
  return static_cast<std::int64_t>(recorder_.record(
      {Agenda::now(), node, T{{flight.sent, flight.kind, flight.from, flight.to, flight.bytes}}}, sending));
}

void Network::send(Message&& message) {
  const std::uint32_t rank = in_turn(message.from) ? options_.rank(message) : 0;
  enqueue(std::move(message), rank);
}

void Network::send_again(Message&& message) {
  enqueue(std::move(message), std::numeric_limits<std::uint32_t>::max());
}

void Network::enqueue(Message&& message, std::uint32_t rank) {
  if (message.because.event < 0) message.because = recorder_.causes().cause();
  if (!in_turn(message.from)) return transmit(std::move(message));
  const NodeId from = message.from, to = message.to;
  Connection& connection = connection_of(message);
  add_name(message);
  message.there_at = Agenda::now();
  connection.waiting.emplace(std::pair(rank, next_held_++), std::move(message));
  send_next(from, to);
}

bool Network::send_once(Message&& message) {
  const bool is_alone = !PSIM_PROBE(carries(message), "a message is not sent, because its like is under way");
  if (is_alone) send(std::move(message));
  return is_alone;
}

void Network::send_next(NodeId from, NodeId to) {
  Connection& connection = connections_[{from, to}];
  if (connection.leaving > 0 || connection.waiting.empty()) return;
  Message next = std::move(connection.waiting.begin()->second);
  connection.waiting.erase(connection.waiting.begin());
  remove_name(next);
  if (next.there_at < Agenda::now()) {
    if (next.because.event >= 0) next.needs.push_back({.event = next.because.event});
    next.because = {connection.left_last, Spent::network};
  }
  transmit(std::move(next));
}

void Network::transmit(Message&& message) {
  const MessageFate fate = faults_ != nullptr ? faults_->fate(message) : MessageFate{};
  Flights flights;
  for (int copy = 0; copy < fate.copies; ++copy) launch(Message(message), {}, flights);
  launch(std::move(message), fate, flights);
  boost::container::small_vector<std::uint32_t, 2> at_once;
  for (Flight& flight : flights) {
    const EndpointSpec& endpoint = options_.endpoint;
    const double time = handling(endpoint.send_overhead, endpoint.send_bandwidth, flight.bytes);
    Node& node = nodes_[flight.from];
    const std::uint32_t slot = keep(std::move(flight));
    if (time > 0) {
      node.sends_until = std::max(node.sends_until, Agenda::now()) + time;
      later(node.sends_until, slot, [this](std::uint32_t ready) { put_on_wire({&ready, 1}); });
    } else {
      at_once.push_back(slot);
    }
  }
  put_on_wire({at_once.data(), at_once.size()});
}

std::uint32_t Network::keep(Flight&& flight) {
  if (in_background(flight)) ++in_background_;
  ++carried_;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(in_flight_.size()));
    in_flight_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  auto& alike = slots_of_[static_cast<std::size_t>(flight.kind)];
  flight.place = static_cast<std::uint32_t>(alike.size());
  alike.push_back(slot);
  in_flight_[slot] = std::move(flight);
  return slot;
}

Network::Flight Network::release(std::uint32_t slot) {
  Flight flight = std::move(*in_flight_[slot]);
  auto& alike = slots_of_[static_cast<std::size_t>(flight.kind)];
  in_flight_[alike.back()]->place = flight.place;
  alike[flight.place] = alike.back();
  alike.pop_back();
  in_flight_[slot].reset();
  free_slots_.push_back(slot);
  if (in_background(flight)) --in_background_;
  --carried_;
  return flight;
}

// Does the action at `date`, unless the flight is lost before.
template <class Action>
void Network::later(double date, std::uint32_t slot, Action action) {
  agenda_.at(date, [this, slot, number = in_flight_[slot]->sent, action] {
    if (in_flight_[slot] && in_flight_[slot]->sent == number) action(slot);
  });
}

void Network::put_on_wire(std::span<const std::uint32_t> slots) {
  if (slots.empty()) return;
  boost::container::small_vector<Cargo, 2> cargos;
  for (const std::uint32_t slot : slots) {
    Flight& flight = *in_flight_[slot];
    flight.begun = Agenda::now();
    if (stays_on_host(flight)) {
      later(flight.begun, slot, [this](std::uint32_t there) { leave(there); });
      continue;
    }
    flight.stage = Stage::on_wire;
    cargos.push_back({slot, flight.from, flight.to, flight.bytes, flight.what, flight.streamed});
  }
  carrier_->start({cargos.data(), cargos.size()});
}

void Network::set_bandwidth(NodeId node, double factor) {
  nodes_[node].bandwidth = factor;
  const auto shares = [&](NodeId other) {
    return other == node || (!options_.hosts.empty() && options_.hosts[other] == options_.hosts[node]);
  };
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (shares(other)) factor = std::min(factor, nodes_[other].bandwidth);
  }
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (shares(other)) carrier_->set_bandwidth(other, factor);
  }
}

void Network::launch(Message&& message, const MessageFate& fate, Flights& flights) {
  const std::uint64_t bytes = options_.header + wire_size(message.body);
  const MessageKind kind = record_sending(message, bytes);
  const bool is_cut = faults_ != nullptr && faults_->cut(message.from, message.to);
  if (!is_cut) add_name(message);
  const bool has_turn = in_turn(message.from);
  if (has_turn) ++connection_of(message).leaving;
  Flight flight{.from = message.from,
                .to = message.to,
                .sent = *message.sent,
                .bytes = bytes,
                .delay = fate.delay + nodes_[message.from].extra_latency + nodes_[message.to].extra_latency,
                .kind = kind,
                .what = summable(message),
                .has_turn = has_turn,
                .streamed = is_streamed(message.from),
                .dropped = fate.dropped,
                .message = PackedMessage(std::move(message))};
  if (PSIM_PROBE(is_cut, "a message meets a partition")) {
    pass_on_turn(flight);
    record<Lost>(flight.from, flight);
  } else {
    flights.push_back(std::move(flight));
  }
}

// Two messages of one connection with equal names are the same. All states of a shard have equal names.
Network::Name Network::name_of(const Message& m) {
  const MessageFacts facts = facts_of(m.body);
  const bool is_view = facts.kind == MessageKind::view || facts.kind == MessageKind::start;
  return {facts.kind, m.shard, m.epoch, is_view ? facts.view : m.is<State>() ? std::nullopt : facts.number()};
}

void Network::add_name(const Message& message) {
  if (options_.repeats) connection_of(message).names.insert(name_of(message));
}

void Network::remove_name(const Message& message) {
  if (options_.repeats) connection_of(message).names.extract(name_of(message));  // one of the equal names
}

bool Network::carries(const Message& like) const {
  const auto connection = options_.repeats ? connections_.find({like.from, like.to}) : connections_.end();
  return connection != connections_.end() && connection->second.names.contains(name_of(like));
}

bool Network::is_lost(const Flight& flight) const {
  return flight.dropped || !nodes_[flight.to].up ||
         (faults_ != nullptr && faults_->cut(flight.from, flight.to));
}

void Network::pass_on_turn(const Flight& flight) {
  if (!flight.has_turn) return;
  Connection& connection = connections_[{flight.from, flight.to}];
  connection.left_last = static_cast<std::int64_t>(flight.sent);
  if (--connection.leaving > 0) return;
  agenda_.at(Agenda::now(), [this, from = flight.from, to = flight.to] { send_next(from, to); });
}

// The message's bytes have crossed. Bytes of a stream have only left, and still need the latency.
void Network::leave(std::uint32_t slot) {
  Flight& flight = *in_flight_[slot];
  recorder_.outside().goes_on(Agenda::now(), {static_cast<std::int64_t>(flight.sent), Spent::network});
  pass_on_turn(flight);
  if (!flight.streamed || stays_on_host(flight)) return leave_wire(slot);
  flight.stage = Stage::has_left;
  const double arrives = Agenda::now() + carrier_->latency(flight.from, flight.to);
  later(arrives, slot, [this](std::uint32_t there) { leave_wire(there); });
}

void Network::leave_wire(std::uint32_t slot) {
  Flight& flight = *in_flight_[slot];
  flight.stage = Stage::taken_in;
  if (options_.repeats) remove_name(flight.message.copy());
  const EndpointSpec& endpoint = options_.endpoint;
  const double time = handling(endpoint.receive_overhead, endpoint.receive_bandwidth, flight.bytes);
  if (time > 0 || flight.delay > 0 ||
      handling(endpoint.send_overhead, endpoint.send_bandwidth, flight.bytes) > 0)
    recorder_.on_wire(flight.sent, flight.begun, Agenda::now());
  if (!(time > 0)) return leave_network(release(slot));
  Node& node = nodes_[flight.to];
  node.takes_until = std::max(node.takes_until, Agenda::now()) + time;
  later(node.takes_until, slot, [this](std::uint32_t taken) { leave_network(release(taken)); });
}

void Network::leave_network(Flight&& flight) {
  if (flight.delay == 0) return arrive(std::move(flight));
  const std::uint64_t number = flight.sent;
  const double date = Agenda::now() + flight.delay;
  delayed_.emplace(number, std::move(flight));
  agenda_.at(date, [this, number] {
    if (auto entry = delayed_.extract(number)) arrive(std::move(entry.mapped()));
  });
}

void Network::arrive(Flight&& flight) {
  const bool lost = is_lost(flight);
  const std::int64_t event = lost ? record<Lost>(flight.from, flight) : record<Received>(flight.to, flight);
  note_end(flight, lost);
  if (lost) return;
  Node& node = nodes_[flight.to];
  Message message = std::move(flight.message).unpack();
  message.because = {event};
  if (PSIM_PROBE(node.held, "a message comes to a frozen node")) node.waiting.push_back(std::move(message));
  else hand_over(node, std::move(message));
}

void Network::hand_over(Node& node, Message&& message) {
  if (on_arrival_) on_arrival_(message);
  put(node, std::move(message));
}

void Network::put(Node& node, Message&& message) {
  message.there_at = Agenda::now();
  node.inbox.push(std::move(message));
  node.mail->release();
}

void Network::notify(Message&& message) {
  Node& node = nodes_[message.to];
  if (!node.up) return;
  message.because = recorder_.causes().cause();
  if (node.held) return node.waiting.push_back(std::move(message));
  put(node, std::move(message));
}

void Network::hand_out(NodeId id) {
  Node& node = nodes_[id];
  if (!std::exchange(node.held, false)) return;
  for (Message& message : std::exchange(node.waiting, {})) {
    message.because = recorder_.causes().cause();
    hand_over(node, std::move(message));
  }
  if (node.is_late) node.mail->release();
}

Message Network::take(NodeId me) {
  Message message = nodes_[me].inbox.pop();
  recorder_.causes().takes(message.there_at, message.because);
  return message;
}

Message Network::receive(NodeId me) {
  nodes_[me].mail->acquire();
  return take(me);
}

std::optional<Message> Network::receive_until(NodeId me, double date) {
  if (has_mail(me)) return receive(me);
  if (!(date > Agenda::now())) return std::nullopt;
  const sg4::SemaphorePtr mail = nodes_[me].mail;  // keeps it alive if the node goes down meanwhile
  const Alarm alarm(agenda_, agenda_.at(date, [&node = nodes_[me], mail] { miss_date(node, *mail); }));
  mail->acquire();
  if (!std::exchange(nodes_[me].is_late, false)) return take(me);
  if (PSIM_PROBE(has_mail(me), "a message comes at the date of a timeout")) return receive(me);
  recorder_.causes().spends(Agenda::now(), Spent::timeout);
  return std::nullopt;
}

// A node that is held notices later, together with the messages that waited for it. A node that went down at
// this date does not wait at `mail` any more.
void Network::miss_date(Node& node, const sg4::Semaphore& mail) {
  if (node.mail.get() != &mail || !node.inbox.empty()) return;
  node.is_late = true;
  if (!node.held) node.mail->release();
}

void Network::take_down(NodeId node, const std::function<void(const Message&)>& unread) {
  Node& down = nodes_[node];
  ++down.incarnation;
  down.up = false;
  for (const Message& message : down.inbox.take_all()) unread(message);
  for (const Message& message : std::exchange(down.waiting, {})) unread(message);
  down.is_late = false;
  down.sends_until = down.takes_until = 0;
  down.mail = sg4::Semaphore::create(0);  // the actors that waited at the old semaphore are gone
  for (auto& [ends, connection] : connections_) {
    if (ends.first != node && ends.second != node) continue;
    connection.waiting.clear();
    connection.names.clear();
    connection.leaving = 0;
  }
  break_connections(node);
}

// In the order of sending, because SimGrid's sums depend on the order of its input.
void Network::break_connections(NodeId node) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < in_flight_.size(); ++slot) {
    const auto& flight = in_flight_[slot];
    if (flight && (flight->from == node || flight->to == node)) slots.push_back(slot);
  }
  std::ranges::sort(slots, {}, [this](std::uint32_t slot) { return in_flight_[slot]->sent; });
  std::vector<Flight> flights;
  for (const std::uint32_t slot : slots) {
    const Flight& flight = *in_flight_[slot];
    if (PSIM_PROBE(flight.stage == Stage::on_wire, "a message is lost on the wire")) carrier_->cancel(slot);
    flights.push_back(release(slot));
  }
  for (auto entry = delayed_.begin(); entry != delayed_.end();) {
    const auto next = std::next(entry);
    if (entry->second.from == node || entry->second.to == node)
      flights.push_back(std::move(delayed_.extract(entry).mapped()));
    entry = next;
  }
  std::ranges::sort(flights, {}, &Flight::sent);
  for (const Flight& flight : flights) record<Lost>(flight.from, flight);
}

void Network::close(const std::function<void(const Message&)>& unread) {
  std::vector<Flight> flights;
  closed_ = true;
  carrier_->stop();
  for (std::uint32_t slot = 0; slot < in_flight_.size(); ++slot) {
    if (in_flight_[slot]) flights.push_back(release(slot));
  }
  for (auto& [number, flight] : delayed_) flights.push_back(std::move(flight));
  delayed_.clear();
  std::ranges::sort(flights, {}, &Flight::sent);
  for (const Flight& flight : flights) record<Lost>(flight.from, flight);
  for (Node& node : nodes_) {
    for (const Message& message : node.inbox.take_all()) unread(message);
    for (const Message& message : std::exchange(node.waiting, {})) unread(message);
  }
  connections_.clear();
}

}  // namespace psim
