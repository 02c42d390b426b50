#include "analysis/calibrate/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace psim::calibrate {
namespace {

struct Line {
  double latency = 0, slope = 0;                    // slope: seconds for a byte
  double latency_variance = 0, slope_variance = 0;  // for unit relative errors
};

// A transfer as a point: 1 / seconds, and bytes / seconds. A span has no latency.
struct Point {
  double x = 0, y = 0;
};

// Minimises the sum of (1 - latency * x - slope * y)^2.
Line line_through(std::span<const Point> points, bool with_latency) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const auto& [x, y] : points) aa += x * x, ab += x * y, bb += y * y, a += x, b += y;
  if (!with_latency) return {.latency = 0, .slope = b / bb, .latency_variance = 0, .slope_variance = 1 / bb};
  const double determinant = aa * bb - ab * ab;
  return {.latency = (a * bb - b * ab) / determinant,
          .slope = (b * aa - a * ab) / determinant,
          .latency_variance = bb / determinant,
          .slope_variance = aa / determinant};
}

bool is_span(const Transfer& one) { return one.kind == Transfer::Kind::span; }

// The spans share one rate: all their bytes in all their time.
std::vector<Point> points_of(std::span<const Transfer> transfers) {
  double bytes = 0, seconds = 0;
  for (const Transfer& one : transfers) {
    if (is_span(one)) bytes += one.bytes, seconds += one.seconds;
  }
  std::vector<Point> points;
  for (const Transfer& one : transfers) {
    if (is_span(one)) points.push_back({0, bytes / seconds});
    else points.push_back({1 / one.seconds, one.bytes / one.seconds});
  }
  return points;
}

// Whether the transfers differ enough in bytes to tell a time without bytes.
bool differ_enough(std::span<const Transfer> transfers) {
  std::vector<double> sizes;
  for (const Transfer& one : transfers) {
    if (!is_span(one)) sizes.push_back(one.bytes);
  }
  if (sizes.size() < 3) return false;
  const auto [least, most] = std::ranges::minmax(sizes);
  return most >= 2 * least;
}

// The typical relative error of a transfer's time.
double error_of(std::span<const Transfer> transfers, const Line& line, std::size_t degrees) {
  double squares = 0;
  for (const Transfer& one : transfers) {
    const double latency = is_span(one) ? 0 : line.latency,
                 error = 1 - (latency + line.slope * one.bytes) / one.seconds;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(degrees));
}

}  // namespace

std::optional<LinkFit> fit_link(std::span<const Transfer> transfers) {
  if (transfers.empty()) return std::nullopt;
  const std::vector<Point> points = points_of(transfers);
  const bool with_latency = differ_enough(transfers);
  Line line = line_through(points, with_latency);
  if (with_latency && line.latency < 0) {
    const double variance = line.latency_variance;
    line = line_through(points, false);
    line.latency_variance = variance;  // 0 is the bound of its interval
  }
  LinkFit fit{.bandwidth = 1 / line.slope};
  const std::size_t parameters = with_latency ? 2 : 1;
  if (transfers.size() > parameters) {
    const std::size_t degrees = transfers.size() - parameters;
    fit.error = error_of(transfers, line, degrees);
    const double t = statistics::student_quantile(0.975, degrees),
                 of_slope = t * fit.error * std::sqrt(line.slope_variance), low_slope = line.slope - of_slope;
    fit.bandwidth_interval = {1 / (line.slope + of_slope),
                              low_slope > 0 ? 1 / low_slope : std::numeric_limits<double>::infinity()};
    const double of_latency = t * fit.error * std::sqrt(line.latency_variance);
    fit.latency_interval = {std::max(0.0, line.latency - of_latency), line.latency + of_latency};
  }
  constexpr double chance = 2;  // standard errors
  if (line.slope <= chance * fit.error * std::sqrt(line.slope_variance))
    throw LogError(
        "the transfers of the link test do not take longer with more bytes",
        "measure sizes up to some megabytes, each alone; for spans of equal length use iperf3 --json");
  fit.knows_latency = with_latency && std::ranges::none_of(transfers, [](const Transfer& one) {
                        return one.kind == Transfer::Kind::collective;
                      });
  if (fit.knows_latency) fit.latency = line.latency;
  return fit;
}

}  // namespace psim::calibrate
