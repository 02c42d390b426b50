// Curves and marks over two axes, as a vector graphic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// The spread of the values of a line at one place.
struct BandPart {
  double x = 0, low = 0, high = 0;
};

struct Line {
  std::string name;  // empty: not in the legend
  std::vector<std::pair<double, double>> points;
  bool is_step = false;                 // keeps its value until the next point
  std::vector<BandPart> band = {};      // around it
  std::optional<std::size_t> arm = {};  // uses the colour of this arm of a study
};

// A mark with its name next to it. If there is no room for names: a letter in the mark, and a legend.
struct Spot {
  std::string name, letter;
  double x = 0, y = 0;
  std::size_t arm = 0;
  bool is_filled = true;
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<Line> lines = {};
  std::vector<Spot> spots = {};  // if not empty, both axes begin at 0
  bool logarithmic = false;      // the y axis; all values above 0
  bool logarithmic_x = false;    // the x axis; all values above 0
  double least_top = 0;          // the y axis reaches this value at least
};

// An SVG document of this width. Text stays text, in a sans-serif font.
std::string svg(const Plot& plot, double width_mm);
// The same as an element of an HTML page.
std::string svg_within_page(const Plot& plot);

// Names beside marks, so that none covers another.

// In millimetres, down from the top.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool meets(const Box& other) const;
  bool holds(const Box& other) const;
};

struct MarkedName {
  std::string name;
  double x = 0, y = 0;  // of its mark
};

// The place of a name: it starts or ends at `x`.
struct Label {
  double x = 0, y = 0;  // the middle of its height
  const char* anchor;   // start or end
  bool is_far = false;  // far from its mark: a line should connect them
};

// Places the names right or left of their marks within `area`, as near as possible. None if there is no room
// for all.
std::optional<std::vector<Label>> labels_of(const std::vector<MarkedName>& names, double radius,
                                            const Box& area);

// Vector graphics in millimetres: documents, and texts of limited width.

// A mark in every document, by which psim recognizes its own files.
inline constexpr std::string_view svg_mark = "<!-- psim export -->";

inline constexpr double text_mm = 2.5, line_mm = text_mm + 1;

// A document of this size with `body` in it. It embeds the letters that texts of psim need.
std::string svg_document(double width_mm, double height_mm, const std::string& body);
// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

// The approximate width of `text`.
double text_width(const std::string& text);
// `text`, cut to about `width_mm`; an ellipsis shows the cut.
std::string fitted(const std::string& text, double width_mm);
// `text` in lines of at most this width, broken at spaces. A longer word is cut, as above.
std::vector<std::string> wrapped_in_mm(const std::string& text, double width_mm);

// The marks of an axis.

// About `count` round numbers within [low, high], ascending.
std::vector<double> ticks(double low, double high, int count);

// The colours of all pictures and pages, as analysis/page/page.css has them for a light page. They remain
// apart for the colour-blind.

// Of a study's arms, and of any lines in their order.
inline constexpr const char* arm_colours[] = {"#0072b2", "#d55e00", "#009e73", "#b85c93",
                                              "#b87d00", "#3b9bd6", "#000000", "#7a5bc0"};

// "stroke" and "stroke-dasharray" of an arm. After eight arms colours repeat with other dashes.
std::string arm_stroke(std::size_t arm);

// "a", "b", ..., "z", "aa": names a series in addition to its colour.
std::string letter_of(std::size_t series);

// Of the uses of a node's time.
inline constexpr std::pair<Use, const char*> use_colours[] = {{Use::compute, "#3a4660"},
                                                              {Use::network, "#d6c49c"},
                                                              {Use::wait, "#dfe4ea"},
                                                              {Use::service, "#a3ad5e"},
                                                              {Use::down, "#7a1f3d"}};
const char* colour_of(Use use);

// Near them, of the 256 colours of a terminal: legible on a light and on a dark background. In Use's order.
inline constexpr std::string_view terminal_colours[] = {"38;5;67", "38;5;137", "38;5;245", "38;5;64",
                                                        "38;5;161"};
constexpr std::string_view terminal_colour(Use use) {
  return terminal_colours[static_cast<std::size_t>(use)];
}

// LaTeX that defines a colour: "\\definecolor{compute}{HTML}{3A4660}".
std::string latex_colour(std::string_view name, std::string_view colour);

}  // namespace psim::analysis
