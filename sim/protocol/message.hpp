// The messages between nodes: an envelope, and a body of one of the types below. A message's size is the
// scenario's header size plus the wire_size() of its body. The struct of each body says how many bytes it
// takes, and which facts the record keeps.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/enum_names.hpp"
#include "model/values.hpp"
#include "sim/protocol/cause.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/gradient_aggregation.hpp"
#include "sim/protocol/ids.hpp"
#include "sim/protocol/part.hpp"
#include "sim/protocol/task_kind.hpp"
#include "sim/protocol/work.hpp"

namespace psim {

// The kinds of messages, and the facts that a record keeps of a message.

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
inline constexpr auto message_names = enum_names<MessageKind>();
constexpr const auto& names_of(MessageKind) { return message_names; }
constexpr std::string_view name_of(MessageKind kind) { return message_names[static_cast<std::size_t>(kind)]; }

inline constexpr std::uint64_t id_bytes = 12;  // a worker's number and a count
inline constexpr std::uint64_t two_words = 16;
inline constexpr std::uint64_t bytes_per_size = 4;  // of a batch

// The facts that a record keeps of a message besides its envelope and size. Facts that a kind of message does
// not have are empty.
struct MessageFacts {
  MessageKind kind = MessageKind::join;
  bool has_shard = false;  // the envelope's shard and epoch mean something
  std::optional<std::int64_t> clock = {}, version = {}, above = {};
  std::optional<std::int64_t> pull = {}, push = {}, pushes_before = {};  // as the sender counts them
  std::optional<std::int64_t> life = {}, view = {}, entries = {}, log_epoch = {};
  std::optional<std::int64_t> part = {}, pieces = {}, samples = {}, samples_before = {};
  std::optional<NodeId> next_owner = {};
  std::uint32_t values = 0, keys = 0, ids = 0;
  // The number that distinguishes it from other messages of its kind, shard and epoch.
  std::optional<std::int64_t> number() const;
};
// None for a negative number, which stands for "nothing".
inline std::optional<std::int64_t> from_zero(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}
inline std::uint32_t count_of(const SharedKeys& keys) {
  return static_cast<std::uint32_t>(keys ? keys->size() : 0);
}

// The data of a shard in messages.

// Values of a shard, and the bytes that they take on the network.
struct Payload {
  Slice values = {};
  SharedKeys keys = {};  // which of the shard's values; null: all
  std::uint64_t bytes = 0;
  KeyList list = {};

  std::uint32_t count() const { return static_cast<std::uint32_t>(values.count); }
  // From now on the message carries its list of keys, even if the receiver has the list.
  void list_keys() { bytes = list.is_listed() ? bytes : std::exchange(list.bytes_listed, 0); }
};
inline Payload payload_of(Encoded encoded) {
  return {std::move(encoded.values), std::move(encoded.keys), encoded.bytes, encoded.list};
}

// The messages between workers in a cluster without servers.

// A part of the sum of gradients so far, in round `round` of the exchange. In an all-gather it holds several
// workers' gradients of that part; then `sum` only counts their values and bytes.
struct Chunk {
  std::int64_t clock = 0, version = 0, round = 0;
  Payload sum = {};
  std::shared_ptr<const std::vector<Payload>> gradients = {};

  std::uint64_t wire_bytes() const { return sum.bytes; }
  MessageFacts facts() const {
    return {
        .kind = MessageKind::chunk, .clock = clock, .version = version, .part = round, .values = sum.count()};
  }
};
// A stage's output for a micro-batch: `values` values, which take `bytes`.
struct Activations {
  std::int64_t clock = 0, version = 0, micro_batch = 0;
  std::size_t values = 0;
  std::uint64_t bytes = 0;
  bool is_kept = false;  // after this step every stage sends its part to the storage

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const { return of_kind(MessageKind::activation); }

