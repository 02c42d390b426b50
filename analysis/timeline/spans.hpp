// What every node did when.
//
// Workers: their spans add up to the compute, network, wait and absent (here: down) times of summary.json,
// and tell besides whom the time was for. The rule is psim's (analysis/timeline/day.hpp): a worker that does
// not compute, while any message from or to it is on its way, is on the network. Table `wait` of run.db tells
// something else: from when to when a worker could not go on, and which message ended that. So one wait of
// that table is several spans here: its messages on their way, and between them the wait for others. All of
// them have the node that it was for, and the message that ended it.
//
// Servers and the storage: `service`, from when a message is taken in hand until it is dealt with, as table
// `service` has it. Where that is no time there are no such spans, but marks of the updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run_record.hpp"
#include "analysis/timeline/day.hpp"

namespace psim::analysis {

// Dates are simulated seconds.
struct Span {
  double begin = 0, end = 0;
  Use use = Use::wait;
  // Of a wait, and of the network in it: the worker whose push (or other message) made a server answer, if
  // the server had made it wait; else the sender of the message that ended it. Where a server is down, and
  // another one answers a pull in its place: the one that is down. Of a service: the sender. Else the node
  // itself.
  std::uint32_t for_node = 0;
  std::int64_t clock = 0;     // that the worker is in, or waits to start; of a service: of the message
  std::int64_t message = -1;  // that ended the wait, or is worked on: its number in `sent`; none: -1
};

// kind: fault, suspicion, view, promotion, update, join, leave, done.
struct Mark {
  double at = 0;
  std::string kind, text;
};

struct Lane {
  std::uint32_t node = 0;
  std::string name;
  std::vector<Span> spans;  // rising, disjoint; none of no length
  std::vector<Mark> marks;  // rising

  // Seconds of this use between two dates.
  double seconds(Use use, double from, double until) const;
};

// A time in which a node is slower, or cut off: stragglers' windows, and faults that last.
struct Shade {
  static constexpr std::uint32_t everybody = ~0U;
  std::uint32_t node = everybody;
  double begin = 0, end = 0;
  std::string text;
};

struct Timeline {
  double end = 0;           // of the run
  std::vector<Lane> lanes;  // by node
  std::vector<Shade> shades;
};

// Throws Unverifiable for events that cannot be of this run.
Timeline timeline_of(const RunRecord& run);

}  // namespace psim::analysis
