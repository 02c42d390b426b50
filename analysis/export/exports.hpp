// A run in the formats of other programs. Equal runs give equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/recording.hpp"
#include "analysis/render/svg_document.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

// Each text begins with something by which psim knows its own work again, within the first so many bytes.
inline constexpr std::size_t mark_within = 256;

// Perfetto's binary trace (ui.perfetto.dev): a process for each node, with its spans, its marks and counters.
// `flows`: numbers of messages that are drawn as arrows; rising. Thousands of them make the UI slow.
inline constexpr std::string_view perfetto_mark = "psim export";
std::string perfetto(const Recording& recording, std::span<const std::int64_t> flows);

// Paje's trace (pj_dump, ViTE): a container for each node, with states, messages as links, and events.
inline constexpr std::string_view paje_mark = "# psim export";
std::string paje(const Recording& recording);

// One table of spans, messages and marks.
inline constexpr std::string_view csv_mark = "what,node,begin_s,end_s,kind,other,clock,message,bytes,text\n";
std::string csv(const Recording& recording);

// Graphviz: the moments of the recording's time, and what each came of. Throws std::length_error when these
// are more than `most`: no program would draw them.
inline constexpr std::string_view dot_mark = "// psim export";
std::string dot(const Recording& recording, const CausalGraph& graph, std::size_t most = 2000);

// Charts as SVG, `width_mm` wide.
inline constexpr std::string_view picture_names[] = {"timeline.svg", "loss.svg", "staleness.svg",
                                                     "clocks.svg", "traffic.svg"};
struct Picture {
  std::string name, text;  // of a file, and what is in it
};
// Those of a run have the names above. `window`: of the time line; the others show all. A chart without data
// is left out.
std::vector<Picture> pictures(const Recording& all, const Recording& window, double width_mm);

// The charts of a study: loss.svg, accuracy.svg, times.svg and pareto.svg; of several conditions loss-1.svg,
// ...
struct StudyPictures {
  std::vector<Picture> pictures;
  std::vector<std::string> remarks;  // what they do not show, and why
};
StudyPictures study_pictures(const Study& study, const Evaluation& evaluation, double width_mm);

// A LaTeX document of the time line and the loss.
inline constexpr std::string_view tikz_mark = "% psim export";
std::string tikz(const Recording& all, const Recording& window);

}  // namespace psim::analysis
