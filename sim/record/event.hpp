// An event: its date, its node, and its content, which has one of the types below. Everything that a run
// reports, including its digest, is a projection of the sequence of events.
//
// Each type declares its table of run.db: a name, a sentence, and its fields as columns. The digest, the
// table, its rows, the printed line and docs/tables.md all follow from that declaration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/enum_names.hpp"
#include "sim/protocol/cause.hpp"
#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/node_life.hpp"

namespace psim {

// How a type of event declares its columns.

// A column: its name, with a unit if it has one; its meaning; and the member that holds its value.
template <class Member>
struct Field {
  std::string_view name, meaning;
  Member member;
};
template <class Member>
Field(const char*, const char*, Member) -> Field<Member>;

// The place of an event in the cause chain of its actor (event.hpp). The default is step.
enum class InChain : std::uint8_t {
  step,   // the cause of the actor's next event
  word,   // has a cause, and is not a cause
  detail  // adds to another event of the same date
};
template <class T>
constexpr InChain in_chain() {
  if constexpr (requires { T::in_chain; }) return T::in_chain;
  else return InChain::step;
}

inline constexpr auto shard_meaning = "the number of the shard";
inline constexpr auto push_meaning = "the number of the push: a worker's pushes to a shard count from 0";

// The causes of an actor's events. The cause of an event is the actor's last event, or the message, timer or
// result that the actor took since, whichever is later.
class CauseChain {
 public:
  const Cause& cause() const { return cause_; }
  // The actor has recorded this event.
  void did(double now, std::int64_t event) {
    goes_on(now, {.event = event});
    own_ = event;
  }
  // From `now` on, `cause` is the cause of the next event.
  void goes_on(double now, const Cause& cause) {
    cause_ = cause;
    at_ = now;
  }
  // The actor takes a message, timer or result that has been ready since `at`. That is the next cause, unless
  // the actor was still busy at `at`. If its work began or ended at `at`, the later event counts.
  void takes(double at, const Cause& cause) {
    const bool is_later = at > at_ || (at == at_ && (busy_until_ < at || cause.event > cause_.event));
    if (cause.event < 0 || !is_later) return;
    needs(std::exchange(own_, -1));  // the next event needs it once
    goes_on(at, cause);
    busy_until_ = -1;
  }
  // The actor begins work that takes time.
  void works_from(double now) { busy_until_ = now; }
  // The actor has been busy until `now`.
  void spends(double now, Spent spent) {
    if (now > at_) busy_until_ = now;
    cause_.spent = spent;
    at_ = now;
  }

  // The next event needs this event, too.
  void needs(std::int64_t event) {
    if (event >= 0 && (needs_.empty() || needs_.back().event != event)) needs_.push_back({.event = event});
  }
  void needs_nothing() { needs_.clear(); }
  Dependencies take_needs() { return std::exchange(needs_, {}); }