 protected:
  MessageFacts of_kind(MessageKind kind) const {
    return {.kind = kind,
            .clock = clock,
            .version = version,
            .part = micro_batch,
            .values = static_cast<std::uint32_t>(values)};
  }
};
// Stage to the stage before it: the derivative of the loss with respect to those activations.
struct Errors : Activations {
  MessageFacts facts() const { return of_kind(MessageKind::error); }
};

// To the first worker of a new group: the number of updates of the sender's copy of the model. -1: it has no
// copy.
struct Standing {
  std::int64_t version = -1;
  std::int64_t made_in = 0;  // the view of the group that made the last update; others may have continued
  std::int64_t round = 0;    // the round of this group's agreement

  std::uint64_t wire_bytes() const { return 8; }  // 4 for each number
  MessageFacts facts() const {
    return {.kind = MessageKind::standing,
            .version = from_zero(version),
            .part = round > 0 ? std::optional(round) : std::nullopt};
  }
};
// The first worker's answer: the group continues from version `version`; `holder` has it and sends it to
// `behind`. -1: from the last snapshot. In later rounds -1: each worker continues from its own copy; 0: from
// the first weights.
struct Regroup {
  std::int64_t version = 0;
  std::int64_t made_in = 0;  // as in Standing
  NodeId holder = 0;
  std::vector<NodeId> behind = {};
  std::int64_t round = 0;  // as in Standing

  std::uint64_t wire_bytes() const { return two_words + 4 * behind.size(); }
  MessageFacts facts() const {
    return {.kind = MessageKind::regroup,
            .version = from_zero(version),
            .part = round > 0 ? std::optional(round) : std::nullopt};
  }
};

// The messages between all nodes and the scheduler. `life` counts the earlier starts of the sender.
struct View;
using SharedView = std::shared_ptr<const View>;

// This node is up.
struct Join {
  std::int64_t life = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::join, .life = life}; }
};
// All nodes are up.
struct Start {
  SharedView view = {};  // null where no node may fail
  bool goes_on = false;  // the other workers have already begun

  std::uint64_t wire_bytes() const;
  MessageFacts facts() const;
};
// A worker has finished its steps, or a server hands over its shards and leaves.
struct Leave {
  std::int64_t life = 0;
  std::optional<std::int64_t> view = {};  // the last view that a server knows; the server still serves

  std::uint64_t wire_bytes() const { return view ? two_words : 0; }
  MessageFacts facts() const { return {.kind = MessageKind::leave, .life = life, .view = view}; }
};
// The scheduler has received a worker's Leave.
struct LeaveAck {
  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::ack}; }
};
// The number of values of a shard that its owner in epoch `epoch` has received in pushes and sent in answers
// to pulls.
struct ShardLoad {
  std::uint32_t shard = 0, epoch = 0;
  std::uint64_t values = 0;
};
struct Heartbeat {
  std::int64_t life = 0;
  std::int64_t view = -1;             // the last one that the sender knows
  bool is_through = false;            // a worker that has finished its steps
  std::vector<ShardLoad> loads = {};  // where loads decide the owners: of a server's own shards

  std::uint64_t wire_bytes() const { return two_words + loads.size() * two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::heartbeat,
            .life = life,
            .view = from_zero(view),
            .ids = static_cast<std::uint32_t>(loads.size())};
  }
};
// The owners of all shards, and the workers that take part.
struct NewView {
  SharedView view;

  std::uint64_t wire_bytes() const;
  MessageFacts facts() const;
};
// A restarted scheduler asks for the view that the receiver knows.
struct AskView {
  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::view}; }
};
// A primary reports that the shard's next owner has received the first state.
struct Ready {
  NodeId next_owner = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::ready, .has_shard = true, .next_owner = next_owner};
  }
};
// A worker reports its time for one sample, in seconds, before step `clock`. None: it has measured nothing
// since its last report, and asks for its share. find_slow: a report of every clock, for the search for slow
// workers.
struct Report {
  enum class To : std::uint8_t { share_work, find_slow };
  To purpose = To::share_work;
  std::int64_t clock = 0;
  std::optional<double> seconds_per_sample = {};
  std::optional<std::int64_t> decision = {};  // the last that it knows, where workers do not wait for them

