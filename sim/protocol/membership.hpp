// Who is there and who owns what: the scheduler's part of a cluster whose nodes fail (the server manager of
// Li et al., OSDI 2014, section 4). It hears heartbeats, suspects nodes that it does not hear, and gives
// their shards to others. Pure: dates come from outside.
//
// Shards that move. Shards are cut once, by the placement over all servers that the scenario has; while a
// server is absent, the next one owns its shards. A shard is never cut while a run goes on: its version,
// its vector clock and its log would have to be cut with it, and two histories would have one past. The
// manager decides where each shard is to be, and an owner that is there hands it over in two phases (Li et
// al., OSDI 2014, section 4.5):
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

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

// Of one shard. A new primary is a new epoch: messages of other epochs are ignored, so that a former primary
// who does not know yet can do no harm.
struct Owner {
  NodeId primary = 0;
  std::uint32_t epoch = 0;
  std::vector<NodeId> replicas = {};
  // Former primaries that are still there, the last one first: each has handed over or is to. Where shards
  // move at once, that one may not have got the shard from the one before.
  std::vector<NodeId> from = {};
  NodeId next = 0;  // is to be the primary as soon as it has got what the primary has, which goes on serving
  bool was_primary(NodeId node) const { return std::ranges::find(from, node) != from.end(); }
};

struct View {
  std::int64_t number = 0;
  std::vector<Owner> owners;    // by shard
  std::vector<bool> workers;    // that take part
  std::uint64_t bytes() const;  // on the network
};

// What gets to the replicas: each update's sum of gradients, or each push as it comes in.
enum class ReplicateWhen : std::uint8_t { after_aggregation, every_push };
// Who sends it: the primary to them all, or each replica to the next one.
enum class ReplicationLayout : std::uint8_t { primary, chain };

struct ReplicationSpec {
  std::int64_t copies = 0;  // replicas of each shard
  ReplicateWhen when = ReplicateWhen::after_aggregation;
  ReplicationLayout layout = ReplicationLayout::primary;
  std::int64_t window = 0;  // a worker is answered when at most so many entries of the log, of those up to
                            // its last push, are not on all replicas yet; 0: synchronous
};

// When a node that was heard at some dates is suspected to be down.
enum class DetectorKind : std::uint8_t { timeout, phi_accrual };

struct DetectorSpec {
  DetectorKind kind = DetectorKind::timeout;
  double timeout = 2;    // timeout: seconds without a word; phi-accrual: of the first gap
  double threshold = 8;  // phi-accrual
};

class Detector {
 public:
  explicit Detector(DetectorSpec spec) : spec_(spec), suspect_at_(spec.timeout) {}
  void heard(double now);
  // From when on, if nothing is heard before. phi-accrual: when the probability that a live node is silent
  // for so long, under a normal distribution of the last gaps, falls below 10^-threshold (Hayashibara et al.,
  // SRDS 2004, equations 3 to 5).
  double suspect_at() const { return suspect_at_; }

 private:
  double longest_silence() const;

  DetectorSpec spec_;
  double last_ = 0;
  double suspect_at_;
  std::deque<double> gaps_;
};

class Manager {
 public:
  struct Options {
    std::uint32_t servers = 1, workers = 1;
    std::int64_t copies = 0;
    DetectorSpec detector = {};
    bool removes_workers = false;  // a worker that is suspected takes part no more
    bool takes_over = true;  // a shard without a copy goes to the next server; else its server is awaited
    bool rebalances = true;  // a server that comes, or comes back, gets the shards that are its own
    bool two_phase = true;   // a shard is copied before it changes its owner; else afterwards
    std::vector<NodeId> absent = {};  // at first
  };
  // `homes`: the server, from 0, that each shard is placed on.
  Manager(Options options, std::vector<std::uint32_t> homes);

  // A word from `node`, which has been started `incarnation` times before.
  void heard(NodeId node, std::uint32_t incarnation, double now);
  // Takes up a cluster again, after a crash of the last scheduler: `view` is the newest that any node knows,
  // `strangers` are up, but know none. Whoever was not heard is down. Numbers and epochs go on from where no
  // scheduler of fewer `lives` can have been, whatever it has told to nodes that are gone. Returns who is
  // down and was not in `view`.
  std::vector<NodeId> take_up(const View& view, const std::vector<NodeId>& strangers, std::uint32_t lives);
  // Likewise, when nobody knows any view: everything begins again.
  void begin_anew(std::uint32_t lives);
  // It says that it goes, or it has finished. A server serves until its shards are elsewhere.
  void leaves(NodeId node);
  // `node` has got what the primary of epoch `epoch` had of the shard when it was asked to be the next.
  void ready(std::uint32_t shard, NodeId node, std::uint32_t epoch);
  bool is_absent(NodeId node) const { return nodes_[node].left && !nodes_[node].known; }
  // When somebody is suspected next.
  std::optional<double> next_suspicion() const;
  // Who is suspected by now and was not before.
  std::vector<NodeId> suspect(double now);

  // Changes with every call above that changes who owns what or who takes part.
  const View& view() const { return view_; }
  bool is_up(NodeId node) const { return nodes_[node].up; }

 private:
  struct Node {
    bool known = false;    // it has been heard
    bool up = true;        // and is not suspected
    bool left = false;     // it goes, or is gone
    bool serving = false;  // it goes, but still has shards
    std::uint32_t incarnation = 0;
    Detector detector;
  };
  bool is_server(NodeId node) const { return node > 0 && node <= options_.servers; }
  bool is_there(NodeId node) const { return nodes_[node].up || nodes_[node].serving; }
  bool is_watched(NodeId node) const;
  void down(NodeId node);
  void back(NodeId node, bool is_new);
  void settle();
  void fill(Owner& owner) const;
  NodeId successor(std::size_t shard) const;
  std::optional<NodeId> next_server(NodeId after) const;
  void count_from(std::uint32_t lives);
  void move(Owner& owner, NodeId to, bool with_help) const;

  Options options_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> homes_;
  std::uint32_t least_epoch_ = 0;  // of what moves
  View view_;
};

}  // namespace psim
