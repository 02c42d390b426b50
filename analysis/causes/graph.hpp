// The causal graph of a run: every event that did something is a moment, and each moment has the moments that
// it came of. So a run's end can be followed back to its start.
//
// Decisions:
// - The record has the cause of each event, and the other events that it needed (docs/tables.md). This code
//   guesses nothing.
// - One cause is binding: the last one that the moment waited for. The others were there earlier; they matter
//   to who asks what would have happened without the binding one.
// - An edge goes from an effect to its cause, and a cause has the smaller number: the graph has no circles,
//   and every pass over it is one loop over the numbers.
// - A moment without a type is no event of the record: then the pushes of all workers for a clock were
//   applied.
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

// What the time between a cause and its effect went into.
using Kind = Spent;
inline constexpr const auto& kind_names = spent_names;
constexpr std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

struct Moment {
  double at = 0;            // simulated seconds
  std::int64_t number = 0;  // of the event
  std::int64_t message = -1;
  std::int64_t clock = 0, version = 0;
  std::uint64_t bytes = 0;
  std::int64_t staleness = 0;         // updates, of a push that is applied
  double since = 0;                   // of a wait
  std::uint32_t node = 0, peer = 0;   // peer: the receiver of what is sent, the sender of what arrives, ...
  std::uint32_t shard = 0, part = 0;  // part: of a computation
  bool begins = false;                // of a fault
  Name type;
  std::uint16_t word = 0;  // of CausalGraph::words: a message's or a fault's kind, a wait's `awaited`, ...
};

struct Cause {
  Kind kind = Kind::idle;
  double least = 0;  // seconds that the effect comes after it at least; of a binding cause all that there are
};

using Moments = boost::compressed_sparse_row_graph<boost::directedS, Moment, Cause, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;

struct CausalGraph {
  static constexpr std::uint32_t none = ~0U;
  Moments moments;  // out-edges lead to causes, the binding one first
  std::vector<std::string> words;
  std::vector<std::uint32_t> sent;  // by number of a sending: its moment; none: not sent, or not kept

  std::string_view word_of(const Moment& moment) const { return words[moment.word]; }
  std::size_t size() const { return num_vertices(moments); }
};

// Throws Unverifiable.
CausalGraph causal_graph(const RunRecord& record);

}  // namespace psim::analysis
