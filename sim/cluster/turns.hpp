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
// A message begins with a first turn of share_start bytes: its connection puts them into the sender's queue
// at once, behind the first turns of the messages that began just before. So the messages of a sender begin
// one after the other. Where several senders begin with the same receiver, the other receivers' links are
// idle at first. A sender with one message loses nothing, nor does a receiver of one sender. After k first
// turns, the k messages have one turn each; so a message that has waited has less to make up for, and more
// weight.
//
// Both carriers share links by weight. So in psim a message has a constant weight until its last turn, which
// has last_turn_gain times this weight. The start of a turn does not depend on the start of a message. So the
// length of the last turn is uniform between 0 and a whole turn. The mechanism has no memory: over many
// messages, no connection is faster than another.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A count for each ordered pair of nodes. Ten thousand workers and a hundred servers make two million pairs;
// a std::map with one node per pair would use as much memory as the messages between them.
class PairCounts {
 public:
  // Adds one, and returns the count before. A pair begins at zero.
  std::uint32_t add_one(NodeId from, NodeId to) {
    if (from >= blocks_.size()) blocks_.resize(from + std::size_t{1});
    std::vector<Block>& row = blocks_[from];
    const NodeId number = to / Block::size;
    auto block = std::ranges::lower_bound(row, number, {}, &Block::number);
    if (block == row.end() || block->number != number) block = row.insert(block, Block{number});
    return block->counts[to % Block::size]++;
  }

 private:
  // A block of neighbours: nodes of one kind have consecutive numbers, and talk to the same nodes.
  struct Block {
    static constexpr NodeId size = 15;  // with `number`: 64 bytes
    NodeId number;
    std::array<std::uint32_t, size> counts = {};
  };
  std::vector<std::vector<Block>> blocks_;  // by sender; rising
};

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
    double wait = 0;              // seconds until its first turn
  };
  // The share of message `number` of the connection; Share{} with ideal sharing.
  Share share(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const;
  // The share of the message that the connection sends next, at `now`, over its sender's link with
  // `bandwidth` bytes per second (0: no link). A message of a stream goes on where another ended: no wait.
  Share next(const Cargo& cargo, double now, double bandwidth);
  // Stations::Load::step for a message of `bytes` bytes: a quarter of its mean last turn. So a segment is
  // small compared with the differences between messages. 0: no turns, so messages do not differ.
  double step(std::uint64_t bytes) const { return std::min(longest_, static_cast<double>(bytes)) / 8; }

 private:
  void begin(const Cargo& cargo, double now, double bandwidth, Share& share);

  std::uint64_t seed_;
  double first_turn_;  // bytes
  double longest_;     // last turn, in bytes; 0: ideal sharing
  // Of the logarithms of weights.
  double variance_;                             // a message's own
  double variance_of_sender_;                   // of all messages of a sender with the same number
  PairCounts sent_ = {};                        // messages, by connection
  std::vector<double> first_turns_until_ = {};  // dates, by node
};

// The weight of a message on a link that it shares with others, for both carriers.
//
// A flow's share is proportional to its weight 1 / latency; with TCP, it is proportional to 1 / round-trip
// time. Perfect max-min sharing keeps identical workers in lock-step for ever: all push together, all pull
// together, nothing overlaps, and asp is as slow as bsp. Real systems do not behave like this. So the end of
// a message has more weight (turns.hpp). share_spread = 0 is the textbook case.

// The factors of a flow model on the scenario's latencies and bandwidths. lv08, SimGrid's default, has
// 13.01 x latency and 0.97 x bandwidth, calibrated on TCP (Velho, Legrand 2009), with a window of 4 MiB. cm02
// without a window is latency + bytes / bandwidth.
struct FlowModel {
  double latency = 1, bandwidth = 1;  // factors
  double window = 0;                  // bytes per round trip; 0: no limit
  double weight = 0;                  // bytes: each link adds this / bandwidth to the divisor of the weight
};
FlowModel flow_model(const NetworkSpec& network);

// Bytes of acknowledgements in the opposite direction per byte of a message, as in SimGrid.
inline constexpr double share_of_acknowledgements = 0.05;

// The weight of a message. `latency`: of its route; `slowness`: seconds per byte, summed over the route's
// links.
double share_weight(const NetworkSpec& network, double latency, double slowness);

// Share of a route's latency that SimGrid counts for a flow of weight 1 (carrier.cpp).
inline constexpr double own_latency = 1.0 / 16;

// SimGrid gets latencies in seconds times this unit; the delay of a flow divides by it again. SimGrid treats
// values below a fixed precision as zero (maxmin/precision). The sum of a hundred flows' weights of a million
// each has a larger rounding error, and SimGrid then ends the process. The unit makes the weights smaller. A
// power of two changes no digit.
double latency_unit(const NetworkSpec& network);

}  // namespace psim