 private:
  Cause cause_;
  double at_ = 0;           // since this date
  double busy_until_ = -1;  // the actor worked at this date, or began to
  std::int64_t own_ = -1;   // the last event that this actor recorded itself
  Dependencies needs_;
};

// Events of membership: the scheduler's views, and faults.
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

// Events of messages.
struct Sent : MessageFacts {
  NodeId from = 0, to = 0;
  std::optional<std::uint32_t> shard = {}, epoch = {};
  std::uint64_t bytes = 0;  // on the network
  static constexpr InChain in_chain = InChain::word;
  static constexpr const char* table = "sent";
  static constexpr const char* about = "`node` sends a message; `number` names it in all tables";
  static constexpr void fields(auto&& column) {
    column("kind", "of the message", &Sent::kind);
    column("receiver", "a node", &Sent::to);
    column("sent_bytes", "bytes on the network, header included", &Sent::bytes);
    column("shard", "the shard that the message is about", &Sent::shard);
    column("epoch", "of the shard's ownership, as far as the sender knows", &Sent::epoch);
    column("clock", "the clock that the message starts, finishes or is about", &Sent::clock);
    column("version", "version of the shard that the message carries, was computed on, or asks about",
           &Sent::version);
    column("above", "pull: the answer needs a version above this one", &Sent::above);
    column("pull", "pull and its answer: the number of the worker's pull of the shard, from 1", &Sent::pull);
    column("push", "push and its acknowledgement: the number of the worker's push to the shard, from 0",
           &Sent::push);
    column("pushes_before", "pull: number of the worker's pushes to the shard before it",
           &Sent::pushes_before);
    column("life", "number of earlier starts of the sender", &Sent::life);
    column("view", "the view that the message carries, or the last view that the sender knows", &Sent::view);
    column("entries",
           "number of entries of the shard's log that the sender has; for an entry: entries before it",
           &Sent::entries);
    column("log_epoch", "the epoch whose owner wrote that log", &Sent::log_epoch);
    column("part",
           "number of the all-reduce's round, the pipeline's micro-batch, the database's batch, the batch's "
           "piece, the request for samples to hold, or the decision about work",
           &Sent::part);
    column("samples", "number of samples that the message assigns, or gives to another worker",
           &Sent::samples);
    column("samples_before", "assign: number of samples of the workers before", &Sent::samples_before);
    column("pieces", "gradient: number of pieces of the receiver's batch that it covers", &Sent::pieces);
    column("next_owner", "ready: the node that now has the shard, too", &Sent::next_owner);
    column("carried_values", "how many numbers of a gradient or of weights it carries", &Sent::values);
    column("carried_keys", "how many keys of values, or of samples, it carries", &Sent::keys);
    column("carried_ids", "how many names of pushes and of workers it carries", &Sent::ids);
  }
};

// An event of a message that was sent before. Only the message's number is a column: the row in `sent` has
// the rest.
struct Movement {
  std::uint64_t message = 0;  // the number of its `Sent` event
  MessageKind kind = MessageKind::join;
  NodeId from = 0, to = 0;
  std::uint64_t bytes = 0;
};

struct Received : Movement {
  static constexpr const char* table = "received";
  static constexpr const char* about = "A message arrives at `node`";
  static constexpr void fields(auto&& column) {
    column("message", "its number in `sent`", &Received::message);
  }
};

struct Lost : Movement {
  static constexpr InChain in_chain = InChain::word;
  static constexpr const char* table = "lost";
  static constexpr const char* about =
      "A message of `node` is lost: a fault took it, or the run ended before it arrived";
  static constexpr void fields(auto&& column) { column("message", "its number in `sent`", &Lost::message); }
};

struct Repetition {
  NodeId receiver = 0;
  MessageKind kind = MessageKind::pull;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> pull = {}, push = {};
  static constexpr const char* table = "repetition";
  static constexpr const char* about = "Worker `node` sends a request again, because no answer came";
  static constexpr void fields(auto&& column) {
    column("receiver", "a node", &Repetition::receiver);
    column("kind", "of the message", &Repetition::kind);
    column("shard", shard_meaning, &Repetition::shard);
    column("pull", "its number, as in `sent`", &Repetition::pull);
    column("push", "its number, as in `sent`", &Repetition::push);
  }
};

// Events of servers and of the storage.
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
        "this date, or the time of an update is over",
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

// Events of tasks.
enum class TaskPhase : std::uint8_t { given, done };
inline constexpr auto task_phase_names = enum_names<TaskPhase>();
constexpr const auto& names_of(TaskPhase) { return task_phase_names; }

struct TaskChange {
  TaskPhase phase = TaskPhase::given;
  std::int64_t task = 0, clock = 0;
  std::optional<std::int64_t> unit = {};
  std::optional<NodeId> worker = {};
  TaskKind does = TaskKind::pull;
  static constexpr const char* table = "task";
  static constexpr const char* about =
      "The scheduler gives a task to a worker or to the servers, or learns that it is done";
  static constexpr void fields(auto&& column) {
    column("phase", "given or done", &TaskChange::phase);
    column("task", "the number of its [[task]] in the scenario, from 0", &TaskChange::task);
    column("clock", "of the task", &TaskChange::clock);
    column("unit", "number of the unit in the clock, from 0; NULL: the task has no units", &TaskChange::unit);
    column("worker", "the node that does it; NULL: the servers do it", &TaskChange::worker);
    column("does", "what it does", &TaskChange::does);
  }
};

// Events of workers and of inference nodes.
enum class Work : std::uint8_t { step, filter, piece };
inline constexpr auto work_names = enum_names<Work>();
constexpr const auto& names_of(Work) { return work_names; }

enum class ComputePhase : std::uint8_t { begun, paused, resumed, ended, cancelled, killed };
inline constexpr auto phase_names = enum_names<ComputePhase>();
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
  static constexpr const char* about = "Worker `node` starts or stops computing";
  static constexpr void fields(auto&& column) {
    column("phase",
           "begun; paused: it waits for weights that it needs now; resumed; ended; cancelled: a newer "
           "version has arrived, or it has taken too long; killed: the worker crashed, even if it did not "
           "compute",
           &Computation::phase);
    column(
        "work",
        "step: its own clock; filter: the worker filters a message; piece: samples of another worker's batch",
        &Computation::work);
    column("clock", "the clock that it computes", &Computation::clock);
    column("version", "version of the first shard's weights", &Computation::version);
    column("samples", "number of samples whose gradients are complete when it ends", &Computation::samples);
    column("part", "number of the part in the step, from 0: micro-batches forward and backward in a pipeline",
           &Computation::part);
    column("parts", "number of parts of the step", &Computation::parts);
  }
};

struct Finish {
  std::int64_t clock = 0;
  bool leaves = false;
  static constexpr const char* table = "finish";
  static constexpr const char* about = "Worker `node` has finished";
  static constexpr void fields(auto&& column) {
    column("clock", "the clock that it has reached", &Finish::clock);
    column("leaves", "1: it leaves before its last clock", &Finish::leaves);
  }
};

