// Where a message's time went, and which links were full by whose messages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/links/lone.hpp"

namespace psim::analysis {

// A message's way to its receiver. received - sent = latency + alone + sharing + rest.
struct Transfer {
  std::int64_t message = 0;  // the number of its sending
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  bool is_lost = false;           // it did not arrive: `received` is when it was lost, and sharing is 0
  double sent = 0, received = 0;  // dates, in seconds
  double on_wire = 0;             // when it is on the links
  double begin = 0, end = 0;      // of its bytes there, after its latency
  double latency = 0, alone = 0;  // seconds
  double sharing = 0;             // seconds that others' messages, or a fault of a link, cost it
  double rest = 0;                // at its sender, at its receiver, and by a fault's delay
};

// All messages of a run, read once.
struct Traffic {
  explicit Traffic(const RunRecord& run);

  Lone lone;
  std::vector<Transfer> transfers;  // that arrived or were lost, in the order in which they did
};

struct LinkUse {
  struct Sender {
    std::uint32_t node;
    std::uint64_t bytes;
  };
  Link link;
  std::uint64_t messages = 0, bytes = 0;
  double busy = 0;              // seconds in which at least one message's bytes were on their way through it
  double use_while_busy = 0;    // bytes over what it can carry in that time
  double use = 0;               // likewise, in the whole run
  std::vector<Sender> senders;  // the three that sent most through it, the first one most
  // Seconds (from, to) in which it carried at least `full_share` of its bandwidth, if every message spread
  // its bytes evenly over its transfer. An estimate: a message is faster where it has a link to itself.
  std::vector<std::pair<double, double>> full;
  double full_seconds() const;
};
inline constexpr double full_share = 0.95;

// All links that carried anything, in the order of table `link`. Acknowledgements (cluster.network.
// cross_traffic) are not counted, and of a message that was lost what the others left it until then: a link
// never carries more than it can.
// `until`: the end of the run, in seconds. `left`: what faults leave of a link's bandwidth between two dates,
// as a share; empty: all.
using BandwidthLeft = std::function<double(std::uint32_t link, double from, double to)>;
std::vector<LinkUse> links_of(const Traffic& traffic, double until, const BandwidthLeft& left = {});

}  // namespace psim::analysis
