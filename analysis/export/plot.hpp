// Charts as vector graphics: axes, lines, boxes, texts, in millimetres.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

// Colours that remain apart for the colour-blind (Okabe, Ito 2008).
inline constexpr const char* palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                          "#E69F00", "#56B4E9", "#000000", "#999999"};

struct Line {
  std::string name;  // empty: not in the legend
  std::vector<std::pair<double, double>> points;
  bool is_step = false;  // keeps its value until the next point
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<Line> lines;
  bool logarithmic = false;  // the y axis; all values above 0
};

// An SVG document of that width. Fonts are those of the reader: text is text, in a sans-serif font.
std::string svg(const Plot& plot, double width_mm);

// Round numbers within [low, high], about `count` of them, rising.
std::vector<double> ticks(double low, double high, int count);

// For SVG and XML.
std::string escaped(const std::string& text);

// `text`, cut so that it is about `width_mm` wide at most; an ellipsis shows the cut.
std::string fitted(const std::string& text, double width_mm);

// A document of this size with `body` in it.
std::string svg_document(double width_mm, double height_mm, const std::string& body);
// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

}  // namespace psim::analysis
