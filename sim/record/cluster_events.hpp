// Events of membership: the scheduler's views, and faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/event_column.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/node_life.hpp"

namespace psim {

struct Suspicion {
  NodeId suspect = 0;
  std::int64_t view = 0;
  static constexpr const char* table = "suspicion";
  static constexpr const char* about = "The scheduler suspects that a node is down";
  static constexpr void fields(auto&& column) {
    column("suspect", "a node", &Suspicion::suspect);
    column("view", "the newest view", &Suspicion::view);
  }
};

struct ViewChange {
  std::int64_t view = 0;
  static constexpr const char* table = "view_change";
  static constexpr const char* about =
      "The scheduler announces a new view: who owns what, and who takes part";
  static constexpr void fields(auto&& column) {
    column("view", "its number; the tables `place` and `participant` hold its content", &ViewChange::view);
  }
};

enum class PlaceRole : std::uint8_t { owner, former, replica, next };
inline constexpr auto place_role_names = enum_names<PlaceRole>();
constexpr const auto& names_of(PlaceRole) { return place_role_names; }

struct ShardPlace {
  std::int64_t view = 0;
  std::uint32_t shard = 0, epoch = 0;
  PlaceRole role = PlaceRole::owner;
  NodeId holder = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "place";
  static constexpr const char* about =
      "A view (also the first) places a shard: one row for each node that may have the shard";
  static constexpr void fields(auto&& column) {
    column("view", "the number of the view", &ShardPlace::view);
    column("shard", shard_meaning, &ShardPlace::shard);
    column("epoch", "of the shard's ownership", &ShardPlace::epoch);
    column(
        "role",
        "owner; former: an earlier owner, which has not handed the shard over yet; replica; next: the next "
        "owner, as soon as it has the shard",
        &ShardPlace::role);
    column("holder", "a node", &ShardPlace::holder);
  }
};

struct ShardCut {
  std::int64_t view = 0;
  std::uint32_t shard = 0, part = 0, epoch = 0;
  std::int64_t values = 0, part_values = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "cut";
  static constexpr const char* about = "A view cuts a shard in two: its last values become a new shard";
  static constexpr void fields(auto&& column) {
    column("view", "the number of the view", &ShardCut::view);
    column("shard", shard_meaning, &ShardCut::shard);
    column("new_shard", "the next free number", &ShardCut::part);
    column("epoch", "of the shard's ownership; it begins with the cut", &ShardCut::epoch);
    column("shard_values", "number of values that the shard keeps", &ShardCut::values);
    column("new_values", "number of values of the new shard", &ShardCut::part_values);
  }
};

struct ShardMove {
  std::int64_t view = 0;
  std::uint32_t shard = 0;
  NodeId from = 0, to = 0;
  std::int64_t values = 0;
  std::optional<double> load = {};
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "move";
  static constexpr const char* about =
      "A view moves a shard to another server, because a server joins, leaves or is down";
  static constexpr void fields(auto&& column) {
    column("view", "the number of the view", &ShardMove::view);
    column("shard", shard_meaning, &ShardMove::shard);
    column("from_server", "a node, which had the shard or was to get it", &ShardMove::from);
    column("to_server", "a node", &ShardMove::to);
    column("shard_values", "number of values of the shard", &ShardMove::values);
    column("load_per_s",
           "if loads decide: values pushed to the shard or pulled from it per second, as reported by "
           "heartbeats, before the last server joined",
           &ShardMove::load);
  }
};

struct Participant {
  std::int64_t view = 0;
  NodeId worker = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "participant";
  static constexpr const char* about = "A view counts a worker as a participant";
  static constexpr void fields(auto&& column) {
    column("view", "the number of the view", &Participant::view);
    column("worker", "a node", &Participant::worker);
  }
};

struct FaultChange {
  std::int64_t fault_table = 0;
  FaultKind kind = {};
  bool begins = true;
  std::optional<NodeId> target = {}, other_side = {};
  static constexpr const char* table = "fault";
  static constexpr const char* about = "A fault begins or ends; one row for each node that it affects";
  static constexpr void fields(auto&& column) {
    column("fault_table", "the number of its [[fault]] in the scenario, from 0", &FaultChange::fault_table);
    column("kind", "as in `psim explain fault`", &FaultChange::kind);
    column("begins", "1: the fault begins; 0: it ends", &FaultChange::begins);
    column("target", "the affected node; NULL: all nodes, or none", &FaultChange::target);
    column("other_side", "a node of the other side, if the fault has two sides", &FaultChange::other_side);
  }
};

struct SlowWorker {
  NodeId worker = 0;
  double seconds_per_sample = 0, median = 0;
  SlowAction action = SlowAction::flag;
  static constexpr const char* table = "slow_worker";
  static constexpr const char* about = "The scheduler finds a worker slow";
  static constexpr void fields(auto&& column) {
    column("worker", "a node", &SlowWorker::worker);
    column("seconds_per_sample", "mean over the worker's last clocks (recovery.slow.window)",
           &SlowWorker::seconds_per_sample);
    column("median", "median of seconds_per_sample of the other workers", &SlowWorker::median);
    column("action", "flag; remove: the scheduler asks it to leave; replace: it leaves, and a spare starts",
           &SlowWorker::action);
  }
};

}  // namespace psim
