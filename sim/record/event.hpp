// One thing that happened: when, at which node, and what, which is one of the types below. Everything that a
// run reports, its digest included, is a projection of the sequence of these.
//
// Each type declares its table of run.db: a name, a sentence, and its fields as columns. The digest, the
// table, its rows, the line for people and docs/tables.md are all made of that declaration.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

// A column: its name, with the unit where it has one; what it says; and the member that holds it.
template <class Member>
struct Field {
  std::string_view name, meaning;
  Member member;
};
template <class Member>
Field(const char*, const char*, Member) -> Field<Member>;

inline constexpr auto shard_meaning = "of the parameters";
inline constexpr auto push_meaning = "which one: the worker's pushes to this shard count from 0";

// ---- Messages

// A message that leaves its sender, arrives, or will never arrive.
struct Movement : MessageFacts {
  std::uint64_t message = 0;  // its number: that of the event of its sending
  NodeId from = 0, to = 0;
  std::optional<std::uint32_t> shard = {}, epoch = {};
  std::uint64_t bytes = 0;  // on the network
  // The other end, for `node` at one of them.
  NodeId other(NodeId node) const { return node == from ? to : from; }
};

struct Sent : Movement {
  static constexpr const char* table = "sent";
  static constexpr const char* about = "`node` sends a message; `number` names it in all tables";
  static constexpr auto fields() {
    return std::tuple(
        Field{"kind", "as in `psim explain messages`", &Sent::kind}, Field{"receiver", "a node", &Sent::to},
        Field{"sent_bytes", "header included", &Sent::bytes},
        Field{"shard", "that it is about", &Sent::shard},
        Field{"epoch", "of the shard's ownership, as far as the sender knows", &Sent::epoch},
        Field{"clock", "that it starts, finishes or is about", &Sent::clock},
        Field{"version", "of the shard: what it carries, was computed on, or asks about", &Sent::version},
        Field{"above", "pull: only a version above this one will do", &Sent::above},
        Field{"pull", "pull and its answer: the worker's pulls of the shard count from 1", &Sent::pull},
        Field{"push", "push and its acknowledgement: the worker's pushes to the shard count from 0",
              &Sent::push},
        Field{"pushes_before", "pull: the worker's pushes to the shard until then", &Sent::pushes_before},
        Field{"life", "how often the sender was started before", &Sent::life},
        Field{"view", "that it carries, or the last one that the sender knows", &Sent::view},
        Field{"entries", "of the shard's log, that the sender has; of an entry: those before it",
              &Sent::entries},
        Field{"log_epoch", "whose owner wrote that log", &Sent::log_epoch},
        Field{"part", "which round of an all-reduce, micro-batch of a pipeline, or batch of a database",
              &Sent::part},
        Field{"samples", "that it assigns, or gives to another worker", &Sent::samples},
        Field{"samples_before", "assign: those of the workers before", &Sent::samples_before},
        Field{"pieces", "idle: pieces of the receiver's batch that are computed", &Sent::pieces},
        Field{"next_owner", "ready: the node that has the shard now as well", &Sent::next_owner},
        Field{"carried_values", "numbers of a gradient or of weights", &Sent::values},
        Field{"carried_keys", "of values, or of samples", &Sent::keys},
        Field{"carried_ids", "names of pushes and of workers", &Sent::ids});
  }
};

struct Received : Movement {
  static constexpr const char* table = "received";
  static constexpr const char* about = "a message arrives at `node`";
  static constexpr auto fields() {
    return std::tuple(Field{"message", "its number in `sent`", &Received::message});
  }
};

struct Lost : Movement {
  static constexpr const char* table = "lost";
  static constexpr const char* about =
      "a message of `node` will not arrive: a fault took it, or the run ended first";
  static constexpr auto fields() {
    return std::tuple(Field{"message", "its number in `sent`", &Lost::message});
  }
};

struct Repetition {
  NodeId receiver = 0;
  MessageKind kind = MessageKind::pull;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> pull = {}, push = {};
  static constexpr const char* table = "repetition";
  static constexpr const char* about = "worker `node` has had no answer, and sends a request again";
  static constexpr auto fields() {
    return std::tuple(Field{"receiver", "a node", &Repetition::receiver},
                      Field{"kind", "of the message", &Repetition::kind},
                      Field{"shard", shard_meaning, &Repetition::shard},
                      Field{"pull", "its number, as in `sent`", &Repetition::pull},
                      Field{"push", "its number, as in `sent`", &Repetition::push});
  }
};

// ---- Workers

enum class Work : std::uint8_t { step, filter, piece };
inline constexpr auto work_names = std::to_array<std::string_view>({"step", "filter", "piece"});
constexpr const auto& names_of(Work) { return work_names; }

enum class ComputePhase : std::uint8_t { begun, paused, resumed, ended, cancelled, killed };
inline constexpr auto phase_names =
    std::to_array<std::string_view>({"begun", "paused", "resumed", "ended", "cancelled", "killed"});
constexpr const auto& names_of(ComputePhase) { return phase_names; }

