// Programs that read the files of a study, in the same folder.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/render/text_table.hpp"
#include "analysis/study/csv.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/files.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t points_of_curves = 200;

constexpr std::array<std::string_view, 12> file_names{
    "README.txt",    "analysis.R",    "analysis.py", "curves.csv", "curves.tex", "curves_mean.csv",
    "manifest.json", "results.jsonl", "runs.csv",    "study.db",   "study.json", "trials.csv"};

// The files that analysis.R and pdflatex create.
constexpr std::array<std::string_view, 4> made_names{"curves.aux", "curves.log", "curves.pdf", "losses.pdf"};

constexpr const char* analysis_py =
#include "analysis/study/snippets/analysis.py.inc"
    ;
constexpr const char* analysis_r =
#include "analysis/study/snippets/analysis.R.inc"
    ;
constexpr const char* readme =
#include "analysis/study/snippets/README.txt.inc"
    ;

// Losses span decades, so the axis is logarithmic if all values and intervals are above zero.
bool all_positive(const ConditionCurves& condition) {
  return std::ranges::all_of(condition.curves, [](const MeanCurve& curve) {
    return std::ranges::all_of(curve.band, [](const statistics::BandPoint& point) {
      return (point.interval ? point.interval->low : point.mean) > 0;
    });
  });
}

// One axis, with the curves from `number` on; increases `number`.
std::string axis_of(const ConditionCurves& condition, std::size_t& number) {
  const char* axis = all_positive(condition) ? "semilogyaxis" : "axis";
  std::string out = fmt::format(
      "\\begin{{tikzpicture}}\n\\begin{{{}}}[width=12cm, height=7cm, xlabel={{simulated time [s]}}, "
      "ylabel={{loss}},\n"
      "  title={{{}}}, legend pos=outer north east, legend cell align=left, legend style={{font=\\small}}]\n",
      axis, latex(condition.label));
  std::size_t colour = 0;
  for (const MeanCurve& curve : condition.curves) {
    if (curve.band.empty()) continue;
    const auto from = [&](const char* column) {
      return fmt::format("table [x=t{0}, y={1}{0}, col sep=comma] {{curves_mean.csv}};\n", number, column);
    };
    if (curve.band.front().interval) {
      out += fmt::format("\\addplot [name path=low{}, draw=none, forget plot] {}", number, from("low"));
      out += fmt::format("\\addplot [name path=high{}, draw=none, forget plot] {}", number, from("high"));
      out += fmt::format("\\addplot [c{1}, opacity=0.2, forget plot] fill between [of=low{0} and high{0}];\n",
                         number, colour % 6);
    }
    out += fmt::format("\\addplot [c{}, thick, no marks] {}\\addlegendentry{{{}}}\n", colour % 6,
                       from("mean"), latex(curve.label));
    ++number;
    ++colour;
  }
  return out + fmt::format("\\end{{{}}}\n\\end{{tikzpicture}}\n\n", axis);
}

std::string with_baseline(std::string text, const std::string& baseline) {
  constexpr std::string_view mark = "BASELINE";
  std::string escaped;
  for (const char c : baseline) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return text.replace(text.find(mark), mark.size(), escaped);
}

std::string curves_tex(const Study& study, std::size_t points) {
  std::string out =
      "% The mean losses of the study's arms with their 95 % intervals: pdflatex curves.tex\n"
      "\\documentclass{article}\n\\usepackage[a4paper, landscape, margin=2cm]{geometry}\n"
      "\\usepackage{pgfplots}\n\\pgfplotsset{compat=1.16}\n\\usepgfplotslibrary{fillbetween}\n"
      "\\definecolor{c0}{HTML}{0072B2}\\definecolor{c1}{HTML}{D55E00}\\definecolor{c2}{HTML}{009E73}\n"
      "\\definecolor{c3}{HTML}{CC79A7}\\definecolor{c4}{HTML}{E69F00}\\definecolor{c5}{HTML}{56B4E9}\n"
      "\\begin{document}\n\\noindent\n";
  std::size_t number = 0;
  for (const ConditionCurves& condition : mean_curves(study, points)) {
    const auto drawn = [](const MeanCurve& curve) { return !curve.band.empty(); };
    if (std::ranges::any_of(condition.curves, drawn)) out += axis_of(condition, number);
  }
  return number == 0 ? "" : out + "\\end{document}\n";
}

}  // namespace

std::span<const std::string_view> study_file_names() { return file_names; }
std::span<const std::string_view> made_file_names() { return made_names; }

std::vector<StudyFile> study_files(const Study& study, const Evaluation& evaluation) {
  std::vector<StudyFile> files{{"study.json", document(study, evaluation).dump(1) + "\n"},
                               {"runs.csv", runs_csv(study)},
                               {"curves.csv", curves_csv(study)},
                               {"README.txt", readme},
                               {"analysis.py", analysis_py},
                               {"analysis.R", with_baseline(analysis_r, study.baseline)}};
  if (std::string curves = mean_curves_csv(study, points_of_curves); !curves.empty()) {
    files.push_back({"curves_mean.csv", std::move(curves)});
    files.push_back({"curves.tex", curves_tex(study, points_of_curves)});
  }
  if (study.tuning.contains("settings")) files.push_back({"trials.csv", trials_csv(study)});
  return files;
}

}  // namespace psim::analysis
