// Synthetic pairs whose true mean difference and mean ratio are known: what intervals are tried on. The last
// two are run times of real protocols, of which probability theory knows the distribution.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <string_view>
#include <vector>

#include "analysis/statistics/paired_comparison.hpp"
#include "model/base/random.hpp"

namespace psim::test {

using statistics::Pair;

struct Truth {
  double difference = 0;  // of the expected values
  double log_ratio = 0;   // of the expected logarithms
};

struct Shape {
  std::string_view name;
  std::string_view what;
  Pair (*draw)(Stream& stream);
  Truth truth;
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

// The means of min(T, tau) and of its logarithm, for a lognormal T.
inline double restricted(double median, double sigma, double tau) {
  const double z = std::log(tau / median) / sigma;
  return median * std::exp(sigma * sigma / 2) * below(z - sigma) + tau * (1 - below(z));
}
inline double restricted_log(double median, double sigma, double tau) {
  const double z = std::log(tau / median) / sigma;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return std::log(tau) - sigma * (z * below(z) + density);
}

// The mean of log(mean + sd Z), for a mean of many sd.
inline double normal_log(double mean, double sd) {
  double sum = 0;
  for (int i = -384; i <= 384; ++i)
    sum += std::log(mean + sd * i / 64) * std::exp(-i * i / 8192.0) / std::sqrt(2 * std::numbers::pi) / 64;
  return sum;
}

// The mean of log T, of T's Laplace transform f: the integral of (exp(-s) - f(s)) / s over all s > 0
// (Frullani), here over log s.
template <class F>
double mean_log(F&& transform) {
  double sum = 0;
  for (int i = -40 * 64; i <= 40 * 64; ++i) {
    const double s = std::exp(i / 64.0);
    sum += (std::exp(-s) - transform(s)) / 64;
  }
  return sum;
}

// Runs of eight workers without a network, whose steps take exponential times of mean 1 (Dutta et al., Slow
// and stale gradients can win the race, 2018). An update of bsp takes the longest of eight: a sum of
// exponentials of rates 1 to 8. With one backup worker it takes the second longest: rates 2 to 8.
constexpr int workers = 8, updates = 20;
inline double sum_of_rates(int slowest, double s) {
  double product = 1;
  for (int rate = slowest; rate <= workers; ++rate) product *= rate / (rate + s);
  return std::pow(product, updates);
}
inline double mean_time(int slowest) {
  double sum = 0;
  for (int rate = slowest; rate <= workers; ++rate) sum += 1.0 / rate;
  return updates * sum;
}

inline Pair backup_against_bsp(Stream& stream) {
  Pair times;
  for (int update = 0; update < updates; ++update) {
    std::array<double, workers> steps;
    for (double& step : steps) step = stream.exponential();
    std::ranges::sort(steps);
    times.arm += steps[workers - 2];
    times.baseline += steps[workers - 1];
  }
  return times;
}

// asp computes as many gradients as bsp, and no worker waits: their times are a Poisson process of rate 8. A
// worker's i-th step takes as long as under bsp.
inline Pair asp_against_bsp(Stream& stream) {
  const std::uint64_t seed = stream.next();
  std::vector<Stream> steps;
  for (int worker = 0; worker < workers; ++worker) steps.emplace_back(seed, "steps", worker);
  Pair times;
  std::vector<Stream> again = steps;
  for (int update = 0; update < updates; ++update) {
    double longest = 0;
    for (Stream& own : steps) longest = std::max(longest, own.exponential());
    times.baseline += longest;
  }
  std::array<double, workers> ready;
  for (int worker = 0; worker < workers; ++worker) ready[worker] = again[worker].exponential();
  for (int gradient = 0; gradient < workers * updates; ++gradient) {
    const auto next = std::ranges::min_element(ready) - ready.begin();
    times.arm = ready[next];
    ready[next] += again[next].exponential();
  }
  return times;
}

// The mean of log(shift + scale E).
inline double shifted_log(double shift, double scale) {
  return mean_log([=](double s) { return std::exp(-shift * s) / (1 + scale * s); });
}

inline std::vector<Shape> usual_shapes() {
  const double third = std::exp(0.3 * 0.3 / 2);
  const auto sum_log = [](int slowest) {
    return mean_log([=](double s) { return sum_of_rates(slowest, s); });
  };
  const double asp_log =
      mean_log([](double s) { return std::pow(workers / (workers + s), workers * updates); });
  return {
      {"normal",
       "both normal, sd 1.2",
       [](Stream& s) {
         const double common = s.normal(), arm = s.normal();
         return Pair{8 + 1.2 * shared(common, arm), 10 + 1.2 * shared(common, s.normal())};
       },
       {-2, normal_log(8, 1.2) - normal_log(10, 1.2)}},
      {"lognormal", "both lognormal, sigma 0.3", lognormal<8, 30>, {-2 * third, std::log(0.8)}},
      {"exponential",
       "3 + 2 E against 4 + 4 E, unpaired",
       [](Stream& s) {
         const double arm = s.exponential();
         return Pair{3 + 2 * arm, 4 + 4 * s.exponential()};
       },
       {-3, shifted_log(3, 2) - shifted_log(4, 4)}},
      {"censored",
       "lognormal; a fifth and a tenth miss",
       censored<12>,
       {restricted(8, 0.3, 12) - restricted(10, 0.3, 12),
        restricted_log(8, 0.3, 12) - restricted_log(10, 0.3, 12)}},
      {"half missed",
       "lognormal; half and a quarter miss",
       censored<10>,
       {restricted(8, 0.3, 10) - restricted(10, 0.3, 10),
        restricted_log(8, 0.3, 10) - restricted_log(10, 0.3, 10)}},
      {"backup, bsp",
       "20 updates, one backup worker of eight",
       backup_against_bsp,
       {mean_time(2) - mean_time(1), sum_log(2) - sum_log(1)}},
      {"asp, bsp",
       "160 gradients of eight workers",
       asp_against_bsp,
       {updates - mean_time(1), asp_log - sum_log(1)}},
  };
}

inline std::vector<Shape> odd_shapes() {
  const double wide = std::exp(0.6 * 0.6 / 2), narrow = std::exp(0.01 / 2);
  const auto laplace_log = [](double shift) {
    return mean_log([=](double s) { return std::exp(-shift * s) / (1 + 2 * s) / (1 + s) / (1 + s); });
  };
  return {
      {"laplace",
       "2 E each, and a common gamma",
       [](Stream& s) {
         const double common = s.gamma(2), arm = s.exponential();
         return Pair{4 + 2 * arm + common, 5 + 2 * s.exponential() + common};
       },
       {-1, laplace_log(4) - laplace_log(5)},
       false},
      {"one side",
       "1 + E against the constant 2.2",
       [](Stream& s) {
         return Pair{1 + s.exponential(), 2.2};
       },
       {-0.2, shifted_log(1, 1) - std::log(2.2)},
       false},
      {"long tail",
       "lognormal, sigma 0.6, half as long",
       lognormal<5, 60>,
       {-5 * wide, std::log(0.5)},
       false},
      {"rare",
       "one baseline in ten takes three times as long",
       [](Stream& s) {
         const Pair pair = lognormal<8, 10>(s);
         return Pair{pair.arm, pair.baseline * (s.uniform() < 0.1 ? 3 : 1)};
       },
       {-4 * narrow, std::log(0.8) - 0.1 * std::log(3)},
       false},
  };
}

inline std::vector<Shape> shapes() {
  std::vector<Shape> all = usual_shapes();
  std::ranges::copy(odd_shapes(), std::back_inserter(all));
  return all;
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