  std::uint64_t wire_bytes() const { return decision ? two_words : 8; }
  MessageFacts facts() const { return {.kind = MessageKind::report, .clock = clock}; }
};
// The scheduler assigns a worker its batch size from that step on, and the number of samples that the workers
// before it take. Where nodes may fail, it also sends the sizes of the others. Where workers do not wait for
// each other, a decision has a number instead of a step.
struct Assign {
  std::int64_t clock = 0, batch_size = 0, samples_before = 0;
  std::optional<std::int64_t> decision = {};
  SharedSizes sizes = {};

  std::uint64_t wire_bytes() const { return two_words + (sizes ? bytes_per_size * sizes->size() : 0); }
  MessageFacts facts() const {
    return {.kind = MessageKind::assign,
            .clock = clock,
            .part = decision,
            .samples = batch_size,
            .samples_before = samples_before};
  }
};

// The messages between workers and servers.
class Parameters;

// A worker asks for weights when it may start `clock`.
struct Pull {
  std::int64_t clock = 0;
  std::int64_t above = -1;  // the answer must have a version above this one; -1: any
  std::int64_t number = 0;  // counts the sender's pulls of this shard, from 1
  // The number of the sender's pushes to this shard; none: it has just come back, and does not know the
  // number.
  std::optional<std::int64_t> pushes_sent = 0;
  std::int64_t oldest_resendable = 0;  // the sender can still send its pushes from this number on
  std::int64_t skipped_clocks = 0;     // since the sender was away; its push numbers do not count them
  std::int64_t answered = 0;           // the sender's last pull that was answered; 0: none
  bool computes = false;               // the sender's push for version `above` is still to come
  SharedKeys keys = {};                // null: all
  std::size_t bytes_per_key = 0;
  KeyList list = {};       // of the keys, with key caching
  std::int64_t copy = -1;  // where workers run the optimizer: the version of the sender's copy; -1: none

  void list_keys() { list.bytes_listed = 0; }

  std::uint64_t wire_bytes() const {
    const std::uint64_t of_keys = keys ? keys->size() * bytes_per_key : 0;
    return (list.signature != 0 ? signature_bytes : 0) + (list.is_listed() ? of_keys : 0);
  }
  MessageFacts facts() const {
    return {.kind = MessageKind::pull,
            .has_shard = true,
            .clock = clock,
            .above = from_zero(above),
            .pull = number,
            .pushes_before = pushes_sent,
            .keys = count_of(keys)};
  }
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
  std::int64_t batches = 1;
  double seconds = 0;  // that the worker computed
  double came_at = 0;  // seconds; when it began to wait for its update
  Payload gradient = {};
  PushId id() const { return {worker, number}; }

  std::uint64_t wire_bytes() const { return gradient.bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::push,
            .has_shard = true,
            .clock = clock,
            .version = version,
            .push = number,
            .values = gradient.count(),
            .keys = count_of(gradient.keys)};
  }
};

// The answer to a pull: weights, or the news that no clock is left.
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
  // Where workers run the optimizer: another worker's weights and optimizer's state, because a sum is not
  // enough.
  bool is_copy = false;
  std::shared_ptr<const Parameters> copy = {};  // none for a phantom model

  std::uint64_t wire_bytes() const { return weights.bytes; }
  MessageFacts facts() const {
    return {.kind = finished ? MessageKind::finished : MessageKind::weights,
            .has_shard = true,
            .clock = clock,
            .version = version,
            .pull = number,
            .values = weights.count(),
            .keys = count_of(weights.keys)};
  }
};

// Push `number` has arrived, or was applied or dropped.
struct Ack {
  std::int64_t number = 0;
  std::int64_t safe_pushes = 0;  // as in Answer

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::ack, .has_shard = true, .push = number}; }
};

// The messages between servers, and between servers and the storage.
struct ShardState;