struct Computation {
  ComputePhase phase = ComputePhase::begun;
  Work work = Work::step;
  std::optional<std::int64_t> clock = {}, version = {};
  std::optional<std::int64_t> samples = {};
  std::int64_t part = 0, parts = 1;
  bool is_first() const { return part == 0; }
  bool is_last() const { return part + 1 == parts; }
  static constexpr const char* table = "computation";
  static constexpr const char* about = "worker `node` begins to compute, or stops";
  static constexpr auto fields() {
    return std::tuple(
        Field{"phase",
              "begun; paused: it waits for weights that it needs now; resumed; ended; cancelled: a newer "
              "version "
              "is there; killed: the worker crashed, whether it computed or not",
              &Computation::phase},
        Field{"work",
              "step: of its own clock; filter: what it sends; piece: samples of another worker's batch",
              &Computation::work},
        Field{"clock", "that it computes", &Computation::clock},
        Field{"version", "of the first shard's weights", &Computation::version},
        Field{"samples", "whose gradients are complete when it ends", &Computation::samples},
        Field{"part", "of the step, from 0: micro-batches forward and backward in a pipeline",
              &Computation::part},
        Field{"parts", "of the step", &Computation::parts});
  }
};

struct Finish {
  std::int64_t clock = 0;
  bool leaves = false;
  static constexpr const char* table = "finish";
  static constexpr const char* about = "worker `node` is through";
  static constexpr auto fields() {
    return std::tuple(Field{"clock", "that it has come to", &Finish::clock},
                      Field{"leaves", "1: it goes before its last clock", &Finish::leaves});
  }
};

struct Acknowledgement {
  NodeId server = 0;
  std::uint32_t shard = 0, epoch = 0;
  std::int64_t pushes = 0;
  static constexpr const char* table = "acknowledgement";
  static constexpr const char* about =
      "worker `node` hears that pushes are safe: no single crash undoes them";
  static constexpr auto fields() {
    return std::tuple(Field{"server", "the node that says so", &Acknowledgement::server},
                      Field{"shard", shard_meaning, &Acknowledgement::shard},
                      Field{"epoch", "in which the server owns the shard", &Acknowledgement::epoch},
                      Field{"pushes", "its first so many to this shard", &Acknowledgement::pushes});
  }
};

struct Prediction {
  std::int64_t request = 0, version = 0, staleness = 0;
  static constexpr const char* table = "prediction";
  static constexpr const char* about = "inference node `node` answers a request";
  static constexpr auto fields() {
    return std::tuple(Field{"request", "of this node, from 0", &Prediction::request},
                      Field{"version", "of the weights that it uses", &Prediction::version},
                      Field{"staleness_updates", "that all servers had applied beyond that version",
                            &Prediction::staleness});
  }
};

// ---- Servers

enum class Outcome : std::uint8_t { applied, late, unused, duplicate, refused };
inline constexpr auto outcome_names =
    std::to_array<std::string_view>({"applied", "late", "unused", "duplicate", "refused"});
constexpr const auto& names_of(Outcome) { return outcome_names; }

struct PushOutcome {
  Outcome outcome = Outcome::applied;
  std::uint32_t shard = 0;
  NodeId worker = 0;
  std::int64_t push = 0, clock = 0, version = 0;
  std::optional<std::int64_t> staleness = {}, made_version = {};
  static constexpr const char* table = "push_outcome";
  static constexpr const char* about = "what server `node` does with a push";
  static constexpr auto fields() {
    return std::tuple(
        Field{"outcome",
              "applied; late: it is dropped, the model has no use for it any more; unused: the run ended "
              "before "
              "it was applied, or the shard went to another owner; duplicate: it has been here before; "
              "refused: "
              "it is for another owner, or came too early, and will come again",
              &PushOutcome::outcome},
        Field{"shard", shard_meaning, &PushOutcome::shard}, Field{"worker", "a node", &PushOutcome::worker},
        Field{"push", push_meaning, &PushOutcome::push},
        Field{"clock", "that it finishes", &PushOutcome::clock},
        Field{"version", "that it was computed on", &PushOutcome::version},
        Field{"staleness_updates", "applied: updates since that version", &PushOutcome::staleness},
        Field{"made_version", "applied: the version of the update that it is part of",
              &PushOutcome::made_version});
  }
};

struct ModelUpdate {
  std::optional<std::uint32_t> shard = {};
  std::int64_t version = 0;
  std::optional<std::uint64_t> weights_hash = {}, state_hash = {};
  static constexpr const char* table = "model_update";
  static constexpr const char* about =
      "server `node` makes the next version of a shard; without servers, worker `node` of its copy or its "
      "stage";
  static constexpr auto fields() {
    return std::tuple(
        Field{"shard", "none without servers", &ModelUpdate::shard},
        Field{"version", "that it has reached", &ModelUpdate::version},
        Field{"weights_hash", "where there are replicas", &ModelUpdate::weights_hash},
        Field{"state_hash", "likewise, of all that the next updates depend on", &ModelUpdate::state_hash});
  }
};

