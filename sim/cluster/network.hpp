// Messages between nodes over SimGrid's flows, without its mailboxes. A message is a detached transfer; when
// its last byte arrives, it goes to the receiver's inbox.
//
// A transfer is Comm::sendto_init between hosts; the link's communication callback reports its end on the
// exact date. Decisions:
// - Turns. Perfect max-min sharing keeps identical workers in lock-step for ever: all push together, all pull
//   together, nothing overlaps, and asp comes out as slow as bsp, which no real system shows. Connections
//   share links in turns (share.hpp): a message's last turn is a flow of its own, which begins when the rest
//   is through. SimGrid shares a link in proportion to 1 / latency, so the last turn takes 1 /
//   last_turn_weight of the latency and the rest of the message what is left of it. share_spread = 0 is the
//   textbook case, one flow per message.
// - Acknowledgements load the opposite direction, as flows of their own that nobody waits for. SimGrid's
//   network/crosstraffic makes one flow cross both directions, and so gives it no more than its share of the
//   opposite one, where it needs a twentieth of that: a pull would wait for pushes.
// - Bytes. A dense message counts its values, and the header that the scenario gives.
// - Flow models. lv08, SimGrid's default, is 13.01 x latency and 0.97 x bandwidth, calibrated on TCP
//   (Velho, Legrand 2009), with a window of 4 MiB. cm02 without a window is latency + bytes / bandwidth.
// - The solver. network/optim:Lazy of SimGrid 3.32 can forget a link when several flows begin to share it
//   at one date, which is what a barrier makes them do. psim sets network/optim:Full
//   (tests/oracles/network_test.cpp).
// - A message on its way from or to a node that crashes is lost at that date, and takes no more bandwidth.
//   Messages are not repeated while the same message is on its way, and a repetition goes after all that is
//   sent for the first time: requests that wait at their server would else hold up what they wait for.
#pragma once

#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Semaphore.hpp>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/link_faults.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/cluster/share.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/recorder.hpp"

namespace psim {

class Network {
 public:
  struct Options {
    std::uint64_t header = 0;                // bytes added to every message
    bool one_by_one = false;                 // a connection carries one message at a time ...
    std::optional<NodeId> stream_from = {};  // connections from this node always do so
    // ... smallest rank first; among equal ranks in the order of sending.
    std::function<std::uint32_t(const Message&)> rank = {};
    NodeId background;            // nodes from this number on: their traffic does not count as in flight
    bool repeats = false;         // some messages are sent again: carries() may be asked
    Share share = {};             // how connections share a link
    double acknowledgements = 0;  // bytes of them, per byte of a message
  };
  Network(const Platform& platform, Options options, Recorder& recorder, Agenda& agenda);

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
  std::size_t in_flight() const { return in_flight_.size() - in_background_ + delayed_.size(); }
  // The run is over: messages on their way are lost, and unread messages are handed out in order. SimGrid may
  // continue the transfers; nobody is told of them.
  void close(const std::function<void(const Message&)>& unread);

 private:
  struct Node {
    simgrid::s4u::Host* host;
    std::deque<Message> inbox;
    simgrid::s4u::SemaphorePtr mail;
    std::uint32_t incarnation = 0;  // how often it was taken down
    bool up = true;
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // its own, and their bandwidth
    double bandwidth = 1;                                       // remaining share of it
    bool held = false;
    std::deque<Message> waiting;  // while held
    bool receives_until = false;  // its actor waits for mail until a date
  };
  using Name = std::tuple<MessageKind, std::uint32_t, std::uint32_t, std::optional<std::int64_t>>;
  static Name name_of(const Message& message);
  // From one node to another: messages that wait for the one on its way, by rank and order.
  struct Connection {
    bool busy = false;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Message> waiting;
    std::multiset<Name> names = {};  // of these, and of what is in flight; where messages are repeated
    std::uint64_t sent = 0;
  };
  Connection& connection_of(const Message& message) { return connections_[{message.from, message.to}]; }
  void add_name(const Message& message);
  void remove_name(const Message& message);
  struct Flight {
    Message message;  // `sent` tells it from all others
    std::uint64_t bytes;
    bool has_turn;  // the next message of its connection waits for it
    bool dropped;   // by a fault, when it arrives
    double delay;   // by a fault, when it is through the network
    simgrid::s4u::CommPtr flow = nullptr;
    std::uint64_t last_turn = 0;           // bytes that go when the flow is through
    MessageKind kind = MessageKind::join;  // for the record
  };
  bool in_turn(NodeId from) const { return options_.one_by_one || options_.stream_from == from; }
  bool in_background(const Message& m) const { return std::max(m.from, m.to) >= options_.background; }
  void enqueue(Message&& message, std::uint32_t rank);
  using Flights = boost::container::small_vector<Flight, 1>;  // of one message: more if a fault doubles it
  void transmit(Message&& message);
  void launch(Message&& message, const MessageFate& fate, bool has_turn, Flights& flights);
  void start_flow(Flight& flight, std::uint64_t bytes, double latency);
  void set_off(Flight&& flight);
  void send_last_turn(Flight&& flight);
  void break_connections(NodeId node);
  static void scale_links(const Node& node, double factor);
  void pass_on_turn(const Flight& flight);
  void leave_network(Flight&& flight);
  void send_next(NodeId from, NodeId to);
  Message take(NodeId me);
  bool is_lost(const Flight& flight) const;
  void arrive(Flight&& flight);
  void hand_over(Node& node, Message&& message);
  std::uint64_t record_sending(Flight& flight);
  template <class T>
  void record(NodeId node, const Flight& flight);

  std::vector<Node> nodes_;
  RouteTable* routes_;
  std::map<std::pair<NodeId, NodeId>, Connection> connections_;
  Options options_;
  Recorder& recorder_;
  Agenda& agenda_;
  std::function<void(const Message&)> on_arrival_;
  std::unordered_map<const void*, Flight> in_flight_;  // unordered: sorted where order matters
  std::map<std::uint64_t, Flight> delayed_;            // have crossed the network, but arrive late
  LinkFaults* faults_ = nullptr;
  std::size_t in_background_ = 0;
  std::uint64_t next_held_ = 0, timeouts_ = 0;
};

}  // namespace psim
