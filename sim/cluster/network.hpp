// Messages between nodes: inboxes, queues of connections, faults and records. A carrier (carrier.hpp) moves a
// message's bytes across the wire. When the last byte arrives, the message goes to the receiver's inbox.
//
// Decisions:
// - Bytes. A dense message has the bytes of its values and of the scenario's header.
// - Endpoints. A process prepares one message at a time, and takes in one message at a time. If this takes
//   time per message or per byte, messages queue up before and after the wire. Otherwise endpoints cost
//   nothing.
// - Machines. A message between two nodes of one machine crosses no link and arrives at once, except for the
//   time of its endpoints. If faults slow the links of a machine's nodes differently, the slowest counts.
// - Streams. With `in_order` a connection from one node to another is a stream, like a TCP connection: its
//   messages pay the latency of the route once, and follow each other back to back. When the last byte of a
//   message has left, the most urgent waiting message leaves next. A message that has begun is not
//   interrupted. The two directions of a pair are two connections. So the latency of a streamed message comes
//   after its bytes have used the bandwidth; the latency of any other message comes before.
// - A message on its way from or to a node that crashes is lost at that date, and uses no more bandwidth.
//   Nodes do not repeat a message while the same message is on its way. A repetition goes after all first
//   messages. Otherwise requests that wait at their server would delay the messages that they wait for.
#pragma once

#include <simgrid/forward.h>
#include <boost/container/deque.hpp>
#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/carrier.hpp"
#include "sim/cluster/link_faults.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/packed_message.hpp"
#include "sim/record/recorder.hpp"

namespace psim {

// The messages that a node has not read yet, in order. Most nodes have at most one at a time. When ten
// thousand workers begin, a million messages wait at a hundred servers: all but a node's first few are
// packed.
class Inbox {
 public:
  bool empty() const { return messages_.empty(); }
  void push(Message&& message) {
    if (packed_.empty() && messages_.size() < few) messages_.push_back(std::move(message));
    else packed_.emplace_back(std::move(message));
  }
  Message pop() {
    Message message = std::move(messages_[next_++]);
    if (next_ < messages_.size()) return message;
    next_ = 0;
    messages_.clear();
    if (packed_.empty()) return message;
    messages_.push_back(std::move(packed_.front()).unpack());
    packed_.pop_front();
    return message;
  }
  // The inbox is empty afterwards.
  std::vector<Message> take_all() {
    std::vector<Message> all;
    while (!empty()) all.push_back(pop());
    return all;
  }

 private:
  struct Packed {
    explicit Packed(Message&& m) : because(m.because), there_at(m.there_at), message(std::move(m)) {}
    Message unpack() && {
      Message whole = std::move(message).unpack();
      whole.because = because;
      whole.there_at = there_at;
      return whole;
    }
    Cause because;
    double there_at;
    PackedMessage message;
  };
  static constexpr std::size_t few = 4;
  std::vector<Message> messages_;
  std::size_t next_ = 0;  // messages before this one have been read
  boost::container::deque<Packed> packed_;
};

class Network {
 public:
  struct Options {
    std::uint64_t header = 0;  // bytes added to every message
    bool in_order = false;  // a connection is a stream: smallest rank first, equal ranks in order of sending
    std::function<std::uint32_t(const Message&)> rank = {};
    // On a connection from this node a message leaves when the previous message has arrived.
    std::optional<NodeId> one_by_one_from = {};
    NodeId background;     // nodes from this number on: their traffic does not count as in flight
    bool repeats = false;  // some messages are sent again: carries() may be asked
    EndpointSpec endpoint = {};
    std::vector<std::uint32_t> hosts = {};  // by node: its machine; none: each has its own
  };
  Network(std::size_t nodes, std::unique_ptr<Carrier> carrier, Options options, Recorder& recorder,
          Agenda& agenda);

  // Never blocks. The sender must not expect an answer.
  void send(Message&& message);
  // Repeats an unanswered message. On its connection it goes after all messages that are sent for the first
  // time. Otherwise requests that wait at their server would repeatedly delay the messages for which they
  // wait.
  void send_again(Message&& message);

  // Whether the same message is already on its way: a state of the shard, the same entry of its log, or the
  // same request. It may still get lost, but its sender cannot know that. False where nobody repeats
  // messages.
  bool carries(const Message& like) const;
  // Sends the message unless the same message is already on its way. Returns whether it sent the message. For
  // repetitions: perhaps no answer has come because the network is full.
  bool send_once(Message&& message);

  // A notice from the transport to `message.to`. It takes no time, and is not an event.
  void notify(Message&& message);

