// Figures of HTML and SVG that need no program to be seen: what is drawn stands at shares of the width and
// the height, so letters stay readable on any screen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

// From the smallest value to the largest one.
class Scale {
 public:
  // `is_log`: only for positive values.
  Scale(double low, double high, bool is_log = false);
  double share(double value) const;  // 0 to 1
  std::vector<double> ticks() const;

 private:
  double low_, high_;
  bool is_log_;
};

// Texts at the ticks of a horizontal axis, as HTML.
std::string x_ticks(const Scale& scale);

// The smallest and the largest of some values.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_known() const { return low <= high; }
};

using Dots = std::vector<std::pair<double, double>>;

class Figure {
 public:
  // Both axes with what they show and the unit: "simulated time [s]".
  Figure(Scale x, Scale y, std::string x_name, std::string y_name);
  void add_line(std::size_t series, const Dots& line);
  // `outline`: the upper edge forwards, then the lower one backwards.
  void add_band(std::size_t series, const Dots& outline);
  // `content`: HTML at a place, its centre there.
  void add_at(double x, double y, const std::string& content);
  // A line across the figure at a date, with a name at its head.
  void add_date(double x, const std::string& name);
  // Names a line at its end.
  void add_end(std::size_t series, double y, const std::string& name);
  // `name`: what the figure shows, for those who do not see it.
  std::string html(const std::string& name) const;

 private:
  std::string points(const Dots& line) const;
  Scale x_, y_;
  std::string x_name_, y_name_, shapes_, content_;
  struct End {
    std::size_t series;
    double share;
    std::string name;
  };
  std::vector<End> ends_;
};

}  // namespace psim::analysis