// First shard to the others: these pushes made its update of version `version`, or it dropped a push that was
// too stale. The answer to a Decide may instead hold each worker's last decided push.
struct UpdateGroup {
  std::int64_t version = 0;
  std::vector<PushId> pushes = {};
  std::vector<PushId> dropped = {};
  std::vector<double> weights = {};  // of `pushes`; none: 1
  bool is_summary = false;           // `pushes` are each worker's last push, and their weights are not known

  std::uint64_t wire_bytes() const {
    return (pushes.size() + dropped.size()) * id_bytes + weights.size() * sizeof(double);
  }
  MessageFacts facts() const {
    return {.kind = MessageKind::group,
            .has_shard = true,
            .version = version,
            .values = static_cast<std::uint32_t>(weights.size()),
            .ids = static_cast<std::uint32_t>(pushes.size() + dropped.size())};
  }
};
// A server of another shard asks the first shard's server: which pushes made the update of version `version`?
// Where late pushes count: which pushes have been in updates so far?
struct Decide {
  std::int64_t version = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::decide, .has_shard = true, .version = version}; }
};

// A decision of a shard's primary, for its replicas.
struct LogEntry {
  std::int64_t number = 0;
  // An update's weighted sum of gradients.
  struct Sum {
    std::int64_t clock = 0, version = 0;
    Payload gradient = {};
    double rate_factor = 1;  // of stale pushes
    // With delay compensation: the mean of squared gradients after this update.
    std::shared_ptr<const Values> mean_square = {};
    // Where servers keep gradients: those of this update's workers.
    std::vector<KeptGradient> kept = {};
    std::uint64_t kept_bytes = 0;
    std::uint64_t bytes() const {
      return gradient.bytes + kept_bytes + (rate_factor == 1 ? 0 : sizeof rate_factor);
    }
  };
  std::optional<Sum> sum = {};
  // If every push is logged: the push that has arrived, and whether it completes the pending update. The
  // update takes all pending pushes except `left`.
  std::optional<Push> push = {};
  bool drops_push = false;  // an earlier decision drops the push at once
  bool updates = false;
  std::vector<PushId> left = {};
  std::vector<double> weights = {};  // of the pushes in the update; none: 1
  std::vector<PushId> pushes = {};   // the pushes in the sum, or the logged one
  std::vector<PushId> dropped = {};
  std::vector<PushId> skipped = {};  // pushes of a worker before this one will not come
  // Workers that resumed at the others' clock, with the clocks that they skipped.
  std::vector<PushId> skipped_clocks = {};
  // For delay compensation: workers that were sent these weights, or, if filters changed the weights, these
  // values.
  struct Shown {
    NodeId worker = 0;
    Payload filtered = {};
  };
  std::vector<Shown> shown = {};
  std::vector<bool> members = {};   // workers that take part from now on; empty: no change
  std::vector<double> memory = {};  // of the consistency policy, without its estimates

  std::size_t ids() const {
    return pushes.size() + dropped.size() + skipped.size() + skipped_clocks.size() + shown.size() +
           left.size();
  }
};
using SharedEntry = std::shared_ptr<const LogEntry>;
// Primary to replica, or replica to the next one.
struct Replicate {
  SharedEntry entry;

