// Exports of a run for other programs. Equal runs give equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/recording.hpp"
#include "analysis/render/svg_chart.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

// Each text has a mark by which psim recognizes its own files, within this number of bytes.
inline constexpr std::size_t mark_within = 256;

// Perfetto's binary trace (ui.perfetto.dev): a process for each node, with spans, marks and counters.
// `flows`: numbers of the messages to draw as arrows, ascending. Thousands of arrows make the UI slow.
inline constexpr std::string_view perfetto_mark = "psim export";
std::string perfetto(const Recording& recording, std::span<const std::int64_t> flows);

// One table of spans, messages and marks.
inline constexpr std::string_view csv_mark = "what,node,begin_s,end_s,kind,other,clock,message,bytes,text\n";
std::string csv(const Recording& recording);

// Graphviz: the moments within the time of the recording, and the causes of each. Throws std::length_error if
// there are more than `most`: no program would draw them.
inline constexpr std::string_view dot_mark = "// psim export";
std::string dot(const Recording& recording, const CausalGraph& graph, std::size_t most = 2000);

// Charts as SVG, `width_mm` wide.
inline constexpr std::string_view picture_names[] = {"timeline.svg", "loss.svg", "staleness.svg",
                                                     "clocks.svg", "traffic.svg"};
struct Picture {
  std::string name, text;  // of a file, and its content
};
// The charts of a run, with the names above. `window`: for the time line; the other charts show all of the
// run. Charts without data are left out.
std::vector<Picture> pictures(const Recording& all, const Recording& window, double width_mm);

// The charts of a study: loss.svg, accuracy.svg, times.svg and pareto.svg; with several conditions
// loss-1.svg, ...
struct StudyPictures {
  std::vector<Picture> pictures;
  std::vector<std::string> remarks;  // charts or data that are missing, and why
};
StudyPictures study_pictures(const Study& study, const Evaluation& evaluation, double width_mm);

// A LaTeX document of the time line and the loss.
inline constexpr std::string_view tikz_mark = "% psim export";
std::string tikz(const Recording& all, const Recording& window);

}  // namespace psim::analysis
