// When everything would have happened: a run's causal graph once more, with other times between causes and
// effects.
//
// Decisions:
// - A moment comes when all its causes allow it: t'(v) = max over causes u of t'(u) + least'(u, v). With
// nothing
//   changed that is the run itself, date by date.
// - Messages share links with those that are on their way at the new dates (sharing.hpp). So the moments come
// in
//   the order of the new dates.
// - The next message of a stream leaves when the one before has left: a latency before that arrives.
// - Faults stay at their dates, and so does what has no cause.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/links/links.hpp"
#include "analysis/whatif/sharing.hpp"
#include "analysis/whatif/speed.hpp"

namespace psim::analysis {

struct Hypothesis {
  std::vector<double> compute = {};   // by worker: a computation takes so many times as long; empty: 1
  std::vector<bool> never_slow = {};  // by worker: the scenario's stragglers leave it out; empty: false
  // By worker and clock, beside that; empty: 1.
  std::vector<std::vector<double>> of_clock = {};
  double bandwidth = 1, latency = 1, window = 1;  // of all links: so many times as much
  double server_work = 1, overhead = 1;           // what servers, and both ends of messages, take
};

// The way of a message, from its sending to the moment that it ends with. What its ends need for it, and what
// a fault makes it late by, is no matter of the links and lasts as long as it did.
struct Carried {
  std::uint32_t sending = 0, effect = 0;  // moments
  std::uint32_t way = 0;
  double before = 0;                       // seconds until it is on the links
  double latency = 0;                      // seconds until its bytes are
  double load = 0;                         // what it has to carry
  double after = 0;                        // seconds from there to its effect
  std::uint32_t next = CausalGraph::none;  // the sending that waits until it has left
};

class Replay {
 public:
  Replay(const RunRecord& record, const CausalGraph& graph, const Traffic& traffic);
  // By moment, in seconds.
  std::vector<double> dates(const Hypothesis& hypothesis) const;
  // Of the unchanged run: by how much a date is off at most, as a share of the last one.
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
  std::vector<std::uint32_t> message_of_;  // by moment: of the message that ends with it; none: it is no such
  std::vector<std::uint32_t> begun_by_;    // ... that begins with it
  std::vector<std::uint32_t> first_effect_, effects_;  // by moment: its effects
};

}  // namespace psim::analysis
