// The messages between nodes: an envelope, and a body of one of the types below. A message's size is the
// header that the scenario gives plus the wire_size() of its body.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/ids.hpp"
#include "sim/protocol/part.hpp"
#include "sim/protocol/task_messages.hpp"
#include "sim/protocol/work.hpp"
#include "sim/protocol/work_messages.hpp"

namespace psim {

// The names of the bodies, as scenarios and records have them.
enum class MessageKind : std::uint8_t {
  join,
  start,
  pull,
  weights,
  push,
  group,
  finished,
  leave,
  ack,
  chunk,
  activation,
  error,
  report,
  assign,
  fetch,
  samples,
  idle,
  piece,
  heartbeat,
  view,
  replicate,
  replicated,
  state,
  restore,
  decide,
  ready,
  standing,
  regroup,
  run,
  done,
  call,
  returned,
  gradient,
};
inline constexpr auto message_names = std::to_array<std::string_view>(
    {"join",       "start",   "pull",    "weights",    "push",      "group",    "finished",
     "leave",      "ack",     "chunk",   "activation", "error",     "report",   "assign",
     "fetch",      "samples", "idle",    "piece",      "heartbeat", "view",     "replicate",
     "replicated", "state",   "restore", "decide",     "ready",     "standing", "regroup",
     "run",        "done",    "call",    "returned",   "gradient"});
constexpr const auto& names_of(MessageKind) { return message_names; }
constexpr std::string_view name_of(MessageKind kind) { return message_names[static_cast<std::size_t>(kind)]; }

struct ShardState;
struct BatchKeys;
class Assembly;
class Parameters;
struct View;
using SharedView = std::shared_ptr<const View>;

// Values of a shard, and the bytes that they take on the network.
struct Payload {
  Slice values = {};
  SharedKeys keys = {};  // which of the shard's values; null: all
  std::uint64_t bytes = 0;
  KeyList list = {};

  // From here on the list of keys goes with it, whatever the receiver has.
  void list_keys() { bytes = list.is_listed() ? bytes : std::exchange(list.bytes_listed, 0); }
};
inline Payload payload_of(Encoded encoded) {
  return {std::move(encoded.values), std::move(encoded.keys), encoded.bytes, encoded.list};
}

// ---- Between all nodes and the scheduler. `life` counts the earlier starts of the sender.

// This node is up.
struct Join {
  std::int64_t life = 0;
};
// All nodes are up.
struct Start {
  SharedView view = {};  // null where no node may fail
  bool goes_on = false;  // the others have begun
};
// A worker has finished its steps, or a server hands over its shards and leaves.
struct Leave {
  std::int64_t life = 0;
  std::optional<std::int64_t> view = {};  // the last one that a server knows; it goes on serving
};
// The scheduler has received a worker's Leave.
struct LeaveAck {};
// The values of a shard that its owner in epoch `epoch` has received in pushes and sent in answers to pulls.
struct ShardLoad {
  std::uint32_t shard = 0, epoch = 0;
  std::uint64_t values = 0;
};
struct Heartbeat {
  std::int64_t life = 0;
  std::int64_t view = -1;             // the last one that the sender knows
  bool is_through = false;            // a worker that has finished its steps
  std::vector<ShardLoad> loads = {};  // where they decide who owns what: of a server's own shards
};
// The owners of all shards, and the workers that take part.
struct NewView {
  SharedView view;
};
// A restarted scheduler asks for the view that the receiver knows.
struct AskView {};
// A primary reports that the shard's next owner has received the state that it was sent first.
struct Ready {
  NodeId next_owner = 0;
};
// A worker reports its time for one sample, in seconds, before step `clock`. None: it has measured nothing
// since its last report, and asks for its share. Who looks for slow workers hears of every clock.
struct Report {
  enum class To : std::uint8_t { share_work, find_slow };
  To purpose = To::share_work;
  std::int64_t clock = 0;
  std::optional<double> seconds_per_sample = {};
  std::optional<std::int64_t> decision = {};  // the last that it knows, where workers do not wait for them
};
// The scheduler assigns it a batch size from that step on, and the number of samples that the workers before
// it take. Where nodes may fail the others' sizes are told as well. Where workers do not wait for each other,
// a decision has a number instead of a step.
struct Assign {
  std::int64_t clock = 0, batch_size = 0, samples_before = 0;
  std::optional<std::int64_t> decision = {};
  SharedSizes sizes = {};
};

// ---- Between workers and servers

// A worker asks for weights as soon as it may start `clock`.
struct Pull {
  std::int64_t clock = 0;
  std::int64_t above = -1;  // the answer must have a version above this one; -1: any
  std::int64_t number = 0;  // counts the sender's pulls of this shard, from 1
  // The sender's pushes to this shard so far; none: it has just come back, and does not know.
  std::optional<std::int64_t> pushes_sent = 0;
  std::int64_t oldest_resendable = 0;  // the sender can still send its pushes from this number on
  std::int64_t skipped_clocks = 0;     // since the sender was away; its push numbers do not count them
  std::int64_t answered = 0;           // the sender's last pull that was answered; 0: none
  bool computes = false;               // the push for version `above` is still to come
  SharedKeys keys = {};                // null: all
  std::size_t bytes_per_key = 0;
  KeyList list = {};       // of the keys, if it is remembered
  std::int64_t copy = -1;  // where workers run the optimizer: the version of the sender's copy; -1: none

