// Connections share a link in turns, as with TCP.
//
// A sender's connections take turns. Each puts a turn of bytes into the sender's queue, which holds about 128
// KiB of each connection (Linux: TCP small queues), and waits for its next turn. Over many turns the shares
// are equal. But a message ends with its last turn, and no other connection sends during this turn. So
// messages that began together end one after the other, each less than a turn later. A connection that is
// ahead gets further ahead, until the transfers of an asynchronous run no longer overlap. docs/sharing.md has
// the measurements.
//
// The shares of connections also differ during a message. The more connections share a port's queue, the
// smaller is the window of each, and the more windows differ in proportion. The windows of a sender are
// alike: its messages to several receivers are fast or slow together. So a message draws two weights, both
// lognormal with mean 1: its own, with a variation of share_cv * n / 4 for n connections of a port, and one
// that it shares with the messages of the same number to all other receivers, with 1.5 times this variation.
// Beyond eight connections nothing was measured, so the variation no longer grows.
//
// Both carriers share links by weight. So in psim a message has a constant weight until its last turn, which
// has last_turn_gain times this weight. The start of a turn does not depend on the start of a message. So the
// length of the last turn is uniform between 0 and a whole turn. The mechanism has no memory: over many
// messages, no connection is faster than another.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cluster/pair_counts.hpp"
#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Bytes of a message that nothing divides.
inline constexpr std::uint64_t undivided = 1500;

// Weight of a message's last turn over its weight before. A larger value makes almost no difference
// (docs/sharing.md).
inline constexpr double last_turn_gain = 3;

class Turns {
 public:
  explicit Turns(const Scenario& scenario);

  // A message's part in the links that it shares with others.
  struct Share {
    std::uint64_t last_turn = 0;  // bytes: fewer than the message's, and 0 for a message of one packet
    double weight = 1;            // until its last turn
  };
  // The share of message `number` of the connection; Share{} with ideal sharing.
  Share share(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const;
  // The share of the message that the connection sends next.
  Share next(NodeId from, NodeId to, std::uint64_t bytes);
  // Stations::Load::step for a message of `bytes` bytes: a quarter of its mean last turn. So a segment is
  // small compared with the differences between messages. 0: no turns, so messages do not differ.
  double step(std::uint64_t bytes) const { return std::min(longest_, static_cast<double>(bytes)) / 8; }

 private:
  std::uint64_t seed_;
  double longest_;  // last turn, in bytes; 0: ideal sharing
  // Of the logarithms of weights.
  double variance_;            // a message's own
  double variance_of_sender_;  // of all messages of a sender with the same number
  PairCounts sent_ = {};       // messages, by connection
};

}  // namespace psim
