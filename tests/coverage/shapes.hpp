// Synthetic pairs whose true difference and ratio are known: what intervals are tried on.
#pragma once

#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "analysis/statistics/bootstrap.hpp"
#include "model/random.hpp"

namespace psim::test {

using statistics::Pair;

struct Shape {
  std::string_view name;
  std::string_view what;
  Pair (*draw)(Stream& stream);
  Pair truth;         // the expected values
  bool usual = true;  // intervals are promised to cover 94 to 96 % of it
};

// The two arms share half of their variance, as runs with one seed do.
inline double shared(double common, double own) { return std::sqrt(0.5) * (common + own); }

// exp(sigma * Z) times the median.
template <int median, int percent>
Pair lognormal(Stream& stream) {
  const double sigma = percent / 100.0, common = stream.normal();
  const double arm = shared(common, stream.normal()), baseline = shared(common, stream.normal());
  return {median * std::exp(sigma * arm), 10 * std::exp(sigma * baseline)};
}

template <int tau>
Pair censored(Stream& stream) {
  const Pair pair = lognormal<8, 30>(stream);
  return {std::min<double>(pair.arm, tau), std::min<double>(pair.baseline, tau)};
}

inline double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }  // of a standard normal

// The mean of min(T, tau) for a lognormal T.
inline double restricted(double median, double sigma, double tau) {
  const double z = std::log(tau / median) / sigma;
  return median * std::exp(sigma * sigma / 2) * below(z - sigma) + tau * (1 - below(z));
}

inline std::vector<Shape> shapes() {
  const double third = std::exp(0.3 * 0.3 / 2), wide = std::exp(0.6 * 0.6 / 2), narrow = std::exp(0.01 / 2);
  return {
      {"normal",
       "both normal, sd 1.2",
       [](Stream& s) {
         const double common = s.normal(), arm = s.normal();
         return Pair{8 + 1.2 * shared(common, arm), 10 + 1.2 * shared(common, s.normal())};
       },
       {8, 10}},
      {"lognormal", "both lognormal, sigma 0.3", lognormal<8, 30>, {8 * third, 10 * third}},
      {"exponential",
       "3 + 2 E against 4 + 4 E, unpaired",
       [](Stream& s) {
         const double arm = s.exponential();
         return Pair{3 + 2 * arm, 4 + 4 * s.exponential()};
       },
       {5, 8}},
      {"censored",
       "lognormal; a fifth and a tenth miss",
       censored<12>,
       {restricted(8, 0.3, 12), restricted(10, 0.3, 12)}},
      {"half missed",
       "lognormal; half and a quarter miss",
       censored<10>,
       {restricted(8, 0.3, 10), restricted(10, 0.3, 10)}},
      {"laplace",
       "2 E each, and a common gamma",
       [](Stream& s) {
         const double common = s.gamma(2), arm = s.exponential();
         return Pair{4 + 2 * arm + common, 5 + 2 * s.exponential() + common};
       },
       {8, 9},
       false},
      {"one side",
       "1 + E against the constant 2.2",
       [](Stream& s) {
         return Pair{1 + s.exponential(), 2.2};
       },
       {2, 2.2},
       false},
      {"long tail", "lognormal, sigma 0.6, half as long", lognormal<5, 60>, {5 * wide, 10 * wide}, false},
      {"rare",
       "one baseline in ten takes three times as long",
       [](Stream& s) {
         const Pair pair = lognormal<8, 10>(s);
         return Pair{pair.arm, pair.baseline * (s.uniform() < 0.1 ? 3 : 1)};
       },
       {8 * narrow, 12 * narrow},
       false},
  };
}

inline std::vector<Pair> draw_study(const Shape& shape, std::size_t seeds, std::size_t study) {
  Stream stream(1, shape.name, seeds, study);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < seeds; ++i) pairs.push_back(shape.draw(stream));
  return pairs;
}

inline bool covers(const statistics::Interval& interval, double truth) {
  return interval.low <= truth && truth <= interval.high;
}

// The standard error of a share that was counted in that many studies.
inline double binomial_error(double share, std::size_t studies) {
  return std::sqrt(share * (1 - share) / static_cast<double>(studies));
}

}  // namespace psim::test
