#include "analysis/statistics/sample.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace psim::statistics {
namespace {

// P(|T| <= sqrt(degrees) tan(angle)), for an angle in [0, pi / 2].
double student_between(double angle, std::size_t degrees) {
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double sum = 0;
  double term = odd ? cosine : 1;
  for (std::size_t i = odd ? 3 : 2; i <= degrees; i += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
  }
  const double product = std::sin(angle) * sum;
  return odd ? 2 / std::numbers::pi * (angle + product) : product;
}

}  // namespace

double mean_of(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("a mean needs at least one value");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> sd_of(std::span<const double> values) {
  const double mean = mean_of(values);
  if (values.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double student_quantile(double p, std::size_t degrees) {
  if (!(p > 0 && p < 1) || degrees == 0)
    throw std::invalid_argument("a quantile of Student's t needs p between 0 and 1 and a degree of freedom");
  if (p < 0.5) return -student_quantile(1 - p, degrees);
  double low = 0, high = std::numbers::pi / 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (student_between(middle, degrees) < 2 * p - 1 ? low : high) = middle;
  return std::sqrt(static_cast<double>(degrees)) * std::tan(low);
}

namespace {

// mean +- t * error, where `error_of` gives the standard error for a standard deviation and n values.
template <class ErrorOf>
std::optional<Interval> around_mean(std::span<const double> values, const ErrorOf& error_of) {
  const std::optional<double> sd = sd_of(values);
  if (!sd) return std::nullopt;
  const double half =
      student_quantile(0.975, values.size() - 1) * error_of(*sd, static_cast<double>(values.size()));
  return Interval{mean_of(values) - half, mean_of(values) + half};
}

}  // namespace

std::optional<Interval> student_interval(std::span<const double> values) {
  return around_mean(values, [](double sd, double n) { return sd / std::sqrt(n); });
}

std::optional<Interval> prediction_interval(std::span<const double> values) {
  return around_mean(values, [](double sd, double n) { return sd * std::sqrt(1 + 1 / n); });
}

}  // namespace psim::statistics
