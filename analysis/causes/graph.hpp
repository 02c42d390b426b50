// The causal graph of a run: every event that did something is a moment, and each moment knows its causes,
// which are moments too. So a path leads from the end of the run back to its start.
//
// Decisions:
// - The record has the cause of each event, and the other events that it needed (docs/tables.md). The graph
//   is read, not inferred.
// - One cause is binding: the cause that came last. The other causes came earlier; they matter for the
//   question what would have happened without the binding cause.
// - An edge goes from an effect to its cause, and a cause has a smaller number than its effect. So the graph
//   has no cycles, and one loop over the numbers visits everything in order.
// - A moment without a type is no event of the record: it is the date when the pushes of all workers for a
//   clock were applied.
#pragma once

#include <array>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_record.hpp"
#include "sim/protocol/cause.hpp"

namespace psim::analysis {

// How the time between a cause and its effect was spent.
using Kind = Spent;
inline constexpr const auto& kind_names = spent_names;
constexpr std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

struct Moment {
  double at = 0;            // simulated seconds
  std::int64_t number = 0;  // of the event
  std::int64_t message = -1;
  std::int64_t clock = 0, version = 0;
  std::uint64_t bytes = 0;
  std::int64_t staleness = 0;         // in updates, for an applied push
  double since = 0;                   // start of a wait
  std::uint32_t node = 0, peer = 0;   // peer: the receiver of what is sent, the sender of what arrives, ...
  std::uint32_t shard = 0, part = 0;  // part: of a computation
  bool begins = false;                // of a fault
  Name type;
  std::uint16_t word = 0;  // of CausalGraph::words: a message's or a fault's kind, a wait's `awaited`, ...
};

struct Cause {
  Kind kind = Kind::idle;
  double least = 0;  // least seconds from the cause to the effect; for a binding cause the exact seconds
};

using Moments = boost::compressed_sparse_row_graph<boost::directedS, Moment, Cause, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;

struct CausalGraph {
  static constexpr std::uint32_t none = ~0U;
  Moments moments;  // out-edges lead to causes, the binding one first
  std::vector<std::string> words;
  // By message number: the moment of its sending; none: not sent, or not kept.
  std::vector<std::uint32_t> sent;

  std::string_view word_of(const Moment& moment) const { return words[moment.word]; }
  std::size_t size() const { return num_vertices(moments); }
};

// Throws Unverifiable.
CausalGraph causal_graph(const RunRecord& record);

}  // namespace psim::analysis
