// Connections share a link in turns, as with TCP.
//
// A sender's connections take turns. Each puts a turn of bytes into the sender's queue, which holds about 128
// KiB of each connection (Linux: TCP small queues), and waits for its next turn. Over many turns the shares
// are equal. But a message ends with its last turn, and no other connection sends during this turn. So
// messages that began together end one after the other, each less than a turn later. A connection that is
// ahead gets further ahead, until the transfers of an asynchronous run no longer overlap. docs/sharing.md has
// the measurements.
//
// Both carriers share links by weight. So in psim a message has a constant weight until its last turn, which
// has last_turn_gain times this weight. The start of a turn does not depend on the start of a message. So the
// length of the last turn is uniform between 0 and a whole turn: one draw per message. The mechanism has no
// memory: over many messages, no connection is faster than another.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cluster/pair_counts.hpp"
#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Weight of a message in its last turn; a message without a last turn has weight 1. A larger value makes
// almost no difference (docs/sharing.md). Before its last turn such a message has the rest of the latency, so
// its weight is 4/3.
inline constexpr double last_turn_weight = 4;
inline constexpr double weight_before = 1 / (1 - 1 / last_turn_weight);
inline constexpr double last_turn_gain = last_turn_weight / weight_before;

class Turns {
 public:
  Turns() = default;  // ideal: no turns
  explicit Turns(const Scenario& scenario);
  // `spread`: 0.5 for last turns of up to `turn` bytes, proportionally for others.
  Turns(std::uint64_t seed, double spread, double turn) : seed_(seed), longest_(2 * spread * turn) {}

  // Bytes of the last turn of message `number` of the connection: fewer than `bytes`, and 0 for a message of
  // one packet.
  std::uint64_t last_turn(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const;
  // The same for the message that the connection sends next.
  std::uint64_t last_turn_of_next(NodeId from, NodeId to, std::uint64_t bytes);
  // Stations::Load::step for a message of `bytes` bytes: a quarter of its mean last turn. So a segment is
  // small compared with the differences between messages. 0: no turns, so messages do not differ.
  double step(std::uint64_t bytes) const { return std::min(longest_, static_cast<double>(bytes)) / 8; }

 private:
  std::uint64_t seed_ = 0;
  double longest_ = 0;
  PairCounts sent_ = {};  // messages, by connection
};

}  // namespace psim
