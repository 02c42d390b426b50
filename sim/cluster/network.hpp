// Messages between nodes: inboxes, turns, faults and records. A carrier (carrier.hpp) brings a message's
// bytes across the wire; when its last byte arrives, the message goes to the receiver's inbox.
//
// Decisions:
// - Bytes. A dense message counts its values, and the header that the scenario gives.
// - Endpoints. A process prepares one message at a time, and takes one in at a time: with a time for each and
// a
//   time for each byte, messages queue up before the wire and behind it. Without, they cost nothing there.
// - Machines. A message between two nodes of one machine crosses no link and is there at once, but for what
// its
//   endpoints cost. The machine's link is the slower of what faults make of either node's.
// - Streams. With `in_order` a connection from one node to another is a stream, as one of TCP is: its
// messages
//   pay the latency of their way once, and follow each other back to back. When the last byte of a message
//   has left, the most urgent of those that wait leaves next; a message that has begun is not interrupted.
//   The two directions of a pair are two connections. So the latency of a streamed message comes after its
//   bytes have taken their bandwidth; that of any other comes before.
// - A message on its way from or to a node that crashes is lost at that date, and takes no more bandwidth.
//   Messages are not repeated while the same message is on its way, and a repetition goes after all that is
//   sent for the first time: requests that wait at their server would else hold up what they wait for.
#pragma once

#include <simgrid/forward.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
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

class Network {
 public:
  struct Options {
    std::uint64_t header = 0;  // bytes added to every message
    bool in_order = false;  // a connection is a stream: smallest rank first, equal ones in order of sending
    std::function<std::uint32_t(const Message&)> rank = {};
    // On a connection from this node a message leaves when the one before has arrived.
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
  // same question. It may get lost, which its sender cannot know.
  bool carries(const Message& like) const;
  // Sends the message unless the same one is already on its way; returns whether it did. For repetitions:
  // perhaps no answer came because too much is being sent.
  bool send_once(Message&& message);

  // A notice of the transport's for `message.to`: it takes no time, and is no event.
  void notify(Message&& message);

  // What aggregators have made of messages.
  SumTraffic sum_traffic() const { return carrier_->traffic(); }

  // Waits for the next message to `me`, or until a date.
  Message receive(NodeId me);
  std::optional<Message> receive_until(NodeId me, double date);
  // How often no message came until the date: a measure of the machine's work.
  std::uint64_t timeouts() const { return timeouts_; }
  bool has_mail(NodeId me) const { return !nodes_[me].inbox.empty(); }

  // Called with every message that arrives, before it can be received.
  void on_arrival(std::function<void(const Message&)> callback) { on_arrival_ = std::move(callback); }

  // To be called before the node's actor is killed: SimGrid 3.32 aborts if that happens at the date until
  // which the actor receives.
  void let_go(NodeId node);
  // A node that is down receives nothing, and loses what it has sent and received so far. Its connections
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
  // From now on, messages for a node wait, unseen by anybody, until they are handed out.
  void hold(NodeId node) { nodes_[node].held = true; }
  bool is_held(NodeId node) const { return nodes_[node].held; }
  void hand_out(NodeId node);

  // Messages in flight, except in the background. A message may also wait for its turn, but only behind one
  // in flight.
  std::size_t in_flight() const { return carried_ - in_background_ + delayed_.size(); }
  // The run is over: messages on their way are lost, and unread messages are handed out in order. The carrier
  // may continue; nobody is told of it.
  void close(const std::function<void(const Message&)>& unread);

 private:
  struct Node {
    std::deque<Message> inbox;
    simgrid::s4u::SemaphorePtr mail;
    std::uint32_t incarnation = 0;  // how often it was taken down
    bool up = true;
    bool held = false;
    bool receives_until = false;              // its actor waits for mail until a date
    std::vector<Message> waiting = {};        // while held
    double sends_until = 0, takes_until = 0;  // dates: busy with messages
    double bandwidth = 1;                     // what faults leave of it
  };
  using Name = std::tuple<MessageKind, std::uint32_t, std::uint32_t, std::optional<std::int64_t>>;
  static Name name_of(const Message& message);
  // From one node to another: messages that wait for the one that leaves, by rank and order.
  struct Connection {
    std::size_t leaving = 0;      // the copies of one message
    std::int64_t left_last = -1;  // by the number of its sending
    std::map<std::pair<std::uint32_t, std::uint64_t>, Message> waiting;
    std::multiset<Name> names = {};  // of these, and of what is in flight; where messages are repeated
  };
  Connection& connection_of(const Message& message) { return connections_[{message.from, message.to}]; }
  void add_name(const Message& message);
  void remove_name(const Message& message);
  // By the sender; ...; of a stream; by the receiver.
  enum class Stage : std::uint8_t { prepared, on_wire, has_left, taken_in };
  struct Flight {
    NodeId from, to;
    std::uint64_t sent;  // tells it from all others
    std::uint64_t bytes;
    double delay;      // by a fault, when it is through the network
    double begun = 0;  // when it came on the wire
    MessageKind kind;  // for the record
    Summable what;     // for aggregators
    bool has_turn;     // the next message of its connection waits for it
    bool streamed;
    bool dropped;  // by a fault, when it arrives
    Stage stage = Stage::prepared;
    PackedMessage message;
  };
  bool is_streamed(NodeId from) const { return options_.in_order && options_.one_by_one_from != from; }
  bool in_turn(NodeId from) const { return options_.in_order || options_.one_by_one_from == from; }
  bool stays_on_host(const Flight& m) const {
    return !options_.hosts.empty() && options_.hosts[m.from] == options_.hosts[m.to];
  }
  bool in_background(const Flight& m) const { return std::max(m.from, m.to) >= options_.background; }
  void enqueue(Message&& message, std::uint32_t rank);
  using Flights = boost::container::small_vector<Flight, 1>;  // of one message: more if a fault doubles it
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
  void arrive(Flight&& flight);
  void hand_over(Node& node, Message&& message);
  void put(Node& node, Message&& message);
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
  std::map<std::uint64_t, Flight> delayed_;  // have crossed the network, but arrive late
  LinkFaults* faults_ = nullptr;
  std::size_t carried_ = 0, in_background_ = 0;  // of those in flight
  std::uint64_t next_held_ = 0, timeouts_ = 0;
};

}  // namespace psim