  void list_keys() { list.bytes_listed = 0; }
};

// A gradient that worker `worker` computed on version `version`; it finishes `clock`.
struct Push {
  NodeId worker = 0;
  std::int64_t number = 0;  // counts the worker's pushes to this shard, from 0
  std::int64_t clock = 0;
  std::int64_t version = 0;
  std::int64_t first_version = 0;      // version of the first shard on which it was computed
  std::int64_t oldest_resendable = 0;  // as in Pull
  std::int64_t samples = 1;            // of each batch
  Payload gradient = {};
  PushId id() const { return {worker, number}; }
};

// The answer to a pull: weights, or that no clock is left.
struct Answer {
  bool finished = false;
  std::int64_t clock = 0;        // as in the pull
  std::int64_t number = 0;       // of the pull
  std::int64_t answered = 0;     // as in the pull
  std::int64_t version = 0;      // of the shard
  double sent_at = 0;            // simulated seconds
  std::int64_t safe_pushes = 0;  // number of the worker's pushes that no single crash can undo
  std::int64_t pushes_here = 0;  // number of the worker's pushes that have arrived
  std::int64_t skip_clocks = 0;  // in all, since the worker was away
  bool has_push = false;         // where nodes may fail: a push of the worker waits for the next update
  std::int64_t slowest = 0;      // clock of the shard: the weights have every worker's pushes before it
  Payload weights = {};
  // Where workers run the optimizer: another worker's weights and optimizer's state, because a sum would not
  // do.
  bool is_copy = false;
  std::shared_ptr<const Parameters> copy = {};  // none of a phantom model
};

// Push `number` has arrived, or was applied or dropped.
struct Ack {
  std::int64_t number = 0;
  std::int64_t safe_pushes = 0;  // as in Answer
};

// ---- Between servers

// First shard to the others: these pushes made its update of version `version`, or it dropped one that was
// too stale; each worker's last decided one where that is asked for.
struct UpdateGroup {
  std::int64_t version = 0;
  std::vector<PushId> pushes = {};
  std::vector<PushId> dropped = {};
};
// Another shard's server to the first one's: which pushes made the update of version `version`? Where late
// pushes count: which have been in updates so far?
struct Decide {
  std::int64_t version = 0;
};

// A decision of a shard's primary, for its replicas.
struct LogEntry {
  std::int64_t number = 0;
  // An update's weighted sum of gradients.
  struct Sum {
    std::int64_t clock = 0, version = 0;
    Payload gradient = {};
    // With delay compensation: the mean of squared gradients after this update.
    std::shared_ptr<const Values> mean_square = {};
  };
  std::optional<Sum> sum = {};
  // If every push is logged: the push that has arrived, and whether it completes the pending update. The
  // update takes all pending pushes except `left`.
  std::optional<Push> push = {};
  bool drops_push = false;  // a decision that was here before it drops it at once
  bool updates = false;
  std::vector<PushId> left = {};
  std::vector<PushId> pushes = {};  // the pushes in the sum, or the logged one
  std::vector<PushId> dropped = {};
  std::vector<PushId> skipped = {};  // pushes of a worker before this one will not come
  // Workers that resumed at the others' clock, with the clocks that they skipped.
  std::vector<PushId> skipped_clocks = {};
  // For delay compensation: workers that were sent these weights, or, if filters changed them, these values.
  struct Shown {
    NodeId worker = 0;
    Payload filtered = {};
  };
  std::vector<Shown> shown = {};
  std::vector<bool> members = {};  // workers that take part from now on; empty: no change
};
using SharedEntry = std::shared_ptr<const LogEntry>;
// Primary to replica, or replica to the next one.
struct Replicate {
  SharedEntry entry;
};
// Replica to primary: the replica has all entries below `entries`; none: it lacks even the state before them.
struct Replicated {
  std::optional<std::int64_t> entries;
};
// One owner to another, or to the storage: a shard, or the entries that the receiver lacks.
struct State {
  std::int64_t version = 0;
  std::uint32_t log_epoch = 0;  // the state includes, of the log of this epoch's owner, ...
  std::int64_t entries = -1;    // ... this many entries; -1: the sender has nothing
  std::int64_t view = 0;        // the sender's view, where it matters
  std::shared_ptr<const ShardState> shard = {};
  std::shared_ptr<const Parameters> replica = {};             // a worker's copy, with its optimizer's state
  std::shared_ptr<const std::vector<SharedEntry>> rest = {};  // entries to add to the receiver's state
  std::uint64_t bytes = 0;
  std::uint32_t asked_in = 0;  // without servers, from the storage: the group of the worker that asked
};
// New owner to the last one, or to the storage: send me the shard's state. The new owner has the first
// `entries` entries of the log of epoch `log_epoch`; -1: it has nothing. To a worker that runs the optimizer:
// send me your copy of the shard, if it has a version above `entries`.
struct Restore {
  std::uint32_t log_epoch = 0;
  std::int64_t entries = -1;
  Part part = {};  // which values the shard has, as its number and epoch tell; takes no bytes
};

// ---- Without servers

// A part of the sum of gradients so far, in round `round` of the exchange. In an all-gather, several workers'
// gradients of that part instead: `sum` then says only how many values and bytes these are.
struct Chunk {
  std::int64_t clock = 0, version = 0, round = 0;
  Payload sum = {};
  std::shared_ptr<const std::vector<Payload>> gradients = {};
};
// A stage's output for a micro-batch: `values` values, which take `bytes`.
struct Activations {
  std::int64_t clock = 0, version = 0, micro_batch = 0;
  std::size_t values = 0;
  std::uint64_t bytes = 0;
  bool is_kept = false;  // after this step every stage sends its part to the storage
};
// Stage to the stage before it: the derivative of the loss with respect to those activations.
struct Errors : Activations {};

// To the first worker of a new group: how many updates the sender's copy of the model has. -1: it has none.
struct Standing {
  std::int64_t version = -1;
  std::int64_t made_in = 0;  // the view of the group that made the last of them: another one may have gone on
  std::int64_t round = 0;    // of those in which this group agrees
};
// The first worker's answer: the group goes on with version `version`, which `holder` has and sends to
// `behind`. -1: with that of the last snapshot. In later rounds -1: with what each has; 0: with the first
// weights.
struct Regroup {
  std::int64_t version = 0;
  std::int64_t made_in = 0;  // as in Standing
  NodeId holder = 0;
  std::vector<NodeId> behind = {};
  std::int64_t round = 0;  // as in Standing
};

using Body = std::variant<Join, Start, Leave, LeaveAck, Heartbeat, NewView, AskView, Ready, Report, Assign,
                          Pull, Push, Answer, Ack, UpdateGroup, Decide, Replicate, Replicated, State, Restore,
                          Chunk, Activations, Errors, Standing, Regroup, Fetch, Samples, Idle, Piece, RunTask,
                          TaskDone, Call, Returned, PieceGradient>;

struct Message {
  NodeId from = 0, to = 0;
  std::uint32_t shard = 0;
  std::uint32_t epoch = 0;  // of the shard's ownership, as far as the sender knows
  Body body = {};
  std::optional<std::uint64_t> sent = {};  // the number of this event in the record; takes no bytes