  // The messages into and out of aggregators.
  SumTraffic sum_traffic() const { return carrier_->traffic(); }

  // Waits for the next message to `me`, or until a date.
  Message receive(NodeId me);
  std::optional<Message> receive_until(NodeId me, double date);
  bool has_mail(NodeId me) const { return !nodes_[me].inbox.empty(); }

  // Sets a callback for every arriving message, before its receiver gets it.
  void on_arrival(std::function<void(const Message&)> callback) { on_arrival_ = std::move(callback); }

  // Takes a node down: it receives nothing, and loses its inbox and its waiting messages. Its connections
  // break; messages on their way over them are lost at once and use no more bandwidth. Called from the
  // agenda, when the node has no actor left. `unread` gets the messages of its inbox.
  void take_down(NodeId node, const std::function<void(const Message&)>& unread);
  void bring_up(NodeId node) { nodes_[node].up = true; }
  bool is_up(NodeId node) const { return nodes_[node].up; }
  std::uint32_t incarnation(NodeId node) const { return nodes_[node].incarnation; }
  // Sets the faults of messages; none by default.
  void set_faults(LinkFaults* faults) { faults_ = faults; }
  // Sets the remaining share of the bandwidth of a node's own links, both ways. From the agenda.
  void set_bandwidth(NodeId node, double factor);
  // Seconds by which messages that the node sends or gets from now on arrive later.
  void set_extra_latency(NodeId node, double seconds) { nodes_[node].extra_latency = seconds; }
  // From now on, messages for the node wait invisibly until hand_out(), over crashes too.
  void hold(NodeId node) { nodes_[node].held = true; }
  bool is_held(NodeId node) const { return nodes_[node].held; }
  void hand_out(NodeId node);

  // Messages in flight, except in the background. Other messages wait in queues, but only behind a message in
  // flight.
  std::size_t in_flight() const { return carried_ - in_background_ + delayed_.size(); }
  std::size_t in_flight(MessageKind kind) const { return slots_of_[static_cast<std::size_t>(kind)].size(); }
  // Values for training are progress while they are on their way, and when they arrive. These are the dates
  // when the oldest of them reached the wire, and when the last ones arrived; values that will be lost do not
  // count. A push that arrives is progress only if a server applies it: it may be a repetition.
  std::optional<double> oldest_transfer() const {
    std::optional<double> oldest;
    for (const MessageKind kind : transfers) {
      for (const std::uint32_t slot : slots_of_[static_cast<std::size_t>(kind)]) {
        const Flight& flight = *in_flight_[slot];
        if (!is_transfer(flight)) continue;
        const double date = flight.stage == Stage::prepared ? Agenda::now() : flight.begun;
        oldest = std::min(oldest.value_or(date), date);
      }
    }
    return oldest;
  }
  double last_transfer() const { return last_transfer_; }
  // The most seconds after which a message was lost at the end of its way, or for which one has been on the
  // way to its loss. No node can notice this before the end.
  double slowest_loss() const {
    double most = slowest_loss_;
    for (const std::optional<Flight>& flight : in_flight_) {
      if (flight && flight->dropped && flight->stage != Stage::prepared)
        most = std::max(most, Agenda::now() - flight->begun);
    }
    return most;
  }
  // Ends the run: messages on their way are lost, and `unread` gets the unread messages in order. The carrier
  // may continue without an effect.
  void close(const std::function<void(const Message&)>& unread);
  bool is_closed() const { return closed_; }

