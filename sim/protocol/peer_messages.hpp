// The messages between workers in a cluster without servers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/protocol/message_facts.hpp"
#include "sim/protocol/payload.hpp"

namespace psim {

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

}  // namespace psim
