// Which nodes are alive and which server owns which shard: the scheduler's part in a cluster whose nodes fail
// (the server manager of Li et al., OSDI 2014, section 4). It receives heartbeats, suspects silent nodes, and
// gives their shards to others. Pure: dates come from outside.
//
// The place of shards. The plan cuts the key space by the placement over all servers of the scenario. While a
// server is absent, the next one owns its shards; on a ring, each shard has its own next server. A server
// that joins or returns gets shards according to `rebalance`: none, those of the placement, or a share of the
// load. Owners report with every heartbeat how many values went through each of their shards; rebalance.hpp
// takes from the servers with the highest loads. If a whole shard is too much, it is cut.
//
// Shards that are cut. The view lists all cuts since the plan. A cut begins a new epoch for both parts, with
// the present owner and the present replicas for both. A node that hears of a cut cuts each of its states
// of that shard, as owner or as copy. Both parts have the version, the clocks and the place in the log of the
// whole shard. Nothing else is special: for all other nodes a cut is a change of owner. The previous owner,
// if alive, leads the new epoch at once, because no other epoch came between; if it is gone, the next owners
// find the parts where they would have found the whole. Entries of the old log do not fit the parts, so the
// owner sends replicas its state again. The histories of both parts have a common past, so no node can join
// the parts again. A scheduler that takes over after a crash may know only a view without the cut, and would
// need to join them. So psim refuses a crash of the scheduler where loads decide which shards move, because
// only then the scheduler cuts shards.
//
// Shards that move. The scheduler decides the place of each shard, and a live owner hands its shard over in
// two phases (Li et al., OSDI 2014, section 4.5):
// - Phase 1. The view names the next owner, and nothing else changes. The owner sends it the shard's state
//   and then its log, as to a replica, but no answer waits for it. When the next owner has all entries that
//   were in the log when the state arrived, the owner tells the scheduler: ready.
// - Phase 2. A new view, with a new epoch, makes it the owner. It asks the previous owner for the entries
//   that were on their way. Requests that come earlier wait.
// So workers wait for a view, a question and a few entries. With hand_over = "stop-and-copy" the second phase
// comes first, and workers wait for the state. If the owner crashes in the first phase and the shard has no
// replica, the next owner continues from its own state, as a replica would. A server that leaves says so in
// every message that replaces a heartbeat, until the end. So neither a lost message nor an absent scheduler
// can keep it in the cluster. It may be started again only when the next owner of each of its shards has
// received the shard, or is down itself. A server that leads again, and did not hear that another server led
// meanwhile, keeps its state as a copy, because it may be the only one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/scheduler/rebalance.hpp"

namespace psim {

// When a node is suspected to be down, given the dates of its messages. Pure.
enum class DetectorKind : std::uint8_t { timeout, phi_accrual };

struct DetectorSpec {
  DetectorKind kind = DetectorKind::timeout;
  double timeout = 2;    // timeout: seconds of silence; phi-accrual: for the first gap
  double threshold = 8;  // phi-accrual
};

class FailureDetector {
 public:
  explicit FailureDetector(DetectorSpec spec);
  void heard(double now);
  // The date of the suspicion, if no message comes before it. phi-accrual: the date when the probability of
  // such a long silence of a live node, under a normal distribution of the last gaps, falls below
  // 10^-threshold (Hayashibara et al., SRDS 2004, equations 3 to 5).
  double suspect_at() const { return suspect_at_; }

 private:
  double longest_silence() const;

  DetectorSpec spec_;
  double deviations_;  // phi-accrual
  double last_ = 0;
  double suspect_at_;
  std::deque<double> gaps_;
};

// How many values go through each shard, as its owners report. Pure.
class ShardLoads {
 public:
  explicit ShardLoads(std::size_t shards) : shards_(shards) {}

  // Begins to count loads at this date.
  void begin(double now) { since_ = now; }
  // An owner reports how many values went through its shard since it became the owner. Old news is ignored.
  void add(const ShardLoad& load);
  // Takes the rates from the last measurement until now; without news of that time all rates stay.
  void measure(double now);
  bool are_known() const;
  // Values per second that went through the shard before the last measurement.
  double rate(std::size_t shard) const { return shards_[shard].rate; }
  // The shard is cut; its upper part, the new last shard, has this share of its values.
  void cut(std::size_t shard, double share);

 private:
  struct Load {
    std::uint32_t epoch = 0;
    std::uint64_t told = 0, values = 0;  // by the owner of that epoch; in total
    double rate = 0;
  };
  std::vector<Load> shards_;
  double since_ = 0;  // date of the last measurement
};

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
  // `keys`: the shards of the plan, and the server, from 0, on which each is placed.
  Membership(Rules rules, const KeySpace& keys);

  // A message from `node`, which has been started `incarnation` times before.
  void heard(NodeId node, std::uint32_t incarnation, double now);
  // Takes over a running cluster after a crash of the last scheduler. `view` is the newest view that any node
  // knows; `strangers` are alive but know no view. All other nodes that were not heard count as down. Numbers
  // and epochs continue above those of any scheduler of fewer `lives`, even if it told them only to nodes
  // that are gone. Returns the nodes that took part in `view` and are now down, except those that have left.
  std::vector<NodeId> take_up(const View& view, const std::vector<NodeId>& strangers, std::uint32_t lives);
  // Takes over if no node knows a view: the cluster starts again.
  void begin_anew(std::uint32_t lives);
  // The node announces that it leaves, or it has finished. A server serves until its shards are elsewhere.
  void leaves(NodeId node);
  // These workers and shards are gone for good, because their job has ended; without `shards` the shards
  // stay.
  void retire(std::vector<NodeId> workers, std::uint32_t first_shard, std::uint32_t shards);
  // `node` has received the shard's state that the primary of epoch `epoch` had when `node` became the next
  // owner.
  void ready(std::uint32_t shard, NodeId node, std::uint32_t epoch);
  // The owner `node` reports how many values went through a shard since it became the owner. Old news is
  // ignored.
  void carries(NodeId node, const ShardLoad& load);
  const ShardLoads& loads() const { return loads_; }
  // The shard after the last cuts.
  const Shard& shard_at(std::size_t number) const;
  bool is_absent(NodeId node) const { return nodes_[node].left && !nodes_[node].known; }
  // All live nodes have joined and are told to start: heartbeats begin now. Until then a node without a
  // message since date 0 is suspected.
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
    bool known = false;    // a message from it has arrived
    bool up = true;        // not suspected
    bool left = false;     // it leaves or has left
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
  std::uint32_t least_epoch_ = 0;  // of shards that move
  bool started_ = false;
  View view_;
};

}  // namespace psim
