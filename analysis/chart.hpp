// Curves drawn with characters, for a terminal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y), x rising
};

struct ChartOptions {
  std::string x_label, y_label;
  int width = 72, height = 16;  // of the plotting area, in characters
  bool colour = false;
};

// Every series has a letter of its own, so nothing is told by colour alone. Empty when nothing can be drawn.
std::string chart(const std::vector<Series>& series, const ChartOptions& options);

}  // namespace psim::analysis
