// HTML as text. Each number comes from a JSON document and carries its exact value and its place there, so a
// page cannot contradict the document.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/word_docs.hpp"

namespace psim::analysis {

// Text for HTML, SVG and XML.

// Escapes `text` for content, or for an attribute in double quotes. Drops control characters.
std::string escaped(std::string_view text);

using Json = nlohmann::ordered_json;

// The head of a column; its meaning shows when a reader points at it. `classes`: of CSS.
std::string head(std::string_view heading, std::string_view doc, const char* classes = "");
std::string head(ColumnName name, const char* classes = "");

// JSON that no HTML parser mistakes for the end of its <script>.
std::string script_json(const Json& json);

// The format of a number.
struct Shape {
  int digits = 3;           // significant digits, if `decimals` is not given
  double scale = 1;         // 100 for a share in percent
  int decimals = -1;        // after the decimal point
  const char* unit = "";    // with its leading space
  bool is_inverse = false;  // 1 / value
};
inline constexpr Shape as_percent{.scale = 100, .decimals = 0, .unit = " %"};
inline constexpr Shape as_seconds{.unit = " s"};
inline constexpr Shape as_megabytes{.scale = 1e-6, .unit = " MB"};

// "2.93 s"; "-" for null.
std::string shown(const Json& value, const Shape& shape = {});

// Shows the numbers of one document.
class Numbers {
 public:
  explicit Numbers(const Json& document) : document_(document) {}
  // `path`: a JSON pointer. `doc`: the meaning of the number, shown when a reader points at it.
  std::string operator()(const std::string& path, const Shape& shape = {}, std::string_view doc = {}) const;
  // The value at `path`, shown as `text`, which may say more than the number.
  std::string told(const std::string& path, const std::string& text, std::string_view doc = {}) const;
  // Null if there is no value.
  const Json& at(const std::string& path) const;

 private:
  const Json& document_;
};

// Figures of HTML and SVG that need no scripts. Positions are shares of width and height, so letters stay
// readable on any screen.

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
