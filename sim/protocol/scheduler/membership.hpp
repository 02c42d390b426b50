// Which nodes are alive and which server owns which shard: the scheduler's part in a cluster whose nodes fail
// (the server manager of Li et al., OSDI 2014, section 4). It receives heartbeats, suspects silent nodes, and
// gives their shards to others. Pure: dates come from outside.
//
// Where shards are to be. The plan cuts the key space by the placement over all servers that the scenario
// has. While a server is absent, the next one owns its shards; on a ring, each shard has a next one of its
// own. A server that joins or returns gets what `rebalance` says: nothing, what the placement gives it, or a
// share of the load. Owners report with every heartbeat how many values went through each of their shards;
// rebalance.hpp takes from those that have most. If a whole shard is too much, it is cut.
//
// Shards that are cut. The view lists all cuts since the plan. A cut begins a new epoch for both parts, with
// the present owner and the present replicas for both. Whoever hears of it cuts every state of the shard that
// it holds, as owner or as copy, and both parts have the whole one's version, clocks and place in the log.
// Nothing else is special: to everybody else a cut is a change of owner. An owner that has led until then
// goes on at once, because no epoch was between; if it is gone, the next owners find the parts where they
// would have found the whole. Entries of the old log are of no use to parts, so replicas get their states
// anew. Two histories have one past, and a view without the cut would have to join them again: so whoever
// cuts needs a scheduler that does not crash.
//
// Shards that move. The scheduler decides where each shard is to be, and an owner that is there hands it over
// in two phases (Li et al., OSDI 2014, section 4.5):
// 1. The view names the next owner, and nothing else changes. The owner sends it the shard's state and then
//   its log, as to a replica, but no answer waits for it. When the next owner has all that was in the log
//   when the state was there, the owner tells the scheduler: ready.
// 2. A new view, with a new epoch, makes it the owner. It asks the last one for the entries that were on
//   their way. Requests that come before that wait.
// So workers wait for a view, a question and a few entries. With hand_over = "stop-and-copy" the second
// phase comes first, and workers wait for the state. If the owner crashes in the first phase, the next
// owner goes on with what it has, as a replica would, but only if there is no replica. A server that leaves
// says so instead of every heartbeat until the end, so that neither a lost message nor an absent scheduler
// makes it stay. It may be started anew only when the next owner of each of its shards has got it, or is
// down itself. A server that leads again, and did not hear that another one led meanwhile, keeps its state
// as a copy, because it may be the only one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "sim/protocol/scheduler/failure_detector.hpp"
#include "sim/protocol/scheduler/rebalance.hpp"
#include "sim/protocol/scheduler/shard_loads.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

class Membership {
 public:
  struct Rules {
    std::uint32_t servers = 1, workers = 1;
    std::int64_t copies = 0;
    DetectorSpec detector = {};
    bool removes_workers = false;  // a suspected worker no longer takes part
    bool takes_over = true;  // a shard without a copy goes to the next server; else it waits for its server
    Rebalance rebalance = Rebalance::placement;
    bool two_phase = true;            // a shard is copied before it changes its owner, not afterwards
    std::vector<NodeId> absent = {};  // at first
  };
  // `keys`: the shards of the plan, and the server, from 0, that each is placed on.
  Membership(Rules rules, const KeySpace& keys);

  // A message from `node`, which has been started `incarnation` times before.
  void heard(NodeId node, std::uint32_t incarnation, double now);
  // Takes over a running cluster after a crash of the last scheduler. `view` is the newest view that any node
  // knows; `strangers` live but know none. All other nodes that were not heard count as down. Numbers and
  // epochs continue above those of any scheduler of fewer `lives`, even if it told them only to nodes that
  // are gone. Returns the nodes that are down and were not in `view`, without those that have left.
  std::vector<NodeId> take_up(const View& view, const std::vector<NodeId>& strangers, std::uint32_t lives);
  // Likewise, if no node knows a view: everything starts again.
  void begin_anew(std::uint32_t lives);
  // The node announces that it leaves, or it has finished. A server serves until its shards are elsewhere.
  void leaves(NodeId node);
  // These workers and shards are gone for good, because their job has ended; without shards these stay.
  void retire(std::vector<NodeId> workers, std::uint32_t first_shard, std::uint32_t shards);
  // `node` has received the shard's state that the primary of epoch `epoch` had when it was asked to make
  // `node` the next owner.
  void ready(std::uint32_t shard, NodeId node, std::uint32_t epoch);
  // The owner `node` says what went through a shard since it leads it. Old news are ignored.
  void carries(NodeId node, const ShardLoad& load);
  const ShardLoads& loads() const { return loads_; }
  // As the last cuts have left it.
  const Shard& shard_at(std::size_t number) const;
  bool is_absent(NodeId node) const { return nodes_[node].left && !nodes_[node].known; }
  // All that are up have joined, and are told to start: heartbeats begin now. Until then a node is suspected
  // that has said nothing since date 0.
  void start(double now);
  // The date of the next suspicion.
  std::optional<double> next_suspicion() const;
  // The nodes that are suspected at `now` and were not before.
  std::vector<NodeId> suspect(double now);

  // Changes with every call above that changes the owners or the workers that take part.
  const View& view() const { return view_; }
  bool is_up(NodeId node) const { return nodes_[node].up; }

 private:
  struct Node {
    bool known = false;    // a message of it has arrived
    bool up = true;        // and is not suspected
    bool left = false;     // it leaves, or has left
    bool serving = false;  // it leaves, but still has shards
    bool retired = false;  // it has left for good
    std::uint32_t incarnation = 0;
    FailureDetector detector;
  };
  bool is_server(NodeId node) const { return node > 0 && node <= rules_.servers; }
  bool is_there(NodeId node) const { return nodes_[node].up || nodes_[node].serving; }
  bool is_watched(NodeId node) const;
  void down(NodeId node);
  void back(NodeId node, bool is_new);
  void settle();
  void fill(std::size_t shard);
  NodeId successor(std::size_t shard) const;
  std::vector<NodeId> others(std::size_t shard) const;
  std::optional<NodeId> home_of(std::size_t shard) const;
  std::optional<NodeId> next_server(std::size_t shard) const;
  void count_from(std::uint32_t lives);
  void move(Owner& owner, NodeId to, bool with_help) const;
  void share_load_with(NodeId joiner);
  void cut(const Cut& cut);

  Rules rules_;
  std::vector<Node> nodes_;
  std::shared_ptr<const Layout> plan_;
  std::vector<NodeId> given_;  // with rebalance = "load", by shard: the server that it was given to
  ShardLoads loads_;
  double now_ = 0;                 // date
  std::uint32_t least_epoch_ = 0;  // of what moves
  bool started_ = false;
  View view_;
};

}  // namespace psim
