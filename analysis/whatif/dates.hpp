// Replays the causal graph of a run with other times between causes and effects: when would each moment come?
//
// Decisions:
// - A moment comes when all its causes allow it: t'(v) = max over causes u of t'(u) + least'(u, v). Without a
//   change this gives exactly the dates of the run.
// - Messages share links with the messages that are on their way at the new dates (sharing.hpp). So the pass
//   visits moments in the order of the new dates.
// - The next message of a stream leaves when the message before it has left, one latency before that arrives.
// - Faults and moments without a cause keep their dates.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/links/links.hpp"
#include "analysis/whatif/sharing.hpp"
#include "analysis/whatif/speed.hpp"

namespace psim::analysis {

struct Hypothesis {
  std::vector<double> compute = {};   // by worker: factor for the length of a computation; empty: 1
  std::vector<bool> never_slow = {};  // by worker: no [[straggler]] slows it; empty: false
  // By worker and clock: another factor for computing; empty: 1.
  std::vector<std::vector<double>> of_clock = {};
  double bandwidth = 1, latency = 1, window = 1;  // factors for all links
  double server_work = 1, overhead = 1;  // factors for the time at servers, and at both ends of messages
};

// The way of a message, from its sending to the moment of its end. The time at its ends and the delay by a
// fault do not depend on links and stay unchanged.
struct Carried {
  std::uint32_t sending = 0, effect = 0;  // moments
  std::uint32_t way = 0;
  double before = 0;                       // seconds until it is on the links
  double latency = 0;                      // seconds on the links until its bytes flow
  double load = 0;                         // the amount to carry (see sharing.hpp)
  double after = 0;                        // seconds from the end of the transfer to its effect
  std::uint32_t next = CausalGraph::none;  // the sending that waits until this message has left
};

class Replay {
 public:
  Replay(const RunRecord& record, const CausalGraph& graph, const Traffic& traffic);
  // The new date of each moment, in seconds.
  std::vector<double> dates(const Hypothesis& hypothesis) const;
  // The largest error of a date when nothing is changed, as a share of the last date.
  double error() const;

 private:
  class Pass;
  void find_messages(const Traffic& traffic);
  void weigh_messages();

  const CausalGraph& graph_;
  const Facts& facts_;
  Ways ways_;
  Speed speed_;
  std::vector<Carried> messages_;
  std::vector<std::uint32_t> message_of_;              // by moment: the message that ends here, or none
  std::vector<std::uint32_t> begun_by_;                // by moment: the message that begins here, or none
  std::vector<std::uint32_t> first_effect_, effects_;  // by moment: its effects
  double end_ = 0;                                     // the last date of the run, in seconds
};

}  // namespace psim::analysis
