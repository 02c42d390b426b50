// Numbers about one sample. Sums run in the order of the values; functions whose result must not depend on
// that order sort first. Formulas and their sources: docs/statistics.md.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace psim::statistics {

// [low, high]; infinite on a side without a bound.
struct Interval {
  double low = 0;
  double high = 0;
};

// All throw std::invalid_argument without values.
double mean_of(std::span<const double> values);
std::optional<double> sd_of(std::span<const double> values);  // by n - 1; absent for a single value

// The x with P(T <= x) = p for Student's t with `degrees` degrees of freedom (Abramowitz and Stegun, Handbook
// of mathematical functions, 1964, equations 26.7.3 and 26.7.4). Throws std::invalid_argument for p outside
// (0, 1) and for 0 degrees.
double student_quantile(double p, std::size_t degrees);

// mean +- t * sd / sqrt(n) with 95 % confidence; absent for a single value.
std::optional<Interval> student_interval(std::span<const double> values);

// mean +- t * sd * sqrt(1 + 1 / n): holds one further value of the same normal distribution with 95 %
// probability (Hahn and Meeker, Statistical intervals, 1991, section 4.8). Absent for a single value.
std::optional<Interval> prediction_interval(std::span<const double> values);

}  // namespace psim::statistics
