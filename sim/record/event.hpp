// One thing that happened. Everything that a run reports, its digest included, is a projection of the
// sequence of these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/protocol/message.hpp"

namespace psim {

enum class EventKind : std::uint8_t {
  send,            // node sends a message to peer
  deliver,         // node receives a message from peer
  lose,            // a message from node to peer will never arrive
  compute_begin,   // worker starts a gradient; value: its parts that are done, in a pipeline
  compute_end,     // ... and has it; value: parts to come
  compute_cancel,  // ... or stops, because it would come too late
  apply,           // server puts the push of peer into an update; value: staleness
  drop,            // server throws the push of peer away: too late (value 0), the run is over (1), a
                   // duplicate (2), or not for it now (3): it comes again
  update,          // server reaches `version`; or worker, where there are no servers
  finish,          // worker has done its last clock; value 1: it leaves before that
  compute_pause,   // worker waits for weights in the middle of a step
  compute_resume,  // ... and has them
  answer,          // inference node answers request `clock` with `version`; value: staleness in updates
  acked,           // worker hears from peer, owner in epoch `clock`, that its first `value` pushes to a shard
                   // are safe
  repeat,          // worker sends a request to peer again; value: its number
  suspect,         // scheduler takes peer for down
  view,            // scheduler has a new view, number `version`
  copied,          // server knows that peer holds a copy of a shard, and all that comes after
  promote,         // server owns a shard, in epoch `clock`, from version `version` on; value: the epoch of
                   // the last update that it begins with
  snapshot,        // storage has written version `version` of a shard of peer's
  fault,   // of node; value: its kind's row, version: 1 begin, 0 end, clock: its table; peer: a node of the
           // other side, if there are two
  member,  // server counts the pushes of peer anew: `value` applied, `version` arrived; clock: 1 it takes
           // part, 2 and is not waited for yet; bytes: clocks that it has skipped
};
inline constexpr auto event_names = std::to_array<std::string_view>(
    {"send",    "deliver",  "lose",   "compute_begin", "compute_end",   "compute_cancel",
     "apply",   "drop",     "update", "finish",        "compute_pause", "compute_resume",
     "answer",  "acked",    "repeat", "suspect",       "view",          "copied",
     "promote", "snapshot", "fault",  "member"});
constexpr std::string_view name_of(EventKind kind) { return event_names[static_cast<std::size_t>(kind)]; }

// What a message's bytes are made of, beside its header and fixed fields.
struct Content {
  std::uint32_t values = 0, keys = 0, ids = 0;
};

struct Event {
  double at = 0;  // simulated seconds
  EventKind kind = EventKind::send;
  MessageKind message = MessageKind::join;  // send, deliver, lose
  NodeId node = 0, peer = 0;
  std::int64_t clock = 0;
  std::int64_t version = 0;
  // send, deliver, lose: size; apply, drop: the push's number; update, promote: a hash of the shard's
  // weights, where there are replicas
  std::uint64_t bytes = 0;
  std::int64_t value = 0;
  std::uint32_t shard = 0;
  std::uint32_t epoch = 0;  // send, deliver, lose: of the shard's ownership, as far as the sender knows
  // Not part of the digest: they follow from what is.
  // compute_end, and compute_pause after samples of others: samples computed; update, promote: a hash of
  // everything that the next updates depend on, where there are replicas; a pull: pushes before it
  std::uint64_t detail = 0;
  Content content = {};  // send; of promote `ids`: pushes that came with the shard and wait for their update
};

inline constexpr std::int64_t left_by_itself = 1;  // value of `finish`

// A 64-bit hash of every field that is part of the digest, the same on every machine of one byte order.
std::uint64_t hash_of(const Event& event);

// One line for people.
std::string to_string(const Event& event);

// Whoever wants to see events. Observers cannot steer: they get a const reference and return nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event, std::uint64_t hash) = 0;
};

}  // namespace psim
