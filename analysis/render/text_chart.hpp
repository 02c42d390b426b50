// Curves drawn with characters, for a terminal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

using Points = std::vector<std::pair<double, double>>;  // (x, y), x ascending

struct Series {
  std::string name;
  Points points;
  Points low = {}, high = {};  // a band around it, drawn with dots where no curve is
  bool breaks_off = false;     // marks its last point with `!`
};

struct ChartOptions {
  std::string x_label, y_label;
  int width = 72, height = 16;  // of the plotting area, in characters
  bool colour = false;
};

// The axes contain all curves; a band may reach beyond them. Every series has its own letter, so colour is
// never the only difference. Empty if there is nothing to draw.
std::string chart(const std::vector<Series>& series, const ChartOptions& options);

}  // namespace psim::analysis
