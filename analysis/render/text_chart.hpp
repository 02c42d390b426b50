// Curves drawn with characters, for a terminal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

using Points = std::vector<std::pair<double, double>>;  // (x, y), x rising

struct Series {
  std::string name;
  Points points;
  Points low = {}, high = {};  // a band around it, drawn with dots as far as the curves leave room
  bool breaks_off = false;     // its last point is marked with `!`
};

struct ChartOptions {
  std::string x_label, y_label;
  int width = 72, height = 16;  // of the plotting area, in characters
  bool colour = false;
};

// The axes hold all curves; a band may reach beyond them. Every series has a letter of its own, so nothing is
// told by colour alone. Empty when nothing can be drawn.
std::string chart(const std::vector<Series>& series, const ChartOptions& options);

}  // namespace psim::analysis
