// Goal: the same numbers for ever, and numbers of the promised distributions. Method: constants computed by
// an independent implementation; draws forced to their extremes by inverting the hash; moments within four
// standard errors; chi-square for orders.
#include "model/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

// The inverse of mix().
std::uint64_t unmix(std::uint64_t x) {
  const auto unshift = [](std::uint64_t y, unsigned by) {
    std::uint64_t z = y;
    for (unsigned done = by; done < 64; done += by) z = y ^ (z >> by);
    return z;
  };
  x = unshift(x, 31) * 0x319642b2d24d8ec3U;
  x = unshift(x, 27) * 0x96de1b173f119089U;
  return unshift(x, 30);
}

// A stream whose first number is `first`: its step is found by going backwards through the hash.
Stream stream_starting_with(std::uint64_t first) {
  const std::uint64_t key = unmix(first) - golden;
  const std::uint64_t before = combine(combine(mix(1 + 1), "forced"), 0);
  Stream stream(1, "forced", 0, unmix(before ^ unmix(key)) - golden);
  Stream copy = stream;
  REQUIRE(copy.next() == first);
  return stream;
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0;
};

template <class Draw>
Moments moments(int n, Draw&& draw) {
  std::vector<double> x(static_cast<std::size_t>(n));
  Moments m;
  for (double& value : x) m.mean += value = draw();
  m.mean /= n;
  double third = 0;
  for (const double value : x) {
    m.variance += std::pow(value - m.mean, 2);
    third += std::pow(value - m.mean, 3);
  }
  m.variance /= n;
  m.skewness = third / n / std::pow(m.variance, 1.5);
  return m;
}

// Chi-square of observed counts against equal ones.
double chi_square(const std::vector<double>& counts) {
  double total = 0, sum = 0;
  for (const double c : counts) total += c;
  const double expected = total / static_cast<double>(counts.size());
  for (const double c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

constexpr int draws = 200'000;
const double root = std::sqrt(static_cast<double>(draws));

}  // namespace

TEST_CASE("the hash is SplitMix64", "[random]") {
  // The first outputs of SplitMix64 with state 0, as published.
  CHECK(mix(golden * 1) == 0xe220a8397b1dcdafU);
  CHECK(mix(golden * 2) == 0x6e789e6aa1b965f4U);
  CHECK(mix(golden * 3) == 0x06c45d188009454fU);
}

TEST_CASE("streams give the numbers that they always gave", "[random]") {
  Stream a(1, "compute");
  CHECK(a.next() == 0x330e6961827ce855U);
  CHECK(a.next() == 0x62a5ff4726572ff6U);
  CHECK(a.next() == 0x48619eae11ef544aU);
  CHECK(Stream(1, "compute", 3, 17).next() == 0x053a61f3708af09cU);
  CHECK(Stream(0, "").next() == 0xf01a67aba8de031eU);
  CHECK(Stream(UINT64_MAX, "model.init", 1, 2).next() == 0x8d99225120978058U);
  CHECK(Stream(1, "compute", 3, 17).uniform() == 0.020422098096371744);
  CHECK(Stream(1, "compute", 3, 17).normal() == Approx(-1.1218402562267968).epsilon(1e-14));
  CHECK(Stream(1, "compute", 3, 17).exponential() == Approx(3.8911377243948615).epsilon(1e-14));
  CHECK(Stream(1, "compute", 3, 17).pareto(2.5) == Approx(4.741981516264078).epsilon(1e-14));
  CHECK(permutation(8, Stream(1, "sampler.epoch")) == std::vector<std::uint32_t>{1, 7, 0, 2, 4, 3, 6, 5});
}

TEST_CASE("seed, purpose, who and step each make a stream of its own", "[random]") {
  std::set<std::uint64_t> first;
  std::size_t streams = 0;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    for (const char* purpose : {"", "a", "b", "ab", "ba"}) {
      for (std::uint64_t who = 0; who < 10; ++who) {
        for (std::uint64_t step = 0; step < 10; ++step, ++streams)
          first.insert(Stream(seed, purpose, who, step).next());
      }
    }
  }
  CHECK(first.size() == streams);
}

TEST_CASE("a uniform number is never 0 or 1, not even for the extreme draws", "[random]") {
  CHECK(stream_starting_with(0).uniform() == 0x1p-53);
  CHECK(stream_starting_with(UINT64_MAX).uniform() == 1 - 0x1p-53);
  CHECK(stream_starting_with(UINT64_MAX).uniform() < 1.0);
  CHECK(std::isfinite(stream_starting_with(0).exponential()));
  CHECK(stream_starting_with(UINT64_MAX).exponential() > 0.0);
  CHECK(std::isfinite(stream_starting_with(0).normal()));
  CHECK(std::isfinite(stream_starting_with(0).pareto(1.5)));
  CHECK(stream_starting_with(UINT64_MAX).pareto(1.5) >= 1.0);
}

TEST_CASE("uniform numbers fill their interval evenly", "[random]") {
  Stream stream(7, "uniform");
  std::vector<double> counts(100, 0.0);
  for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(stream.uniform() * 100)];
  CHECK(std::abs(chi_square(counts) - 99) < 4 * std::sqrt(2.0 * 99));
  const Moments m = moments(draws, [&] { return stream.uniform(-3, 5); });
  CHECK(std::abs(m.mean - 1) < 4 * 8 / std::sqrt(12.0) / root);
  CHECK(m.variance == Approx(64 / 12.0).epsilon(0.01));
}

