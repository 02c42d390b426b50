// Carries out the scenario's faults. A FaultTarget carries out faults of nodes; the network carries out
// faults of links and messages. Dated faults are entries of the agenda. A condition is checked when its
// quantity changes.
//
// Decisions:
// - Servers and workers keep their state only in memory, and lose it in every crash. Only the storage has a
//   disk: the last snapshot of each shard survives its crash unless the disk is lost.
// - A run ends when every worker has finished or is gone for good. A worker is gone for good when it has left
//   or is down, and no planned fault starts it again. A fault that waits for a condition is not planned. When
//   the last worker crashes for good, the run reports that it is stuck.
// - mtbf counts from the date when the node is well again, so faults of one table do not overlap. Faults that
//   repeat for ever stop when three turns of each have changed nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "model/model_spec.hpp"
#include "sim/cluster/agenda.hpp"
#include "sim/cluster/link_faults.hpp"
#include "sim/cluster/network.hpp"
#include "sim/record/recorder.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

// The dates of a fault: the turns of one [[fault]] table. Pure functions of scenario and seed, without
// SimGrid.

// One occurrence of a fault. `end`: when its window ends or a crashed node restarts; infinite: never.
struct FaultTurn {
  double begin = 0;
  double end = HUGE_VAL;
  bool operator==(const FaultTurn&) const = default;
};

class FaultTurns {
 public:
  // `table`: index among the scenario's faults. `node`: the node of these turns. It matters only with `mtbf`,
  // which draws failures for every node separately.
  FaultTurns(FaultSpec spec, std::uint64_t seed, std::uint64_t table, std::uint32_t node);

  // The turns in order; none after the last turn. A fault that waits for a condition has no turns.
  std::optional<FaultTurn> next();
  // Whether the turns never end.
  bool for_ever() const { return spec_.every || spec_.mtbf; }

  // A turn that begins now.
  static FaultTurn from(const FaultSpec& spec, double now);

 private:
  FaultSpec spec_;
  std::uint64_t seed_, table_;
  std::uint32_t node_;
  std::uint64_t turn_ = 0;
  double well_ = 0;  // mtbf: date of the node's last recovery
};

class FaultPlan {
 public:
  FaultPlan(const Scenario& scenario, Network& network, Recorder& recorder, Agenda& agenda,
            FaultTarget& target);

  // Once, before the simulation runs.
  // `is_quiet`: only faults and other entries of the agenda can still cause events.
  void start(std::function<bool()> is_quiet);

  // For conditions.
  void on_update(std::int64_t updates) {
    if (!conditions_.empty()) check(FaultCondition::Quantity::updates, 0, static_cast<double>(updates));
  }
  void on_evaluation(const Evaluation& evaluation);
  void on_clock(NodeId worker, std::int64_t clock) {
    if (!conditions_.empty()) check(FaultCondition::Quantity::clock, worker, static_cast<double>(clock));
  }
  // Whether a condition depends on evaluations, so that their results are needed at once.
  bool waits_for_evaluations() const;

  // Whether the start or end of a planned fault may still change something. A watch for hangs must wait for
  // it. Faults that repeat for ever do not count.
  bool once_to_come() const { return pending_ > 0; }
  // Date of the last start or end of such a fault. Events that it prevented may still come.
  double last_once() const { return last_once_; }
  // Whether a planned fault, without a condition, starts the node again.
  bool comes_back(NodeId node) const { return starts_to_come_[node] > 0; }
  // Seconds in which each fault that repeats for ever has several turns, and in which a node sends a request
  // many times, if a fault loses messages at random. 0 without such faults.
  double some_turns() const;
  // The number of dates so far at which a fault began.
  std::int64_t turns() const { return turns_; }
  // Whether each fault has happened and had an effect so far.
  std::vector<FaultUse> uses() const;

 private:
  // Turns of a table for one node, or for all its nodes together.
  struct Unit {
    std::size_t table;
    std::optional<NodeId> node;
    FaultTurns turns;
    std::uint64_t progress = 0;  // events other than faults when its last turn began
    int idle = 0;                // turns in a row without new events
  };
  struct Condition {
    std::size_t table;
    FaultCondition condition;
    NodeId node;
    bool fired = false;
  };
  const FaultSpec& spec(std::size_t table) const { return scenario_.faults[table]; }
  void plan(std::size_t unit);
  bool gives_up(Unit& unit);
  void passes();
  void begin(std::size_t table, std::optional<NodeId> node, const FaultTurn& turn, bool counts);
  void end(std::size_t table, std::optional<NodeId> node);
  bool starts_nodes(std::size_t table) const;
  void expect_starts(std::size_t table, std::optional<NodeId> node, int change);
  void act(std::size_t table, std::optional<NodeId> node, bool begins);
  bool act_on(std::size_t table, NodeId node, bool begins);
  std::map<NodeId, std::int64_t> rows_;  // by target: the last recorded event
  void record(std::size_t table, std::optional<NodeId> node, bool begins);
  double product(bool FaultKindRow::*what, NodeId node) const;
  void check(FaultCondition::Quantity quantity, NodeId node, double value);
  std::vector<NodeId> nodes_of(std::size_t table, std::optional<NodeId> node) const;

  const Scenario& scenario_;
  Network& network_;
  Recorder& recorder_;
  Agenda& agenda_;
  FaultTarget& target_;
  std::function<bool()> is_quiet_;
  LinkFaults links_;
  std::vector<Unit> units_;
  std::vector<Condition> conditions_;
  std::vector<FaultUse> uses_;            // by table; for message faults, links_ knows `mattered`
  std::vector<std::vector<int>> active_;  // by table and node: active slow and degrade faults
  std::vector<int> starts_to_come_;       // by node: planned starts
  std::size_t pending_ = 0;               // turns of faults that do not repeat, and their ends
  double last_once_ = 0;                  // date of the last such turn or end
  bool given_up_ = false;                 // faults that repeat for ever have stopped
  std::uint64_t recorded_ = 0;            // recorded events of faults
  std::int64_t turns_ = 0;
  double last_turn_ = -1;  // date
};

}  // namespace psim
