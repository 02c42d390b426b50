// Figures of HTML and SVG that need no scripts. Positions are shares of width and height, so letters stay
// readable on any screen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

// Maps values from the smallest to the largest to [0, 1].
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
  // The names of both axes, with units: "simulated time [s]".
  Figure(Scale x, Scale y, std::string x_name, std::string y_name);
  void add_line(std::size_t series, const Dots& line);
  // `outline`: the upper edge forwards, then the lower one backwards.
  void add_band(std::size_t series, const Dots& outline);
  // `content`: HTML, centred at this place.
  void add_at(double x, double y, const std::string& content);
  // A line across the figure at a date, with a name at its head.
  void add_date(double x, const std::string& name);
  // Names a line at its end.
  void add_end(std::size_t series, double y, const std::string& name);
  // `name`: the content of the figure, for screen readers.
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