struct Acknowledgement {
  NodeId server = 0;
  std::uint32_t shard = 0, epoch = 0;
  std::int64_t pushes = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "acknowledgement";
  static constexpr const char* about =
      "Worker `node` learns that pushes are safe: no single crash undoes them";
  static constexpr void fields(auto&& column) {
    column("server", "the node that says so", &Acknowledgement::server);
    column("shard", shard_meaning, &Acknowledgement::shard);
    column("epoch", "the epoch in which the server owns the shard", &Acknowledgement::epoch);
    column("pushes", "how many of its first pushes to this shard are safe", &Acknowledgement::pushes);
  }
};

struct Prediction {
  std::int64_t request = 0, version = 0, staleness = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "prediction";
  static constexpr const char* about = "Inference node `node` answers a request";
  static constexpr void fields(auto&& column) {
    column("request", "number of the node's request, from 0", &Prediction::request);
    column("version", "version of the weights that it uses", &Prediction::version);
    column("staleness_updates", "updates that all servers had applied after that version",
           &Prediction::staleness);
  }
};

enum class Awaited : std::uint8_t { weights, acknowledgement, samples, peers };
inline constexpr auto awaited_names = enum_names<Awaited>();
constexpr const auto& names_of(Awaited) { return awaited_names; }

struct Wait {
  Awaited awaited = Awaited::weights;
  double since = 0;
  std::optional<std::int64_t> clock = {};
  NodeId sender = 0;
  std::optional<std::uint32_t> shard = {};
  std::uint64_t message = 0;
  static constexpr const char* table = "wait";
  static constexpr const char* about =
      "Worker `node` stops waiting: the last message that it waited for has arrived";
  static constexpr void fields(auto&& column) {
    column("awaited",
           "weights; acknowledgement: its push is accepted; samples: of its next batch; peers: their part of "
           "a sum, or of a pipeline's work",
           &Wait::awaited);
    column("since_s", "simulated seconds", &Wait::since);
    column("clock", "the clock that it is in, or waits to start", &Wait::clock);
    column("sender", "the node that sent that message", &Wait::sender);
    column("shard", "the shard that the message is about", &Wait::shard);
    column("message", "its number in `sent`", &Wait::message);
  }
};

using Subject =
    std::variant<Sent, Received, Lost, Repetition, Computation, Finish, Wait, Acknowledgement, Prediction,
                 Release, PushOutcome, ModelUpdate, Recount, Copy, Promotion, Snapshot, Suspicion, ViewChange,
                 ShardPlace, Participant, FaultChange, TaskChange, SlowWorker, ShardCut, ShardMove>;

struct Event {
  double at = 0;    // simulated seconds
  NodeId node = 0;  // where it happens; for a fault: the scheduler
  Subject what = {};
  Cause cause = {};  // not in the digest

  template <class T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};

// A server or the storage has worked on a message. `message`: the number of its `Sent` event; none: the node
// has prepared messages to send.
struct Service {
  NodeId node = 0;
  std::optional<std::uint64_t> message = {};
  double begin = 0, end = 0;
};

// What a worker's step takes at the usual speed of its machine: without stragglers, profiles, faults and
// other work on the machine.
struct StepCost {
  std::int64_t begun = 0;  // the number of its `begun` event
  double even = 0;         // seconds, if chance draws the mean
  double copies = 0;       // seconds of `even`: copies between host and devices
  double drawn = 1;        // the factor on its computing that chance drew
};

// A node's speed or links are different from this date on, by faults, stragglers and profiles together.
struct Rate {
  NodeId node = 0;
  Quantity quantity = Quantity::speed;
  double at = 0;  // seconds
  double value =
      1;  // the factor on its speed or on the bandwidth of its links; seconds that its messages come later
};

struct Span;  // sim/record/spans.hpp

// A 64-bit hash of every declared field. Machines of equal byte order give equal hashes.
std::uint64_t hash_of(const Event& event);

// One readable line: the table's name, and the columns that have a value.
std::string to_string(const Event& event);

// An observer of events. It cannot change the run: it gets a const reference and returns nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event, std::uint64_t hash) = 0;
  // When a message was on the wire, if it had to wait at its sender or receiver, or a fault delayed it.
  // `message`: the number of its `Sent` event. This is no event, because only explanations of times need it.
  virtual void on_wire(std::uint64_t /*message*/, double /*begin*/, double /*end*/) {}
  // In addition to its cause, an event needs another event.
  virtual void on_dependency(std::uint64_t /*event*/, const Dependency& /*need*/) {}
  virtual void on_service(const Service& /*work*/) {}
  virtual void on_step(const StepCost& /*cost*/) {}
  virtual void on_rate(const Rate& /*rate*/) {}
  // Whether the recorder makes spans.
  virtual bool wants_spans() const { return false; }
  virtual void on_span(NodeId /*node*/, const Span& /*span*/) {}
};

// Names and meanings of the events' tables, for `psim explain`, from the declarations.

// The meaning of a table, or of a value such as "refused"; empty if the name is unknown.
std::string explain_event(std::string_view name);
// The tables that have a column of this name, with its meaning in each; empty if no table has it.
std::string explain_event_column(std::string_view name);
// All names of tables, columns and values.
std::vector<std::string> event_words();

}  // namespace psim
