#include "analysis/calibrate/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psim::calibrate {
namespace {

struct Line {
  double latency = 0, slope = 0;                    // slope: seconds for a byte
  double latency_variance = 0, slope_variance = 0;  // for unit relative errors
};

// Minimises the sum of (1 - latency / t - slope * bytes / t)^2.
Line line_through(std::span<const Transfer> transfers, bool with_latency) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const Transfer& one : transfers) {
    const double x = 1 / one.seconds, y = one.bytes / one.seconds;
    aa += x * x, ab += x * y, bb += y * y, a += x, b += y;
  }
  if (!with_latency) return {.latency = 0, .slope = b / bb, .latency_variance = 0, .slope_variance = 1 / bb};
  const double determinant = aa * bb - ab * ab;
  return {.latency = (a * bb - b * ab) / determinant,
          .slope = (b * aa - a * ab) / determinant,
          .latency_variance = bb / determinant,
          .slope_variance = aa / determinant};
}

}  // namespace

std::optional<LinkFit> fit_link(std::span<const Transfer> transfers) {
  if (transfers.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(transfers, {}, &Transfer::bytes);
  LinkFit fit{.knows_latency = most.bytes >= 2 * least.bytes && transfers.size() > 2};
  Line line = line_through(transfers, fit.knows_latency);
  if (fit.knows_latency && line.latency < 0) {
    const double variance = line.latency_variance;
    line = line_through(transfers, false);
    line.latency_variance = variance;  // 0 is the bound of its interval
  }
  double squares = 0;
  for (const Transfer& one : transfers) {
    const double error = 1 - (line.latency + line.slope * one.bytes) / one.seconds;
    squares += error * error;
  }
  const std::size_t degrees = transfers.size() - (fit.knows_latency ? 2 : 1);
  fit.error = std::sqrt(squares / static_cast<double>(degrees));
  const double t = statistics::student_quantile(0.975, degrees);
  const double of_latency = t * fit.error * std::sqrt(line.latency_variance),
               of_slope = t * fit.error * std::sqrt(line.slope_variance);
  fit.latency = line.latency;
  fit.bandwidth = 1 / line.slope;
  fit.latency_interval = {std::max(0.0, line.latency - of_latency), line.latency + of_latency};
  const double low_slope = line.slope - of_slope;
  fit.bandwidth_interval = {1 / (line.slope + of_slope),
                            low_slope > 0 ? 1 / low_slope : std::numeric_limits<double>::infinity()};
  return fit;
}

}  // namespace psim::calibrate
