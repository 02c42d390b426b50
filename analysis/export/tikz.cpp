#include <fmt/format.h>

#include "analysis/export/exports.hpp"
#include "analysis/timeline/choice.hpp"

namespace psim::analysis {
namespace {

// Escapes characters that are commands in LaTeX. pdflatex lacks letters for most characters outside ASCII.
std::string latex_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      if (byte >= 0xC0) out += '?';  // once for all bytes of a character of UTF-8
    } else if (c == '\\') out += "\\textbackslash{}";
    else if (c == '~' || c == '^') out += fmt::format("\\{}{{}}", c);
    else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) out += fmt::format("\\{}", c);
    else out += c;
  }
  return out;
}

std::string lanes_of(const Recording& window) {
  constexpr double width = 14, row = 0.5;  // cm
  const double scale = width / (window.until - window.from);
  std::string out = "\\begin{tikzpicture}[font=\\small]\n";
  double y = 0;
  const auto [lanes, left_out] = lanes_to_show(window.line, window.from, window.until, lanes_of_a_page);
  for (const Lane* one : lanes) {
    const Lane& lane = *one;
    out += fmt::format("\\node [left] at (0, {:.3f}) {{{}}};\n", y + row / 2, latex_of(lane.name));
    for (const Span& span : lane.spans)
      out += fmt::format("\\fill [{}] ({:.4f}, {:.3f}) rectangle ({:.4f}, {:.3f});\n", name_of(span.use),
                         (span.begin - window.from) * scale, y + 0.05, (span.end - window.from) * scale,
                         y + row - 0.05);
    for (const Mark& mark : lane.marks)
      out += fmt::format("\\draw ({0:.4f}, {1:.3f}) -- ({0:.4f}, {2:.3f});\n",
                         (mark.at - window.from) * scale, y, y + row);
    y -= row;
  }
  out += fmt::format("\\draw [->] (0, {0:.3f}) -- ({1}, {0:.3f});\n", y + row - 0.1, width + 0.3);
  constexpr int parts = 4;
  for (int i = 0; i <= parts; ++i)
    out += fmt::format("\\node [below] at ({:.4f}, {:.3f}) {{{:.4g}{}}};\n", width * i / parts, y + row - 0.1,
                       window.from + (window.until - window.from) * i / parts, i == parts ? "\\,s" : "");
  double x = 0;
  for (const Use use : {Use::compute, Use::network, Use::wait, Use::service, Use::down}) {
    out += fmt::format(
        "\\fill [{0}] ({1:.2f}, {2:.3f}) rectangle +(0.3, 0.3);\n\\node [right] at ({3:.2f}, {4:.3f}) "
        "{{{0}}};\n",
        name_of(use), x, y - 0.9, x + 0.3, y - 0.75);
    x += 2.4;
  }
  if (left_out > 0)
    out += fmt::format("\\node [right] at (0, {:.3f}) {{{} node{} left out}};\n", y - 1.3, left_out,
                       left_out == 1 ? "" : "s");
  return out + "\\end{tikzpicture}\n";
}

std::string loss_axis(const Recording& all) {
  bool is_positive = true;
  for (const LossCurve& curve : all.curves) {
    for (const auto& point : curve.points) is_positive = is_positive && point.second > 0;
  }
  const char* axis = is_positive ? "semilogyaxis" : "axis";
  std::string out = fmt::format(
      "\\begin{{tikzpicture}}\n\\begin{{{}}}[width=14cm, height=7cm, xlabel={{simulated time [s]}}, "
      "ylabel={{loss}}]\n",
      axis);
  for (const LossCurve& curve : all.curves) {
    out += "\\addplot+ [no marks, thick] coordinates {\n";
    for (const auto& [at, value] : curve.points) out += fmt::format("({}, {})\n", at, value);
    out += "};\n";
    if (!curve.name.empty()) out += fmt::format("\\addlegendentry{{{}}}\n", latex_of(curve.name));
  }
  return out + fmt::format("\\end{{{}}}\n\\end{{tikzpicture}}\n", axis);
}

}  // namespace

std::string tikz(const Recording& all, const Recording& window) {
  std::string out =
      fmt::format("{}: pdflatex FILE. Characters of names outside ASCII stand here as ?\n", tikz_mark);
  out +=
      "\\documentclass{article}\n\\usepackage[a4paper, landscape, margin=2cm]{geometry}\n"
      "\\usepackage{pgfplots}\n\\pgfplotsset{compat=1.16}\n";
  for (const auto& [use, colour] : use_colours) out += latex_colour(name_of(use), colour) + "\n";
  out += "\\begin{document}\n\\noindent\n";
  out += lanes_of(window);
  if (!all.curves.empty()) out += "\n\\bigskip\\noindent\n" + loss_axis(all);
  return out + "\\end{document}\n";
}

}  // namespace psim::analysis