  template <class T>
  const T* as() const {
    return std::get_if<T>(&body);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&body);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(body);
  }
};

// For std::visit: one lambda for each type. A type without a lambda does not compile.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T, class... Ts>
concept OneOf = (std::same_as<T, Ts> || ...);
// The types that a receiver ignores, listed by name: each receiver has to decide about a new type.
template <class... Ts>
struct Ignore {
  void operator()(const OneOf<Ts...> auto&) const {}
};

// On the network, without the header, in bytes.
std::uint64_t wire_size(const Body& body);

// The facts that a record keeps of a message besides its envelope and size. A fact that its kind has not
// is empty.
struct MessageFacts {
  MessageKind kind = MessageKind::join;
  bool has_shard = false;  // the envelope's shard and epoch mean something
  std::optional<std::int64_t> clock = {}, version = {}, above = {};
  std::optional<std::int64_t> pull = {}, push = {}, pushes_before = {};  // as the sender counts them
  std::optional<std::int64_t> life = {}, view = {}, entries = {}, log_epoch = {};
  std::optional<std::int64_t> part = {}, pieces = {}, samples = {}, samples_before = {};
  std::optional<NodeId> next_owner = {};
  std::uint32_t values = 0, keys = 0, ids = 0;
  // What tells it from another message of its kind, shard and epoch.
  std::optional<std::int64_t> number() const;
};
MessageFacts facts_of(const Body& body);
inline MessageKind kind_of(const Message& message) { return facts_of(message.body).kind; }

inline std::int64_t samples_of(const std::vector<Push>& group) {
  std::int64_t samples = 0;
  for (const Push& push : group) samples += push.samples;
  return samples;
}

}  // namespace psim
