// Charts as vector graphics: axes, lines, boxes, texts, in millimetres.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

// Colours that remain apart for the colour-blind (Okabe, Ito 2008).
inline constexpr const char* palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                          "#E69F00", "#56B4E9", "#000000", "#999999"};

// Colours and dashes of a study's arms, as on its page (analysis/page/page.css).
inline constexpr const char* arm_colours[] = {"#0072b2", "#d55e00", "#009e73", "#b85c93",
                                              "#b87d00", "#3b9bd6", "#000000", "#7a5bc0"};

// How far the values of a line scatter at one place.
struct BandPart {
  double x = 0, low = 0, high = 0;
};

struct Line {
  std::string name;  // empty: not in the legend
  std::vector<std::pair<double, double>> points;
  bool is_step = false;                 // keeps its value until the next point
  std::vector<BandPart> band = {};      // around it
  std::optional<std::size_t> arm = {};  // has the colour of this arm of a study
};

// A mark with its name beside it, or where there is no room for names, its letter in it and a legend.
struct Spot {
  std::string name, letter;
  double x = 0, y = 0;
  std::size_t arm = 0;
  bool is_filled = true;
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<Line> lines = {};
  std::vector<Spot> spots = {};  // where there are any, both axes begin at 0
  bool logarithmic = false;      // the y axis; all values above 0
};

// An SVG document of that width. Fonts are those of the reader: text is text, in a sans-serif font.
std::string svg(const Plot& plot, double width_mm);

inline constexpr double text_mm = 2.5, line_mm = text_mm + 1;

// Round numbers within [low, high], about `count` of them, rising.
std::vector<double> ticks(double low, double high, int count);

// For SVG and XML.
std::string escaped(const std::string& text);

// `text`, cut so that it is about `width_mm` wide at most; an ellipsis shows the cut.
std::string fitted(const std::string& text, double width_mm);

// About as wide as `text` is.
double text_width(const std::string& text);

// `text` in lines of that width at most, parted at blanks. A longer word is cut, as above.
std::vector<std::string> wrapped(const std::string& text, double width_mm);

// "stroke" and "stroke-dasharray" of an arm: those after the eighth have its colours with other dashes.
std::string arm_stroke(std::size_t arm);

// A document of this size with `body` in it.
std::string svg_document(double width_mm, double height_mm, const std::string& body);
// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

}  // namespace psim::analysis
