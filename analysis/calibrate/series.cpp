#include "analysis/calibrate/series.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace psim::calibrate {
namespace {

using statistics::mean_of;

// The autocorrelation of a series, lag by lag.
class Autocorrelation {
 public:
  explicit Autocorrelation(std::span<const double> series) : centred_(series.begin(), series.end()) {
    const double mean = mean_of(series);
    for (double& one : centred_) one -= mean;
    for (const double one : centred_) variance_ += one * one;
    // Rounding is no variation.
    constexpr double rounding = 1e-9;
    if (variance_ <= std::pow(rounding * mean, 2) * static_cast<double>(series.size())) variance_ = 0;
  }
  double operator()(std::size_t lag) const {
    double sum = 0;
    for (std::size_t i = lag; i < centred_.size() && variance_ > 0; ++i)
      sum += centred_[i] * centred_[i - lag] / variance_;
    return sum;
  }

 private:
  std::vector<double> centred_;
  double variance_ = 0;
};

// The sum of squares of the first `waves` coefficients of a cosine transform of the series.
double squares_of_waves(std::span<const double> series, std::size_t waves) {
  double sum = 0;
  for (std::size_t wave = 1; wave <= waves; ++wave) {
    const double angle = std::numbers::pi * static_cast<double>(wave) / static_cast<double>(series.size());
    // cos((i + 1 / 2) angle), each from the two before it.
    double before = std::cos(angle / 2), now = before, coefficient = 0;
    const double twice = 2 * std::cos(angle);
    for (const double one : series) {
      coefficient += one * now;
      const double next = twice * now - before;
      before = now;
      now = next;
    }
    sum += coefficient * coefficient;
  }
  return sum * 2 / static_cast<double>(series.size());
}

}  // namespace

std::vector<double> autocorrelation(std::span<const double> series, std::size_t lags) {
  const Autocorrelation at(series);
  std::vector<double> result;
  for (std::size_t lag = 0; lag <= std::min(lags, series.size() - 1); ++lag) result.push_back(at(lag));
  return result;
}

double memory_of(std::span<const double> series) {
  const double chance = 2 / std::sqrt(static_cast<double>(series.size()));
  const Autocorrelation at(series);
  double sum = 1;
  for (std::size_t lag = 1; lag <= series.size() / 4; ++lag) {
    const double one = at(lag);  // of a long log, all lags would take hours
    if (!(one > chance)) break;
    sum += 2 * one;
  }
  return sum;
}

double best_block(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  const auto most = static_cast<std::size_t>(std::ceil(std::min(2 * std::sqrt(n), n / 4)));
  const std::vector<double> rho = autocorrelation(series, most);
  // The last lag before K_n lags in a row that chance explains.
  const double chance = 2 * std::sqrt(std::log10(n) / n);
  const auto in_a_row = std::max<std::size_t>(5, static_cast<std::size_t>(std::sqrt(std::log10(n))));
  std::size_t last = 0;
  for (std::size_t lag = 1; lag < rho.size(); ++lag) {
    if (std::abs(rho[lag]) >= chance) last = lag;
    else if (lag - last >= in_a_row) break;
  }
  if (last == 0) return 1;
  const auto width = std::min(static_cast<double>(2 * last), static_cast<double>(rho.size() - 1));
  const auto window = [](double x) { return x <= 0.5 ? 1 : 2 * (1 - x); };
  double weighted = 0, density = 1;
  for (std::size_t lag = 1; static_cast<double>(lag) <= width; ++lag) {
    const double part = 2 * window(static_cast<double>(lag) / width) * rho[lag];
    weighted += part * static_cast<double>(lag);
    density += part;
  }
  if (!(density > 0)) return 1;
  const double spread = 4.0 / 3 * density * density;
  return std::max(1.0, std::cbrt(2 * weighted * weighted / spread * n));
}

std::vector<double> means_of_parts(std::span<const double> series, std::size_t parts) {
  parts = std::min(parts, series.size());
  std::vector<double> means;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = series.size() * part / parts, end = series.size() * (part + 1) / parts;
    means.push_back(mean_of(series.subspan(begin, end - begin)));
  }
  return means;
}

Mean mean_with_error(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  // Of few waves the error is uncertain, and many waves are too fast to know of slow changes: their
  // wavelengths must be far longer than the memory.
  constexpr double fewest = 3, most = 50, memories_of_wave = 12;
  const double slow = 2 * n / (memories_of_wave * memory_of(series)), usual = 0.4 * std::pow(n, 2.0 / 3);
  const double waves =
      std::min(std::floor(std::clamp(std::min(slow, usual), fewest, most)), std::max(1.0, n - 1));
  Mean mean{.value = mean_of(series), .freedom = waves};
  std::vector<double> centred(series.begin(), series.end());
  for (double& one : centred) one -= mean.value;
  mean.error = std::sqrt(squares_of_waves(centred, static_cast<std::size_t>(waves)) / (waves * n));
  return mean;
}

statistics::Interval interval_of(const Mean& mean) {
  const double half =
      statistics::student_quantile(0.975, static_cast<std::size_t>(mean.freedom)) * mean.error;
  return {mean.value - half, mean.value + half};
}

double chance_difference(const Mean& one, const Mean& other, double probability) {
  const double a = one.error * one.error, b = other.error * other.error;
  if (!(a + b > 0)) return 0;
  // Welch and Satterthwaite's degrees of freedom.
  const double freedom = (a + b) * (a + b) / (a * a / one.freedom + b * b / other.freedom);
  return statistics::student_quantile(1 - probability / 2, static_cast<std::size_t>(freedom)) *
         std::sqrt(a + b);
}

}  // namespace psim::calibrate
