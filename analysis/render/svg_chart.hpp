// Curves and marks over two axes, as a vector graphic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
};

// An SVG document of this width. Text stays text, in a sans-serif font.
std::string svg(const Plot& plot, double width_mm);

}  // namespace psim::analysis
