// Events of servers and of the storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/event_column.hpp"

namespace psim {

enum class Reason : std::uint8_t { push, pull, decision, confirmation, state, view, date };
inline constexpr auto reason_names = enum_names<Reason>();
constexpr const auto& names_of(Reason) { return reason_names; }

struct Release {
  std::uint32_t shard = 0;
  NodeId worker = 0;
  std::int64_t pull = 0, clock = 0, version = 0;
  Reason reason = Reason::view;
  std::optional<std::uint64_t> message = {};
  std::optional<NodeId> sender = {};
  std::optional<std::int64_t> push = {}, view = {};
  static constexpr InChain in_chain = InChain::word;
  static constexpr const char* table = "release";
  static constexpr const char* about = "Server `node` answers a pull that it did not answer at once";
  static constexpr void fields(auto&& column) {
    column("shard", shard_meaning, &Release::shard);
    column("worker", "the node that pulls", &Release::worker);
    column("pull", "its number, as in `sent`; the answer has the same number", &Release::pull);
    column("clock", "the clock that the worker may start", &Release::clock);
    column("version", "of the answer", &Release::version);
    column(
        "reason",
        "why the server answers now. push: a worker's push arrived; pull: another worker pulled, so it "
        "pushes no more before a new version, or it has finished; decision: the first shard decided on an "
        "update; confirmation: a replica confirmed; state: the shard's state arrived, and this server owns "
        "it now; view: the scheduler sent a view; date: no other server has answered about the shard until "
        "this date, or an update's window or deadline is over",
        &Release::reason);
    column("message", "push, pull, decision, confirmation, state: the message's number in `sent`",
           &Release::message);
    column("sender", "of that message: a node", &Release::sender);
    column("push", "reason push: the push's number", &Release::push);
    column("view", "reason view: the view's number", &Release::view);
  }
};

enum class Outcome : std::uint8_t { applied, late, unused, duplicate, refused };
inline constexpr auto outcome_names = enum_names<Outcome>();
constexpr const auto& names_of(Outcome) { return outcome_names; }

struct PushOutcome {
  Outcome outcome = Outcome::applied;
  std::uint32_t shard = 0;
  NodeId worker = 0;
  std::int64_t push = 0, clock = 0, version = 0;
  std::optional<std::int64_t> staleness = {}, made_version = {};
  static constexpr const char* table = "push_outcome";
  static constexpr const char* about = "Server `node` applies or drops a push";
  static constexpr void fields(auto&& column) {
    column("outcome",
           "applied; late: it is dropped, because it is too late or too stale for the model; unused: the run "
           "ended before it was applied, or the shard went to another owner; duplicate: it had arrived "
           "before; refused: it is for another owner, or came too early, and is sent again",
           &PushOutcome::outcome);
    column("shard", shard_meaning, &PushOutcome::shard);
    column("worker", "a node", &PushOutcome::worker);
    column("push", push_meaning, &PushOutcome::push);
    column("clock", "the clock that it finishes", &PushOutcome::clock);
    column("version", "the version that it was computed on", &PushOutcome::version);
    column("staleness_updates", "applied: updates since that version", &PushOutcome::staleness);
    column("made_version", "applied: the version of the update that it is part of",
           &PushOutcome::made_version);
  }
};

struct ModelUpdate {
  std::optional<std::uint32_t> shard = {};
  std::int64_t version = 0;
  std::optional<std::uint64_t> weights_hash = {}, state_hash = {};
  static constexpr const char* table = "model_update";
  static constexpr const char* about =
      "Server `node` makes the next version of a shard; without servers, worker `node` makes the next "
      "version "
      "of its copy or its stage";
  static constexpr void fields(auto&& column) {
    column("shard", "NULL without servers", &ModelUpdate::shard);
    column("version", "the new version", &ModelUpdate::version);
    column("weights_hash", "hash of the weights, if there are replicas", &ModelUpdate::weights_hash);
    column("state_hash", "hash of everything that the next updates depend on, if there are replicas",
           &ModelUpdate::state_hash);
  }
};

struct Recount {
  std::uint32_t shard = 0;
  NodeId worker = 0;
  bool takes_part = true, is_awaited = true;
  std::int64_t applied = 0, arrived = 0, skipped_clocks = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "membership";
  static constexpr const char* about = "Server `node` restarts its count of a worker's pushes";
  static constexpr void fields(auto&& column) {
    column("shard", shard_meaning, &Recount::shard);
    column("worker", "a node", &Recount::worker);
    column("takes_part", "0: no update waits for its pushes", &Recount::takes_part);
    column("is_awaited", "0: it is back, but has not caught up yet", &Recount::is_awaited);
    column("applied_pushes", "number of pushes that count as applied or dropped", &Recount::applied);
    column("arrived_pushes", "number of pushes that count as arrived", &Recount::arrived);
    column("skipped_clocks", "number of clocks that passed while it was away", &Recount::skipped_clocks);
  }
};

struct Copy {
  std::uint32_t shard = 0;
  NodeId replica = 0;
  std::int64_t version = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "copy";
  static constexpr const char* about =
      "Server `node` knows that a replica has the whole shard; from now on it sends the changes";
  static constexpr void fields(auto&& column) {
    column("shard", shard_meaning, &Copy::shard);
    column("replica", "a node", &Copy::replica);
    column("version", "the owner's version", &Copy::version);
  }
};

struct Promotion {
  std::uint32_t shard = 0;
  std::int64_t epoch = 0, version = 0, updated_in = 0;
  std::optional<std::uint64_t> weights_hash = {}, state_hash = {};
  std::int64_t waiting_pushes = 0;
  static constexpr const char* table = "promotion";
  static constexpr const char* about = "Server `node` owns a shard from now on";
  static constexpr void fields(auto&& column) {
    column("shard", shard_meaning, &Promotion::shard);
    column("epoch", "of its ownership", &Promotion::epoch);
    column("version", "the first version of this owner", &Promotion::version);
    column("updated_in_epoch", "the epoch in which that version was made", &Promotion::updated_in);
    column("weights_hash", "as in `model_update`", &Promotion::weights_hash);
    column("state_hash", "as in `model_update`", &Promotion::state_hash);
    column("waiting_pushes", "number of unapplied pushes that came with the shard",
           &Promotion::waiting_pushes);
  }
};

struct Snapshot {
  std::uint32_t shard = 0;
  NodeId owner = 0;
  std::int64_t version = 0;
  static constexpr const char* table = "snapshot";
  static constexpr const char* about = "Storage `node` has written a shard to its disk";
  static constexpr void fields(auto&& column) {
    column("shard", shard_meaning, &Snapshot::shard);
    column("owner", "the node that sent it", &Snapshot::owner);
    column("version", "of the shard", &Snapshot::version);
  }
};

}  // namespace psim
