// How connections share a link: in turns, as TCP does.
//
// A sender's connections take turns: each puts a turn of bytes into the sender's queue, which holds about 128
// KiB of each (Linux: TCP small queues), and waits for its next. Over many turns the shares are equal. But a
// message ends with its last turn, and nothing else is sent before that is through: messages that began
// together end one after the other, by less than a turn each. Who is ahead gets further ahead, until the
// transfers of an asynchronous run no longer meet. docs/sharing.md has the measurements.
//
// Both carriers share links by weight, so here a message weighs the same until its last turn, which weighs
// last_turn_gain times as much. Where a turn begins is not related to where a message does, so the last
// turn is anything between nothing and a whole turn: one draw per message. The mechanism has no memory: no
// connection is faster than another over many messages.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cluster/pair_counts.hpp"
#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// What a message weighs in its last turn, against 1 of a message without one. More makes no difference to
// speak of (docs/sharing.md). Before its last turn a message with one has the rest of the latency, and weighs
// 4/3.
inline constexpr double last_turn_weight = 4;
inline constexpr double weight_before = 1 / (1 - 1 / last_turn_weight);
inline constexpr double last_turn_gain = last_turn_weight / weight_before;

class Turns {
 public:
  Turns() = default;  // ideal: no turns
  explicit Turns(const Scenario& scenario);
  // `spread`: 0.5 for last turns of up to `turn` bytes, proportionally for others.
  Turns(std::uint64_t seed, double spread, double turn) : seed_(seed), longest_(2 * spread * turn) {}

  // Bytes of the last turn of the connection's message of that number: fewer than `bytes`, and 0 of a message
  // that is one packet.
  std::uint64_t last_turn(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const;
  // Of the message that the connection sends next.
  std::uint64_t last_turn_of_next(NodeId from, NodeId to, std::uint64_t bytes);
  // Bytes of a message that are few against what tells it from others, a quarter of a last turn in the mean;
  // 0: nothing does.
  double step(std::uint64_t bytes) const { return std::min(longest_, static_cast<double>(bytes)) / 8; }

 private:
  std::uint64_t seed_ = 0;
  double longest_ = 0;
  PairCounts sent_ = {};  // messages, by connection
};

}  // namespace psim
