#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "analysis/export/exports.hpp"

namespace psim::analysis {
namespace {

// "push to server 1", "step 3 begun"
std::string label_of(const Recording& recording, const Moment& moment) {
  const std::string_view word = moment.word();
  const auto name = [&](std::uint32_t node) {
    const auto& lanes = recording.line.lanes;
    return node < lanes.size() ? lanes[node].name : "?";
  };
  std::string what(moment.is_event() ? moment.name() : "all pushes are there");
  if (moment.is<Sent>()) what = fmt::format("{} to {}", word, name(moment.peer));
  else if (moment.is<Received>()) what = fmt::format("{} from {}", word, name(moment.peer));
  else if (!word.empty() && word != what) what = fmt::format("{} {}", word, what);
  return fmt::format("{}\\nclock {}  {:.6g} s", what, moment.clock, moment.at);
}

}  // namespace

std::string dot(const Recording& recording, const CausalGraph& graph, std::size_t most) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_node;
  std::size_t count = 0;
  const auto is_here = [&](std::uint32_t vertex) {
    const double at = graph.moments[vertex].at;
    return at >= recording.from && at <= recording.until;
  };
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    if (!is_here(vertex)) continue;
    of_node[graph.moments[vertex].node].push_back(vertex);
    if (++count > most)
      throw std::length_error(fmt::format("more than {} moments from {:.6g} s until {:.6g} s", most,
                                          recording.from, recording.until));
  }
  std::string out = fmt::format("{}: from cause to effect; bold: what the effect waited for\n", dot_mark);
  out +=
      "digraph causes {\n  rankdir=LR;\n  newrank=true;\n  node [shape=box, fontsize=10];\n  edge "
      "[fontsize=9];\n";
  for (const auto& [node, vertices] : of_node) {
    out += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n", node,
                       recording.line.lanes.at(node).name);
    for (const std::uint32_t vertex : vertices)
      out += fmt::format("    m{} [label=\"{}\"];\n", vertex, label_of(recording, graph.moments[vertex]));
    out += "  }\n";
  }
  for (const auto& [node, vertices] : of_node) {
    for (const std::uint32_t vertex : vertices) {
      bool is_binding = true;  // the first
      const auto [begin, end] = out_edges(vertex, graph.moments);
      for (auto edge = begin; edge != end; ++edge) {
        const auto cause = static_cast<std::uint32_t>(target(*edge, graph.moments));
        if (is_here(cause))
          out +=
              fmt::format("  m{} -> m{} [label=\"{}\"{}];\n", cause, vertex,
                          name_of(graph.moments[*edge].kind), is_binding ? ", style=bold" : ", style=dashed");
        is_binding = false;
      }
    }
  }
  return out + "}\n";
}

}  // namespace psim::analysis
