// What travels between nodes. A message's size is counted from its content: the header that the scenario
// gives, and its payload.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/filter.hpp"

namespace psim {

using NodeId = std::uint32_t;  // the scheduler, the servers, the workers, all others
inline constexpr NodeId scheduler_node = 0;

enum class MessageKind : std::uint8_t {
  join,        // to the scheduler: this node is up
  start,       // from the scheduler: everybody is
  pull,        // worker to server: send me weights, when I may start `clock`
  weights,     // server to worker: version `version` of a shard
  push,        // worker to server: a gradient computed on version `version`
  group,       // first server to the others: these pushes make the next update, those are too late
  finished,    // server to worker: there is nothing left to do
  leave,       // worker to scheduler: I am done
  ack,         // server to worker: your push `number` is applied, or dropped; with retries: is here
  chunk,       // worker to worker: part of the sum of gradients, as far as it has come
  activation,  // stage to the next one: what it made of a micro-batch
  error,       // stage to the one before: the loss's derivative by those activations
  report,      // worker to scheduler: how long a sample takes
  assign,      // scheduler to worker: how large its batches are from now on
  fetch,       // worker to database: send me the samples of step `number`
  samples,     // database to worker: here they are
  idle,        // worker to worker: my samples of `clock` are computed
  piece,       // worker to worker: compute these of mine
  heartbeat,   // server or worker to scheduler: still alive, and its view is number `version`
  view,        // scheduler to everybody: who owns which shard, and who takes part
  replicate,   // primary to replica, or replica to the next one: entry `number` of the shard's log
  replicated,  // replica to primary: all entries below `number` are here; -1: not even the state before them
  state,       // one owner to another, or to the storage: all of a shard, or what the other lacks of it;
               // `clock`: its sender's view
  restore,     // new owner to the last one, or to the storage: send me the shard's state
  decide,  // another shard's server to the first one's: which pushes made the update of version `version`?
  ready,   // primary to scheduler: server `number`, the shard's next owner, has what it was sent first
};
inline constexpr auto message_names = std::to_array<std::string_view>(
    {"join",      "start",      "pull",      "weights",    "push",   "group",   "finished", "leave", "ack",
     "chunk",     "activation", "error",     "report",     "assign", "fetch",   "samples",  "idle",  "piece",
     "heartbeat", "view",       "replicate", "replicated", "state",  "restore", "decide",   "ready"});
constexpr std::string_view name_of(MessageKind kind) { return message_names[static_cast<std::size_t>(kind)]; }

// One push of one worker, by the worker's own count.
struct PushId {
  NodeId worker = 0;
  std::int64_t number = 0;
  bool operator==(const PushId&) const = default;
};

class Server;
struct Message;
struct View;

// What only few messages carry.
struct Attachment {
  std::vector<PushId> group = {}, late = {};  // group, replicate
  std::vector<PushId> skipped = {};           // replicate: pushes of a worker before this one will not come
  // replicate: workers that went on from where the others are, with the clocks that they skipped
  std::vector<PushId> ahead = {};
  // replicate, where a push is compensated for what its worker had been sent: workers that were sent what
  // is here, or, where filters have changed it, these values; and the running mean of squared gradients
  // after this entry, if there is one
  struct Shown {
    NodeId worker = 0;
    Slice filtered = {};
  };
  std::vector<Shown> shown = {};
  std::shared_ptr<const Values> mean_square = {};
  bool updates = false;                      // replicate, of every push: all that wait make an update now
  std::shared_ptr<const View> view = {};     // view
  std::shared_ptr<const Server> state = {};  // state
  std::vector<bool> members = {};            // replicate: workers that take part from here on
  // state: entries of the log, to be added to what is there
  std::shared_ptr<const std::vector<Message>> entries = {};
};

inline constexpr std::int64_t back_again = -1;  // Message::pushed

struct Message {
  MessageKind kind = MessageKind::join;
  NodeId from = 0, to = 0;
  std::uint32_t shard = 0;  // pull, weights, push, finished: of which shard; group: of the first one
  // pull: the clock to start; push: the clock that is finished by it
  std::int64_t clock = 0;
  // pull: only a version above this one will do (-1: any); weights, push: see above
  std::int64_t version = 0;
  // pull: counts the worker's pulls, returned by the answer; push: counts its pushes; assign: samples of a
  // batch, and `version` those of the workers before this one; idle: pieces that the receiver was given
  std::int64_t number = 0;
  // pull: pushes that the worker has sent to this server so far; back_again: it has just come back and does
  // not know;
  // push: the version of the first shard that it was computed on;
  // weights, finished, ack: how many of the worker's pushes no single crash undoes any more
  std::int64_t pushed = 0;
  // weights, push: the shard's values, and the bytes that they take on the network
  Slice values = {};
  SharedKeys keys = {};  // which of the shard's values, null: all; piece: samples, none of a phantom model
  std::uint64_t payload = 0;
  // push: of each batch of its gradient; piece: how many; pull: 0 if the push for that version is yet to come
  std::int64_t samples = 1;
  double seconds = 0;       // report: per sample; weights that are only read: when the server sent them
  std::int64_t kept = 0;    // push, pull: the worker can still send its pushes from this number on
  std::uint32_t epoch = 0;  // of the shard's ownership, as far as the sender knows
  // pull: clocks that the worker has skipped since it was away, and that it does not number pushes by;
  // weights: those that it is to skip
  std::int64_t ahead = 0;
  // pull: the number of the last pull whose answer is here, 0: nothing is; weights: as in the pull
  std::int64_t has = 0;
  bool has_push = false;  // weights: where nodes may fail, a push of the worker waits for the next update
  std::uint64_t wanted = 0;  // fetch: bytes of the samples
  std::shared_ptr<const Attachment> attached = {};

  // Of pushes and workers that it names.
  std::size_t ids() const {
    if (!attached) return 0;
    return attached->group.size() + attached->late.size() + attached->skipped.size() +
           attached->shown.size() + attached->ahead.size();
  }
  std::uint64_t bytes(std::uint64_t header) const {
    constexpr std::uint64_t bytes_per_id = 12;  // a worker's number and a count
    return header + payload + ids() * bytes_per_id;
  }
};

inline PushId id_of(const Message& push) { return {push.from, push.number}; }

inline std::int64_t samples_of(const std::vector<Message>& group) {
  std::int64_t samples = 0;
  for (const Message& push : group) samples += push.samples;
  return samples;
}

}  // namespace psim