TEST_CASE("the normal and the exponential distribution have their moments", "[random]") {
  Stream stream(3, "moments");
  const Moments normal = moments(draws, [&] { return stream.normal(); });
  CHECK(std::abs(normal.mean) < 4 / root);
  CHECK(std::abs(normal.variance - 1) < 4 * std::sqrt(2.0) / root);
  CHECK(std::abs(normal.skewness) < 4 * std::sqrt(6.0) / root);

  const Moments exponential = moments(draws, [&] { return stream.exponential(); });
  CHECK(std::abs(exponential.mean - 1) < 4 / root);
  CHECK(std::abs(exponential.variance - 1) < 4 * std::sqrt(8.0) / root);  // fourth central moment 9
  CHECK(exponential.skewness == Approx(2).epsilon(0.1));
}

TEST_CASE("gamma variables have mean and variance equal to their shape", "[random]") {
  const double shape = GENERATE(0.3, 1.0, 5.0);
  Stream stream(4, "gamma");
  const Moments m = moments(draws, [&] {
    const double x = stream.gamma(shape);
    if (!(x > 0)) FAIL("not positive");
    return x;
  });
  CAPTURE(shape);
  CHECK(std::abs(m.mean - shape) < 4 * std::sqrt(shape) / root);
  const double fourth = 3 * shape * shape + 6 * shape;  // central moment
  CHECK(std::abs(m.variance - shape) < 4 * std::sqrt(fourth - shape * shape) / root);
  CHECK(m.skewness == Approx(2 / std::sqrt(shape)).epsilon(0.1));
}

TEST_CASE("a gamma variable of shape 0.3 is as often small as it should be", "[random]") {
  // P(X < x) for shape 0.3: the regularised incomplete gamma function, summed as a series.
  const auto probability = [](double a, double x) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 100; ++n) sum += term *= x / (a + n);
    return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
  };
  Stream stream(5, "gamma");
  std::vector<double> x(draws);
  std::ranges::generate(x, [&] { return stream.gamma(0.3); });
  for (const double limit : {0.001, 0.05, 0.5, 2.0}) {
    const double p = probability(0.3, limit);
    const auto below = static_cast<double>(std::ranges::count_if(x, [&](double v) { return v < limit; }));
    CAPTURE(limit, p);
    CHECK(std::abs(below / draws - p) < 4 * std::sqrt(p * (1 - p)) / root);
  }
}

TEST_CASE("pareto variables start at 1 and have their mean and tail", "[random]") {
  Stream stream(6, "pareto");
  double least = HUGE_VAL, above_two = 0;
  const Moments m = moments(draws, [&] {
    const double x = stream.pareto(5);
    least = std::min(least, x);
    above_two += x > 2;
    return x;
  });
  CHECK(least >= 1.0);
  CHECK(least < 1.001);
  CHECK(std::abs(m.mean - 5.0 / 4) < 4 * std::sqrt(5.0 / (16 * 3)) / root);
  CHECK(std::abs(above_two / draws - 1.0 / 32) < 4 * std::sqrt(1.0 / 32) / root);
}

TEST_CASE("numbers below n favour none", "[random]") {
  Stream stream(8, "below");
  std::vector<double> counts(7, 0.0);
  for (int i = 0; i < draws; ++i) ++counts.at(stream.below(7));
  CHECK(std::abs(chi_square(counts) - 6) < 4 * std::sqrt(12.0));

  // 2^64 is no multiple of 3 * 2^62: without rejection the lowest third would come up half of the time.
  const std::uint64_t third = std::uint64_t{1} << 62U;
  std::vector<double> thirds(3, 0.0);
  for (int i = 0; i < draws; ++i) ++thirds.at(stream.below(3 * third) / third);
  CHECK(chi_square(thirds) < 2 + 4 * std::sqrt(4.0));
  CHECK(stream.below(1) == 0);
}

TEST_CASE("the draws that would favour small results are thrown away, and no others", "[random]") {
  // 2^64 mod 10 = 6.
  Stream skipped = stream_starting_with(5);
  Stream after = skipped;
  after.next();
  CHECK(skipped.below(10) == after.below(10));
  CHECK(stream_starting_with(6).below(10) == 6);
  CHECK(stream_starting_with(UINT64_MAX).below(10) == 5);
}

TEST_CASE("a permutation has everything once", "[random]") {
  const std::uint32_t n = GENERATE(0U, 1U, 2U, 17U, 1000U);
  std::vector<std::uint32_t> order = permutation(n, Stream(9, "permutation", n));
  REQUIRE(order.size() == n);
  std::ranges::sort(order);
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(order[i] == i);
}

TEST_CASE("all orders of four things are equally likely", "[random]") {
  std::map<std::vector<std::uint32_t>, double> seen;
  for (std::uint64_t i = 0; i < 24'000; ++i) ++seen[permutation(4, Stream(10, "permutation", i))];
  REQUIRE(seen.size() == 24);
  std::vector<double> counts;
  for (const auto& [order, count] : seen) counts.push_back(count);
  CHECK(chi_square(counts) < 23 + 4 * std::sqrt(2.0 * 23));
}
