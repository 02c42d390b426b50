// The critical path of a run, and the node that caused each wait.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// A piece of the path: [begin, end) in simulated seconds. The time of a message counts for its sender.
struct PathPiece {
  double begin = 0, end = 0;
  std::uint32_t node = 0, to = 0;  // to: the receiver of a message, otherwise `node`
  Kind kind = Kind::idle;
  std::uint32_t effect = CausalGraph::none;  // the moment that it ends with
  double seconds() const { return end - begin; }
};

// The path from the start of the run, or from the date `since`, to the moment `end`; in order of time. Each
// piece begins where the piece before it ends, the first at `since`. `until`: a later date up to which
// nothing else happened.
std::vector<PathPiece> path_to(const CausalGraph& graph, std::uint32_t end, double until, double since = 0);

// The number of the message that took the time of the piece; -1: none.
std::int64_t message_of(const CausalGraph& graph, const PathPiece& piece);

// The work of a piece in words: "step 12", "push of step 12, 4820 B".
std::string cause_of(const CausalGraph& graph, const Facts& facts, const PathPiece& piece);

// How often and how long a worker could not go on because of one kind of work of one node: the node whose
// computing or messages took most of the wait. A message between a worker and a server counts for the server.
struct WaitTotal {
  std::uint32_t waiter = 0, awaited = 0;  // nodes
  std::int64_t count = 0;
  double seconds = 0, first = 0, last = 0;  // first: the earliest begin of such a wait; last: the latest end
  Kind kind = Kind::idle;                   // took most of each wait
};
// The waits that end before the date; by waiter, then by seconds, largest first.
std::vector<WaitTotal> waits_of(const CausalGraph& graph, const Facts& facts, double until, bool is_stuck);

// How many seconds later each moment could come without delaying the end; infinite for moments that the end
// does not depend on.
std::vector<double> slack_of(const CausalGraph& graph, std::uint32_t end);

}  // namespace psim::analysis
