// The messages between workers and servers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/protocol/message_facts.hpp"
#include "sim/protocol/payload.hpp"

namespace psim {

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

}  // namespace psim
