// What is recorded of who is there: the scheduler's views, and faults.
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
  static constexpr const char* about = "The scheduler takes a node for down";
  static constexpr void fields(auto&& column) {
    column("suspect", "a node", &Suspicion::suspect);
    column("view", "the newest one", &Suspicion::view);
  }
};

struct ViewChange {
  std::int64_t view = 0;
  static constexpr const char* table = "view_change";
  static constexpr const char* about =
      "The scheduler announces a new view: who owns what, and who takes part";
  static constexpr void fields(auto&& column) {
    column("view", "its number: `place` and `participant` have what it says", &ViewChange::view);
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
      "What a view, the first one too, says of a shard: one row for each node that may have it";
  static constexpr void fields(auto&& column) {
    column("view", "its number", &ShardPlace::view);
    column("shard", shard_meaning, &ShardPlace::shard);
    column("epoch", "of the shard's ownership", &ShardPlace::epoch);
    column("role",
           "owner; former: an owner before, which has not handed the shard over yet; replica; next: it is to "
           "own the shard as soon as it has it",
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
  static constexpr const char* about = "A view cuts a shard: its last values are a shard of their own";
  static constexpr void fields(auto&& column) {
    column("view", "its number", &ShardCut::view);
    column("shard", shard_meaning, &ShardCut::shard);
    column("new_shard", "the next free number", &ShardCut::part);
    column("epoch", "of the shard's ownership, that begins with the cut", &ShardCut::epoch);
    column("shard_values", "that the shard keeps", &ShardCut::values);
    column("new_values", "that the new one has", &ShardCut::part_values);
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
      "A view sends a shard to another server: of a joiner's or leaver's, or of one that is down";
  static constexpr void fields(auto&& column) {
    column("view", "its number", &ShardMove::view);
    column("shard", shard_meaning, &ShardMove::shard);
    column("from_server", "a node, which had it or was to have it", &ShardMove::from);
    column("to_server", "a node", &ShardMove::to);
    column("shard_values", "that the shard has", &ShardMove::values);
    column("load_per_s",
           "where loads decide: values pushed to the shard or pulled from it in a second, as heartbeats "
           "told, before the last server joined",
           &ShardMove::load);
  }
};

struct Participant {
  std::int64_t view = 0;
  NodeId worker = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "participant";
  static constexpr const char* about = "A worker takes part, as a view says";
  static constexpr void fields(auto&& column) {
    column("view", "its number", &Participant::view);
    column("worker", "a node", &Participant::worker);
  }
};

struct FaultChange {
  std::int64_t fault_table = 0;
  FaultKind kind = {};
  bool begins = true;
  std::optional<NodeId> target = {}, other_side = {};
  static constexpr const char* table = "fault";
  static constexpr const char* about = "A fault begins or ends; one row for each node that it happens to";
  static constexpr void fields(auto&& column) {
    column("fault_table", "its [[fault]] in the scenario, from 0", &FaultChange::fault_table);
    column("kind", "as in `psim explain fault`", &FaultChange::kind);
    column("begins", "0: it ends", &FaultChange::begins);
    column("target", "the node that it happens to; none: all, or no node", &FaultChange::target);
    column("other_side", "a node of the other side, where there are two", &FaultChange::other_side);
  }
};

struct SlowWorker {
  NodeId worker = 0;
  double seconds_per_sample = 0, median = 0;
  SlowAction action = SlowAction::flag;
  static constexpr const char* table = "slow_worker";
  static constexpr const char* about = "The scheduler finds that a worker is slow for long";
  static constexpr void fields(auto&& column) {
    column("worker", "a node", &SlowWorker::worker);
    column("seconds_per_sample", "mean over the window of its last clocks", &SlowWorker::seconds_per_sample);
    column("median", "of the same of the other workers", &SlowWorker::median);
    column("action", "flag; remove: it is asked to leave; replace: and a spare starts", &SlowWorker::action);
  }
};

}  // namespace psim
