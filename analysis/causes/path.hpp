// The critical path of a run, and whom each wait was for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// A stretch of the path: [begin, end) in simulated seconds. A message's time is its sender's.
struct PathPiece {
  double begin = 0, end = 0;
  std::uint32_t node = 0, to = 0;  // to: the receiver of a message, else the node
  Kind kind = Kind::idle;
  std::uint32_t effect = CausalGraph::none;  // the moment that it ends with
  double seconds() const { return end - begin; }
};

// Back from a moment to the start of the run, or to the date `since`; rising. Each piece begins where the one
// before it ends, the first at `since`. `until`: a later date up to which nothing else happened.
std::vector<PathPiece> path_to(const CausalGraph& graph, std::uint32_t end, double until, double since = 0);

// The number of the message that the piece was spent on; -1: on none.
std::int64_t message_of(const CausalGraph& graph, const PathPiece& piece);

// What a piece was spent on: "step 12", "push of step 12, 4820 B".
std::string cause_of(const CausalGraph& graph, const Facts& facts, const PathPiece& piece);

// How often and how long a worker waited for the same of another node, which is the one whose computing, or
// whose messages, took most of the time that a wait lasted. Of a message between a worker and a server that
// is the server.
struct WaitTotal {
  std::uint32_t waiter = 0, awaited = 0;  // nodes
  std::int64_t count = 0;
  double seconds = 0, first = 0, last = 0;  // first: the earliest begin of such a wait; last: the latest end
  Kind kind = Kind::idle;                   // what most of each was spent on
};
// Of waits that end until the date; by waiter, then by seconds, most first.
std::vector<WaitTotal> waits_of(const CausalGraph& graph, const Facts& facts, double until);

// How much later each moment could have been without the end being later, in seconds; of moments that the end
// does not depend on, infinite.
std::vector<double> slack_of(const CausalGraph& graph, std::uint32_t end);

}  // namespace psim::analysis
