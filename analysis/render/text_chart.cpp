#include "analysis/render/text_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace psim::analysis {
namespace {

struct Bounds {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double at(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// The height of the curve at x, interpolated; none before its first point and after its last.
double height_at(const Points& points, double x) {
  const auto after = std::ranges::lower_bound(points, x, {}, [](const auto& p) { return p.first; });
  if (after == points.end()) return NAN;
  if (after->first <= x) return after->second;
  if (after == points.begin()) return NAN;
  const auto before = after - 1;
  return before->second +
         (after->second - before->second) * (x - before->first) / (after->first - before->first);
}

double scaled(double y, bool logarithmic) { return logarithmic ? std::log10(y) : y; }

char mark_of(std::size_t i) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return letters[i % letters.size()];
}

constexpr std::array<const char*, 6> colours{"\033[34m", "\033[33m", "\033[32m",
                                             "\033[31m", "\033[35m", "\033[36m"};

// The drawing: each character with its owner.
struct Area {
  struct Place {
    int owner = -1;
    char mark = ' ';
  };
  Bounds x, y;
  bool logarithmic = true;
  std::size_t width, height;
  std::vector<std::vector<Place>> places = {};

  // The row of a value; a value outside the area goes to its edge.
  std::size_t row_of(double value) const {
    const double share = std::clamp(y.at(value), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround((1 - share) * static_cast<double>(height - 1)));
  }
  double x_of(std::size_t column) const {
    const double share = static_cast<double>(column) / static_cast<double>(width - 1);
    return std::min(x.high, x.low + (x.high - x.low) * share);
  }
};

// Losses span decades, so the axis is logarithmic if all values are positive.
Area area_of(const std::vector<Series>& series, const ChartOptions& options) {
  Area area{.width = static_cast<std::size_t>(options.width),
            .height = static_cast<std::size_t>(options.height)};
  for (const Series& s : series) {
    for (const auto& [px, py] : s.points) {
      area.x.add(px);
      if (std::isfinite(py)) area.logarithmic = area.logarithmic && py > 0;
    }
  }
  for (const Series& s : series) {
    for (const auto& point : s.points) area.y.add(scaled(point.second, area.logarithmic));
  }
  area.places.assign(area.height, std::vector<Area::Place>(area.width));
  return area;
}

void draw_curve(Area& area, const Series& s, std::size_t i, std::size_t number_of_series) {
  std::pair<std::size_t, std::size_t> last;
  bool drawn = false;
  for (std::size_t column = 0; column < area.width; ++column) {
    const double py = scaled(height_at(s.points, area.x_of(column)), area.logarithmic);
    if (!std::isfinite(py)) continue;
    last = {area.row_of(py), column};
    drawn = true;
    Area::Place& place = area.places[last.first][column];
    // Where curves meet, they take turns column by column.
    const bool is_free = place.owner < 0 || place.mark == '.';
    if (is_free || (place.mark != '!' && column % number_of_series == i))
      place = {.owner = static_cast<int>(i), .mark = mark_of(i)};
  }
  if (s.breaks_off && drawn)
    area.places[last.first][last.second] = {.owner = static_cast<int>(i), .mark = '!'};
}

void draw_band(Area& area, const Series& s, std::size_t i) {
  for (std::size_t column = 0; column < area.width; ++column) {
    const double low = height_at(s.low, area.x_of(column)), high = height_at(s.high, area.x_of(column));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double least = area.logarithmic && low <= 0 ? area.y.low : scaled(low, area.logarithmic);
    const double most = scaled(high, area.logarithmic);
    if (most < area.y.low || least > area.y.high) continue;
    for (std::size_t row = area.row_of(most); row <= area.row_of(least); ++row) {
      Area::Place& place = area.places[row][column];
      if (place.owner < 0) place = {.owner = static_cast<int>(i), .mark = '.'};
    }
  }
}

}  // namespace

std::string chart(const std::vector<Series>& series, const ChartOptions& options) {
  Area area = area_of(series, options);
  const auto& [x, y, positive, width, height, places] = area;
  if (!(x.high > x.low) || !(y.high >= y.low)) return {};
  for (std::size_t i = 0; i < series.size(); ++i) draw_band(area, series[i], i);
  for (std::size_t i = 0; i < series.size(); ++i) draw_curve(area, series[i], i, series.size());
  std::string out = fmt::format("{:>10}{}\n", options.y_label, positive ? " (log scale)" : "");
  for (std::size_t row = 0; row < height; ++row) {
    const double py = y.high - (y.high - y.low) * static_cast<double>(row) / static_cast<double>(height - 1);
    const bool labelled = row == 0 || row + 1 == height || row == height / 2;
    out += labelled ? fmt::format("{:>10.4g} |", positive ? std::pow(10.0, py) : py)
                    : fmt::format("{:>10} |", "");
    std::string line;
    for (const Area::Place& place : places[row]) {
      if (place.owner < 0 || !options.colour) line += place.mark;
      else
        line += fmt::format("{}{}\033[0m", colours[static_cast<std::size_t>(place.owner) % colours.size()],
                            place.mark);
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  out += fmt::format("{:>10} +{}\n", "", std::string(width, '-'));
  const std::string left = fmt::format("{:.4g}", x.low),
                    right = fmt::format("{:.4g} {}", x.high, options.x_label);
  out += fmt::format(
      "{:>12}{}{}{}\n", "", left,
      std::string(width > left.size() + right.size() ? width - left.size() - right.size() : 1, ' '), right);
  for (std::size_t i = 0; i < series.size(); ++i)
    out += fmt::format("{:>12}{} = {}\n", "", mark_of(i), series[i].name);
  return out;
}

}  // namespace psim::analysis
