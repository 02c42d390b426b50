#include "analysis/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

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

// The curve's height at x, between its points; nothing before its first or after its last.
double value_at(const Series& s, double x) {
  const auto after = std::ranges::lower_bound(s.points, x, {}, [](const auto& p) { return p.first; });
  if (after == s.points.end()) return NAN;
  if (after->first <= x) return after->second;
  if (after == s.points.begin()) return NAN;
  const auto before = after - 1;
  return before->second +
         (after->second - before->second) * (x - before->first) / (after->first - before->first);
}

// Losses span decades; a logarithmic axis shows them unless a value is not positive.
double scaled(double y, bool logarithmic) { return logarithmic ? std::log10(y) : y; }

char letter_of(std::size_t i) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return letters[i % letters.size()];
}

constexpr std::array<const char*, 6> colours{"\033[34m", "\033[33m", "\033[32m",
                                             "\033[31m", "\033[35m", "\033[36m"};

}  // namespace

std::string chart(const std::vector<Series>& series, const ChartOptions& options) {
  Bounds x, y;
  bool positive = true;
  for (const Series& s : series) {
    for (const auto& [px, py] : s.points) {
      x.add(px);
      if (std::isfinite(py)) positive = positive && py > 0;
    }
  }
  for (const Series& s : series) {
    for (const auto& point : s.points) y.add(scaled(point.second, positive));
  }
  if (!(x.high > x.low) || !(y.high >= y.low)) return {};

  const auto width = static_cast<std::size_t>(options.width),
             height = static_cast<std::size_t>(options.height);
  std::vector<std::vector<int>> owner(height, std::vector<int>(width, -1));
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t column = 0; column < width; ++column) {
      const double share = static_cast<double>(column) / static_cast<double>(width - 1);
      const double px = std::min(x.high, x.low + (x.high - x.low) * share);
      const double py = scaled(value_at(series[i], px), positive);
      if (!std::isfinite(py)) continue;
      const auto row =
          static_cast<std::size_t>(std::lround((1 - y.at(py)) * static_cast<double>(height - 1)));
      // Where curves meet, the columns are shared out in turn.
      if (owner[row][column] < 0 || column % series.size() == i) owner[row][column] = static_cast<int>(i);
    }
  }
  std::string out = fmt::format("{:>10}{}\n", options.y_label, positive ? " (log scale)" : "");
  for (std::size_t row = 0; row < height; ++row) {
    const double py = y.high - (y.high - y.low) * static_cast<double>(row) / static_cast<double>(height - 1);
    const bool labelled = row == 0 || row + 1 == height || row == height / 2;
    out += labelled ? fmt::format("{:>10.4g} |", positive ? std::pow(10.0, py) : py)
                    : fmt::format("{:>10} |", "");
    std::string line;
    for (const int i : owner[row]) {
      if (i < 0) line += ' ';
      else if (!options.colour) line += letter_of(static_cast<std::size_t>(i));
      else
        line += fmt::format("{}{}\033[0m", colours[static_cast<std::size_t>(i) % colours.size()],
                            letter_of(static_cast<std::size_t>(i)));
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
    out += fmt::format("{:>12}{} = {}\n", "", letter_of(i), series[i].name);
  return out;
}

}  // namespace psim::analysis
