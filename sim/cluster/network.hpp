// Messages between nodes over SimGrid's flows, without its mailboxes: a message is a detached transfer;
// when its last byte is in, it is put into the receiver's inbox.
#pragma once

#include <simgrid/s4u/Semaphore.hpp>

#include <algorithm>
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
#include "sim/protocol/message.hpp"
#include "sim/record/recorder.hpp"

namespace psim {

class Network {
 public:
  struct Options {
    std::uint64_t header = 0;                // bytes added to every message
    bool one_by_one = false;                 // a connection carries one message at a time ...
    std::optional<NodeId> stream_from = {};  // those from this node do so in any case
    // ... the one of least rank first, in the order given among equals.
    std::function<std::uint32_t(const Message&)> rank = {};
    NodeId background;  // traffic of the nodes from this one on goes on whatever the others do
  };
  Network(const Platform& platform, Options options, Recorder& recorder, Agenda& agenda);

  // Never blocks. The sender must not expect an answer.
  void send(Message message);
  // What was sent before and is not answered: on its connection it goes after all that is sent for the first
  // time. Else requests that wait at their server would hold up, time and again, what they wait for.
  void send_again(Message message);

  // Whether the same is on its way already: a state of the shard, or the same entry of its log, or the same
  // question. Perhaps it will be lost, which its sender cannot know.
  bool carries(const Message& like) const;
  // Likewise, unless the same is on its way, which is false. For what is sent again when no answer comes,
  // which it may not because too much is being sent.
  bool send_once(Message message);

  // Waits for the next message to `me`; until a date, at most.
  Message receive(NodeId me);
  std::optional<Message> receive_until(NodeId me, double date);
  // How often nothing came until the date: a measure of the machine's work.
  std::uint64_t timeouts() const { return timeouts_; }
  bool has_mail(NodeId me) const { return !nodes_[me].inbox.empty(); }

  // Called with every message that arrives, before it can be received.
  void on_arrival(std::function<void(const Message&)> callback) { on_arrival_ = std::move(callback); }

  // Before its actor is killed: SimGrid 3.32 aborts if that happens at the date until which it receives.
  void let_go(NodeId node);
  // A node that is down receives nothing, and what it has sent and received so far is gone: its connections
  // break, and what is on its way over them is lost at once and takes no more bandwidth. From the agenda,
  // with no actor of the node left; `unread` hears of what was in its inbox.
  void take_down(NodeId node, const std::function<void(const Message&)>& unread);
  void bring_up(NodeId node) { nodes_[node].up = true; }
  bool is_up(NodeId node) const { return nodes_[node].up; }
  std::uint32_t incarnation(NodeId node) const { return nodes_[node].incarnation; }
  // What may happen to messages; none unless given.
  void set_faults(LinkFaults* faults) { faults_ = faults; }
  // Of a node's own links, both ways: what is left of their bandwidth. From the agenda.
  void set_bandwidth(NodeId node, double factor);
  // From now on, what arrives for a node waits, and nobody hears of it, until it is handed out.
  void hold(NodeId node) { nodes_[node].held = true; }
  bool is_held(NodeId node) const { return nodes_[node].held; }
  void hand_out(NodeId node);

  // But in the background. Messages may be held back as well, but only by one that is in flight.
  std::size_t in_flight() const { return in_flight_.size() - in_background_ + delayed_.size(); }
  // The run is over: what is on its way is lost, what nobody will receive is handed out, in order. SimGrid
  // may go on with the transfers; nobody hears of them.
  void close(const std::function<void(const Message&)>& unread);

 private:
  struct Node {
    simgrid::s4u::Host* host;
    std::deque<Message> inbox;
    simgrid::s4u::SemaphorePtr mail;
    std::uint32_t incarnation = 0;  // how often it was taken down
    bool up = true;
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // its own, and their bandwidth
    double bandwidth = 1;                                       // what is left of it
    bool held = false;
    std::deque<Message> waiting;  // while held
    bool receives_until = false;  // its actor waits for mail until a date
  };
  using Name = std::tuple<MessageKind, std::uint32_t, std::uint32_t, std::optional<std::int64_t>>;
  static Name name_of(const Message& message);
  // From one node to another: what waits for the message that is on its way, by rank and order.
  struct Connection {
    bool busy = false;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Message> waiting;
    std::multiset<Name> names = {};  // of these
  };
  struct Flight {
    Message message;  // `sent` tells it from all others
    std::uint64_t bytes;
    bool has_turn;  // the next of its connection waits for it
    bool dropped;   // by a fault, when it arrives
    double delay;   // by a fault, when it is through the network
    simgrid::s4u::CommPtr flow = nullptr;
    MessageKind kind = MessageKind::join;  // for the record
  };
  bool in_turn(NodeId from) const { return options_.one_by_one || options_.stream_from == from; }
  bool in_background(const Message& m) const { return std::max(m.from, m.to) >= options_.background; }
  void enqueue(Message&& message, std::uint32_t rank);
  void transmit(Message message);
  void launch(Message&& message, const MessageFate& fate, bool has_turn, std::vector<Flight>& flights);
  simgrid::s4u::CommPtr start_flow(const Flight& flight) const;
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
  std::map<std::pair<NodeId, NodeId>, Connection> connections_;
  Options options_;
  Recorder& recorder_;
  Agenda& agenda_;
  std::function<void(const Message&)> on_arrival_;
  std::unordered_map<const void*, Flight> in_flight_;  // looked up, or asked for any; else sorted
  std::map<std::uint64_t, Flight> delayed_;            // through the network, but late
  LinkFaults* faults_ = nullptr;
  std::size_t in_background_ = 0;
  std::uint64_t next_held_ = 0, timeouts_ = 0;
};

}  // namespace psim