  std::uint64_t wire_bytes() const {
    std::uint64_t bytes =
        entry->ids() * id_bytes + (entry->weights.size() + entry->memory.size()) * sizeof(double);
    if (entry->sum) bytes += entry->sum->bytes();
    if (entry->push) bytes += entry->push->gradient.bytes;
    for (const LogEntry::Shown& shown : entry->shown) bytes += shown.filtered.bytes;
    return bytes;
  }
  MessageFacts facts() const {
    MessageFacts all{.kind = MessageKind::replicate,
                     .has_shard = true,
                     .entries = entry->number,
                     .ids = static_cast<std::uint32_t>(entry->ids())};
    const auto carries = [&all](const auto& what) {
      all.clock = what.clock;
      all.version = what.version;
      all.values = what.gradient.count();
      all.keys = count_of(what.gradient.keys);
    };
    if (entry->sum) carries(*entry->sum);
    if (entry->push) carries(*entry->push);
    return all;
  }
};
// Replica to primary: the replica has all entries below `entries`; none: it lacks even the state before them.
struct Replicated {
  std::optional<std::int64_t> entries;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::replicated, .has_shard = true, .entries = entries};
  }
};
// One owner to another, or to the storage: a shard, or the entries that the receiver lacks.
struct State {
  std::int64_t version = 0;
  std::uint32_t log_epoch = 0;  // of the log of this epoch's owner the state includes ...
  std::int64_t entries = -1;    // ... this number of entries; -1: the sender has nothing
  std::int64_t view = 0;        // the sender's view, where it matters
  std::shared_ptr<const ShardState> shard = {};
  std::shared_ptr<const Parameters> replica = {};             // a worker's copy, with its optimizer's state
  std::shared_ptr<const std::vector<SharedEntry>> rest = {};  // entries to add to the receiver's state
  std::uint64_t bytes = 0;
  std::uint32_t asked_in = 0;  // without servers, from the storage: the group of the worker that asked

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::state,
            .has_shard = true,
            .version = version,
            .view = view,
            .entries = from_zero(entries),
            .log_epoch = log_epoch};
  }
};
// A new owner asks the previous one, or the storage: send me the shard's state. The new owner has the first
// `entries` entries of the log of epoch `log_epoch`; -1: it has nothing. To a worker that runs the optimizer:
// send me your copy of the shard, if its version is above `entries`.
struct Restore {
  std::uint32_t log_epoch = 0;
  std::int64_t entries = -1;
  Part part = {};  // the values of the shard; its number and epoch identify them, so it takes no bytes

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::restore,
            .has_shard = true,
            .entries = from_zero(entries),
            .log_epoch = log_epoch};
  }
};

// The messages about tasks (tasks.hpp). `task` numbers the tasks of a run.

// Scheduler to worker: run this task. A gradient and a push take the result of the task `source`.
struct RunTask {
  std::optional<std::uint64_t> task = {};  // none: no task is left
  TaskKind kind = TaskKind::pull;
  std::int64_t clock = 0;
  std::int64_t batch = 0;  // gradient: the number of its batch in the clock
  std::uint64_t source = 0;

  std::uint64_t wire_bytes() const { return 2 * two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::run,
            .clock = clock,
            .part = task ? std::optional(static_cast<std::int64_t>(*task)) : std::nullopt};
  }
};
// Worker to scheduler: the task is done. `pushes`: the number of pushes that the worker has sent.
struct TaskDone {
  std::uint64_t task = 0;
  std::int64_t pushes = 0;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const { return {.kind = MessageKind::done, .part = static_cast<std::int64_t>(task)}; }
};
// Scheduler to a shard's server: run this function on `values` values. `push`: the push for the function
// apply.
struct Call {
  std::uint64_t task = 0;
  TaskKind function = TaskKind::update;
  double amount = 0;
  std::optional<PushId> push = {};
  std::size_t values = 0;

  std::uint64_t wire_bytes() const { return two_words + (push ? id_bytes : 0); }
  MessageFacts facts() const {
    return {.kind = MessageKind::call, .has_shard = true, .part = static_cast<std::int64_t>(task)};
  }
};
// The answer. For a norm it has this shard's sum of squares.
struct Returned {
  std::uint64_t task = 0;
  double value = 0;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::returned, .has_shard = true, .part = static_cast<std::int64_t>(task)};
  }
};

// The messages about samples: the source of a worker's samples, and work stealing (stealing.hpp).
struct BatchKeys;

// Worker to database: send me the samples of step `step`, `sample_bytes` bytes. The answer is Samples. With
// `samples` the worker asks the database, or another worker, for samples that it holds from now on; then
// `step` counts such requests.
struct Fetch {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  SharedKeys samples = {};

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::fetch, .part = step, .keys = count_of(samples)}; }
};
struct Samples {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  bool lacks = false;  // the sender lacks some of the samples, and sends none

