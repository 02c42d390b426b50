// The activity of every node over time.
//
// Workers: their spans (sim/record/spans.hpp) add up to the compute, network, wait and absent (here: down)
// times of summary.json, and also name the node that the time was for. Table `wait` of run.db means something
// else: the time in which a worker was held up (could not go on), and the message that ended it. So one row
// of that table becomes several spans: messages on their way, and between them the wait for others.
//
// Servers and the storage: `service` is the time of work on a message, from table `service`. Work that takes
// no time has no spans, only marks for updates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_record.hpp"
#include "sim/record/spans.hpp"

namespace psim::analysis {

using psim::Span;
using psim::Use;

// kind: fault, suspicion, view, promotion, update, join, leave, done. The text of a fault is its kind, with
// " ends" at its end.
struct Mark {
  double at = 0;
  std::string kind, text;
};

// What happens, after the name of the node: "crashes", "takes over shard 1".
std::string in_words(const Mark& mark);

struct Lane {
  std::uint32_t node = 0;
  std::string name;
  std::vector<Span> spans;  // in order, disjoint, not empty
  std::vector<Mark> marks;  // in order

  // Seconds of this use between two dates.
  double seconds(Use use, double from, double until) const;
};

// A time in which a node is slower or cut off: windows of stragglers, and lasting faults.
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

// Throws Unverifiable for events that are impossible in this run.
Timeline timeline_of(const RunRecord& run);

// The window that a time line shows first, on pages and terminals.

// The first fault after the start of the run. Dates are simulated seconds.
struct FirstFault {
  double at = 0, until = 0;  // until: all nodes know of it, or it is over; otherwise `at`
  std::string node, what;    // "server 1", "crash"
};
std::optional<FirstFault> first_fault(const Timeline& line);

struct Opening {
  double from = 0, until = 0;
};
// The window around the first fault, with some clocks before and after it; without a fault the first clocks.
Opening opening_of(const Timeline& line);

}  // namespace psim::analysis
