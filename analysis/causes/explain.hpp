// Why a run took as long as it did: its critical path, who held up whom, how stale gradients were, and two or
// three sentences about that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/end.hpp"
#include "analysis/causes/main_cause.hpp"
#include "analysis/causes/path.hpp"
#include "analysis/causes/staleness.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

struct Share {
  std::uint32_t node = 0;
  Kind kind = Kind::idle;
  double seconds = 0;
};

// How much later the computations of a worker (the updates of a server) could have ended. `least`, `median`:
// seconds, over those that the end of the run depends on.
struct NodeSlack {
  std::uint32_t node = 0;
  std::int64_t moments = 0, on_path = 0, without_effect = 0;
  double least = 0, median = 0;
};

// How the messages of the path spent their time, in seconds: latency, transfer as if each had its links
// alone, the extra time from shared links, and the rest at senders and receivers.
struct NetworkTime {
  double latency = 0, alone = 0, sharing = 0, rest = 0;
};

struct Explanation {
  Until until;
  double total = 0;  // simulated seconds from the start
  MainCause main_cause;
  std::vector<std::string> sentences;
  std::vector<PathPiece> path;
  std::vector<std::string> causes;  // of the pieces
  std::vector<Share> shares;        // of the path, most first; their sum is the total
  std::vector<WaitTotal> waits;
  std::vector<NodeSlack> slack;
  StalenessCost staleness;
  NetworkTime network;
  std::vector<LinkUse> links;  // the links that were full the longest, at most eight; over the whole run
};

// Throws Unverifiable for a run without events, and for a target that the run did not reach.
Explanation explain(const RunRecord& record, Until until = {});
// The same, with the graph of the run.
Explanation explain(const RunRecord& record, const CausalGraph& graph, Until until = {});

// For people. `width`: columns of the terminal.
std::string text(const Explanation& why, const Facts& facts, std::size_t width);
// "psim.why/1"
Json document(const Explanation& why, const Facts& facts);
// The part that a study keeps: {"total_s", "verdict", "by_kind", "sentence"}.
Json short_document(const Explanation& why, const Facts& facts);

}  // namespace psim::analysis