 private:
  struct Node {
    Inbox inbox;
    simgrid::s4u::SemaphorePtr mail;
    std::uint32_t incarnation = 0;  // number of crashes so far
    bool up = true;
    bool held = false;
    bool is_late = false;                     // its actor waited for mail until a date that is past
    std::vector<Message> waiting = {};        // while held
    double sends_until = 0, takes_until = 0;  // dates: busy with messages
    double bandwidth = 1;                     // share that faults and profiles leave
    double extra_latency = 0;
  };
  using Name = std::tuple<MessageKind, std::uint32_t, std::uint32_t, std::optional<std::int64_t>>;
  static Name name_of(const Message& message);
  // From one node to another: messages that wait behind the leaving message, by rank and order.
  struct Connection {
    std::size_t leaving = 0;      // the copies of one message
    std::int64_t left_last = -1;  // its `Sent` number
    std::map<std::pair<std::uint32_t, std::uint64_t>, Message> waiting;
    std::multiset<Name> names = {};  // of all messages, waiting or in flight; if messages are repeated
  };
  Connection& connection_of(const Message& message) { return connections_[{message.from, message.to}]; }
  void add_name(const Message& message);
  void remove_name(const Message& message);
  // prepared: by the sender; has_left: messages of a stream only; taken_in: by the receiver.
  enum class Stage : std::uint8_t { prepared, on_wire, has_left, taken_in };
  struct Flight {
    NodeId from, to;
    std::uint64_t sent;  // its `Sent` number: unique
    std::uint64_t bytes;
    double delay;      // by a fault, after it has crossed the network
    double begun = 0;  // date when it reached the wire
    MessageKind kind;  // for the record
    Summable what;     // for aggregators
    bool has_turn;     // the next message of its connection waits for it
    bool streamed;
    bool dropped;  // by a fault, when it arrives
    Stage stage = Stage::prepared;
    std::uint32_t place = 0;  // in the slots of its kind
    PackedMessage message;
  };
  bool is_streamed(NodeId from) const { return options_.in_order && options_.one_by_one_from != from; }
  bool in_turn(NodeId from) const { return options_.in_order || options_.one_by_one_from == from; }
  bool stays_on_host(const Flight& m) const {
    return !options_.hosts.empty() && options_.hosts[m.from] == options_.hosts[m.to];
  }
  bool in_background(const Flight& m) const { return std::max(m.from, m.to) >= options_.background; }
  void enqueue(Message&& message, std::uint32_t rank);
  using Flights = boost::container::small_vector<Flight, 1>;  // of one message: two if a fault doubles it
  void transmit(Message&& message);
  void launch(Message&& message, const MessageFate& fate, Flights& flights);
  std::uint32_t keep(Flight&& flight);
  Flight release(std::uint32_t slot);
  template <class Action>
  void later(double date, std::uint32_t slot, Action action);
  void put_on_wire(std::span<const std::uint32_t> slots);
  void leave(std::uint32_t slot);
  void leave_wire(std::uint32_t slot);
  void break_connections(NodeId node);
  void pass_on_turn(const Flight& flight);
  void leave_network(Flight&& flight);
  void send_next(NodeId from, NodeId to);
  Message take(NodeId me);
  bool is_lost(const Flight& flight) const;
  using K = MessageKind;
  static constexpr auto transfers =
      std::to_array({K::push, K::weights, K::finished, K::chunk, K::activation, K::error, K::samples,
                     K::piece, K::gradient, K::replicate, K::state, K::call, K::returned});
  // Whether it carries values that a worker or server needs. A snapshot helps nobody who waits.
  bool is_transfer(const Flight& flight) const {
    const bool is_snapshot =
        flight.kind == K::state && !recorder_.is_server(flight.to) && !recorder_.is_worker(flight.to);
    return std::ranges::find(transfers, flight.kind) != transfers.end() && !is_snapshot && !flight.dropped &&
           nodes_[flight.to].up && !in_background(flight);
  }
  void note_end(const Flight& flight, bool is_lost) {
    if (is_lost) slowest_loss_ = std::max(slowest_loss_, Agenda::now() - flight.begun);
    else if (flight.kind != MessageKind::push && is_transfer(flight)) last_transfer_ = Agenda::now();
  }
  void arrive(Flight&& flight);
  void hand_over(Node& node, Message&& message);
  void put(Node& node, Message&& message);
  static void miss_date(Node& node, const simgrid::s4u::Semaphore& mail);
  MessageKind record_sending(Message& message, std::uint64_t bytes);
  template <class T>
  std::int64_t record(NodeId node, const Flight& flight);

  std::vector<Node> nodes_;
  std::map<std::pair<NodeId, NodeId>, Connection> connections_;
  Options options_;
  Recorder& recorder_;
  Agenda& agenda_;
  std::function<void(const Message&)> on_arrival_;
  std::unique_ptr<Carrier> carrier_;
  std::deque<std::optional<Flight>> in_flight_;  // by slot: from sender to receiver
  std::vector<std::uint32_t> free_slots_;
  std::map<std::uint64_t, Flight> delayed_;  // messages that have crossed the network, but arrive late
  LinkFaults* faults_ = nullptr;
  std::size_t carried_ = 0, in_background_ = 0;  // messages in flight
  // By kind. Every heartbeat may ask for the transfers, among many heartbeats in flight.
  std::array<std::vector<std::uint32_t>, message_names.size()> slots_of_;
  std::uint64_t next_held_ = 0;
  bool closed_ = false;
  double last_transfer_ = 0, slowest_loss_ = 0;
};

}  // namespace psim