  std::uint64_t wire_bytes() const { return sample_bytes; }
  MessageFacts facts() const { return {.kind = MessageKind::samples, .part = step}; }
};
// Worker to worker: I have computed my samples of `clock` and can compute some of yours; return the pieces of
// my samples that you have. `leaves`: I have done all clocks, and compute nothing more.
struct Idle {
  std::int64_t clock = 0;
  bool leaves = false;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const { return {.kind = MessageKind::idle, .clock = clock}; }
};
// Worker to worker: compute these samples of mine. `number` counts the sender's pieces.
struct Piece {
  std::int64_t clock = 0, number = 0, count = 0;
  SharedKeys samples = {};                 // null: of a phantom model
  std::uint64_t bytes = 0;                 // of samples, or of their numbers, and of weights
  std::shared_ptr<Assembly> weights = {};  // sparse model: of these keys; else the receiver uses its own
  std::shared_ptr<const BatchKeys> keys = {};

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::piece,
            .clock = clock,
            .part = number,
            .samples = count,
            .keys = count_of(samples)};
  }
};
// The answer: the mean gradient of `samples` samples, those of the pieces `pieces` of the receiver's.
struct PieceGradient {
  std::int64_t clock = 0, samples = 0;
  std::vector<std::int64_t> pieces = {};
  std::shared_ptr<const Values> gradient = {};  // null: of a phantom model
  std::uint64_t bytes = 0;

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::gradient,
            .clock = clock,
            .pieces = std::ssize(pieces),
            .samples = samples,
            .values = static_cast<std::uint32_t>(gradient ? gradient->size() : 0)};
  }
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
  // For the record; takes no bytes on the network.
  std::optional<std::uint64_t> sent = {};  // the number of its `Sent` event
  Cause because = {};       // until its arrival: of its sending; then: of its use by the receiver
  double there_at = 0;      // date since when it waits for its connection or in the inbox
  Dependencies needs = {};  // of its sending

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
// The types that a receiver ignores, by name: each receiver has to decide about a new type.
template <class... Ts>
struct Ignore {
  void operator()(const OneOf<Ts...> auto&) const {}
};

// On the network, without the header, in bytes.
std::uint64_t wire_size(const Body& body);

MessageFacts facts_of(const Body& body);
inline MessageKind kind_of(const Message& message) { return facts_of(message.body).kind; }

inline std::int64_t samples_of(const std::vector<Push>& group) {
  std::int64_t samples = 0;
  for (const Push& push : group) samples += push.samples;
  return samples;
}

// The members of the cluster and the owner of each shard, as the scheduler announces them.

struct Layout;

// The owner of one shard. A new primary starts a new epoch, and nodes ignore messages of other epochs. So a
// former primary that does not know its successor can do no harm.
struct Owner {
  NodeId primary = 0;  // 0, the scheduler's number: the shard has no owner, because its job has ended
  std::uint32_t epoch = 0;
  std::vector<NodeId> replicas = {};
  // Former primaries that are still alive, the newest first. The primary asks them for the shard's state.
  // With hand_over = "stop-and-copy" there may be several, because the newest may not have received the state
  // from the primary before it.
  std::vector<NodeId> from = {};
  NodeId next = 0;  // becomes the primary when it has the primary's state; the primary serves until then
  bool was_primary(NodeId node) const { return std::ranges::find(from, node) != from.end(); }
};

struct View {
  std::int64_t number = 0;
  std::vector<Owner> owners;                  // by shard
  std::vector<bool> workers;                  // whether each worker takes part
  std::vector<Cut> cuts = {};                 // since the plan, one after the other
  std::shared_ptr<const Layout> layout = {};  // the key space after these cuts; null: nothing was cut
  std::uint64_t bytes() const;                // on the network
};

}  // namespace psim