struct Membership {
  std::uint32_t shard = 0;
  NodeId worker = 0;
  bool takes_part = true, is_awaited = true;
  std::int64_t applied = 0, arrived = 0, skipped_clocks = 0;
  static constexpr const char* table = "membership";
  static constexpr const char* about = "server `node` counts a worker's pushes anew";
  static constexpr auto fields() {
    return std::tuple(
        Field{"shard", shard_meaning, &Membership::shard}, Field{"worker", "a node", &Membership::worker},
        Field{"takes_part", "0: nobody waits for it", &Membership::takes_part},
        Field{"is_awaited", "0: it is back, and has not caught up yet", &Membership::is_awaited},
        Field{"applied_pushes", "that count as applied or dropped", &Membership::applied},
        Field{"arrived_pushes", "that count as arrived", &Membership::arrived},
        Field{"skipped_clocks", "that went by while it was away", &Membership::skipped_clocks});
  }
};

struct Copy {
  std::uint32_t shard = 0;
  NodeId replica = 0;
  std::int64_t version = 0;
  static constexpr const char* table = "copy";
  static constexpr const char* about =
      "server `node` knows that a replica has the whole shard; it is sent all that comes after";
  static constexpr auto fields() {
    return std::tuple(Field{"shard", shard_meaning, &Copy::shard}, Field{"replica", "a node", &Copy::replica},
                      Field{"version", "that the owner has", &Copy::version});
  }
};

struct Promotion {
  std::uint32_t shard = 0;
  std::int64_t epoch = 0, version = 0, updated_in = 0;
  std::optional<std::uint64_t> weights_hash = {}, state_hash = {};
  std::int64_t waiting_pushes = 0;
  static constexpr const char* table = "promotion";
  static constexpr const char* about = "server `node` owns a shard from now on";
  static constexpr auto fields() {
    return std::tuple(Field{"shard", shard_meaning, &Promotion::shard},
                      Field{"epoch", "of its ownership", &Promotion::epoch},
                      Field{"version", "that it begins with", &Promotion::version},
                      Field{"updated_in_epoch", "in which that version was made", &Promotion::updated_in},
                      Field{"weights_hash", "as in `model_update`", &Promotion::weights_hash},
                      Field{"state_hash", "likewise", &Promotion::state_hash},
                      Field{"waiting_pushes", "that came with the shard", &Promotion::waiting_pushes});
  }
};

struct Snapshot {
  std::uint32_t shard = 0;
  NodeId owner = 0;
  std::int64_t version = 0;
  static constexpr const char* table = "snapshot";
  static constexpr const char* about = "storage `node` has written a shard to its disk";
  static constexpr auto fields() {
    return std::tuple(Field{"shard", shard_meaning, &Snapshot::shard},
                      Field{"owner", "the node that sent it", &Snapshot::owner},
                      Field{"version", "of the shard", &Snapshot::version});
  }
};

// ---- Who is there

struct Suspicion {
  NodeId suspect = 0;
  std::int64_t view = 0;
  static constexpr const char* table = "suspicion";
  static constexpr const char* about = "the scheduler takes a node for down";
  static constexpr auto fields() {
    return std::tuple(Field{"suspect", "a node", &Suspicion::suspect},
                      Field{"view", "the newest one", &Suspicion::view});
  }
};

struct ViewChange {
  std::int64_t view = 0;
  static constexpr const char* table = "view_change";
  static constexpr const char* about =
      "the scheduler announces a new view: who owns what, and who takes part";
  static constexpr auto fields() {
    return std::tuple(Field{"view", "its number, from 0", &ViewChange::view});
  }
};

struct FaultChange {
  std::int64_t fault_table = 0;
  FaultKind kind = {};
  bool begins = true;
  std::optional<NodeId> target = {}, other_side = {};
  static constexpr const char* table = "fault";
  static constexpr const char* about = "a fault begins or ends; one row for each node that it happens to";
  static constexpr auto fields() {
    return std::tuple(
        Field{"fault_table", "its [[fault]] in the scenario, from 0", &FaultChange::fault_table},
        Field{"kind", "as in `psim explain fault`", &FaultChange::kind},
        Field{"begins", "0: it ends", &FaultChange::begins},
        Field{"target", "the node that it happens to; none: all, or no node", &FaultChange::target},
        Field{"other_side", "a node of the other side, where there are two", &FaultChange::other_side});
  }
};

using Subject = std::variant<Sent, Received, Lost, Repetition, Computation, Finish, Acknowledgement,
                             Prediction, PushOutcome, ModelUpdate, Membership, Copy, Promotion, Snapshot,
                             Suspicion, ViewChange, FaultChange>;

struct Event {
  double at = 0;    // simulated seconds
  NodeId node = 0;  // that it happens at; of a fault the scheduler, whoever it happens to
  Subject what = {};

  template <class T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};

// A 64-bit hash of every declared field, the same on every machine of one byte order.
std::uint64_t hash_of(const Event& event);

// One line for people: the table, and its columns that there are.
std::string to_string(const Event& event);

// Whoever wants to see events. Observers cannot steer: they get a const reference and return nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event, std::uint64_t hash) = 0;
};

}  // namespace psim
