// Goal: p values that are right. Method: published examples and enumerations by hand; random signs against
// all signs.
#include "analysis/statistics/sample.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"

using namespace psim::statistics;

namespace {
// Darwin's pairs of crossed and self-fertilised maize, in eighths of an inch: Fisher, The design of
// experiments, table 3.
const std::vector<double> maize{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
}  // namespace

TEST_CASE("McNemar's exact test by hand", "[statistics]") {
  CHECK(mcnemar({}) == 1);
  CHECK(mcnemar({.arm = 0, .baseline = 10}) == Approx(2 / 1024.0));
  CHECK(mcnemar({.arm = 10, .baseline = 0}) == Approx(2 / 1024.0));
  CHECK(mcnemar({.arm = 1, .baseline = 7}) == Approx(2 * (1 + 8) / 256.0));
  CHECK(mcnemar({.arm = 3, .baseline = 3}) == 1);
  CHECK(mcnemar({.arm = 3, .baseline = 2}) == Approx(1));
  CHECK(mcnemar({.arm = 0, .baseline = 2000}) == 0);
}

TEST_CASE("a family of tests needs seeds enough for one of them", "[statistics]") {
  CHECK(seeds_for_holm(1) == 6);
  CHECK(seeds_for_holm(3) == 7);
  CHECK(seeds_for_holm(28) == 11);
  for (const std::size_t tests : {1U, 2U, 3U, 10U, 28U, 100U}) {
    const double least = 2 / std::pow(2.0, static_cast<double>(seeds_for_holm(tests)));
    std::vector<double> p(tests, 1.0);
    p[0] = least;
    CHECK(holm(p)[0] <= 0.05);
    p[0] = 2 * least;
    CHECK(holm(p)[0] > 0.05);
  }
}

TEST_CASE("sign flips of Darwin's maize as Fisher counted them", "[statistics]") {
  const SignFlip test = sign_flip(maize);
  CHECK(test.exact);
  CHECK(test.p == 2 * 863 / 32768.0);  // 863 of 32768 ways reach 314 eighths
}

TEST_CASE("sign flips by hand", "[statistics]") {
  CHECK(sign_flip(std::vector<double>{1, 2, 3}).p == 2 / 8.0);   // 6 and -6
  CHECK(sign_flip(std::vector<double>{-1, 2, 3}).p == 4 / 8.0);  // 4: and 6
  CHECK(sign_flip(std::vector<double>{1, -1}).p == 1);
  CHECK(sign_flip(std::vector<double>{0, 0, 5}).p == 1);
  CHECK(sign_flip(std::vector<double>{0.1, 0.2, -0.3}).p == 1);  // 0 but for rounding
  CHECK(sign_flip(std::vector<double>{5}).p == 1);
  CHECK_THROWS_AS(sign_flip({}), std::invalid_argument);
}

TEST_CASE("random signs come near all signs, and never say 0", "[statistics]") {
  std::vector<double> more = maize;
  more.insert(more.end(), {0, 0, 0});  // 18 differences, with the same p
  const SignFlip test = sign_flip(more, 1, 100'000);
  CHECK_FALSE(test.exact);
  CHECK(std::abs(test.p - 0.0527) < 4 * std::sqrt(0.0527 * 0.9473 / 100'000));
  const std::vector<double> clear(20, 1.0);
  CHECK(sign_flip(clear, 1, 999).p == 0.001);
  std::ranges::reverse(more);
  CHECK(sign_flip(more, 1, 100'000).p == test.p);
  for (double& d : more) d = -d;
  CHECK(sign_flip(more, 1, 100'000).p == test.p);
}

TEST_CASE("Holm's correction by hand", "[statistics]") {
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) < 1e-12; });
  };
  // The example of Wikipedia's "Holm-Bonferroni method", as p.adjust of R has it.
  CHECK(near(holm(std::vector{0.01, 0.04, 0.03, 0.005}), {0.03, 0.06, 0.06, 0.02}));
  CHECK(near(holm(std::vector{0.4, 0.5, 0.45}), {1, 1, 1}));
  CHECK(near(holm(std::vector{0.02}), {0.02}));
  CHECK(holm({}).empty());
}

TEST_CASE("Holm never makes a p smaller nor changes their order", "[statistics]") {
  CHECK(rc::check([] {
    std::vector<double> p;
    for (const int thousandth : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1001)))
      p.push_back(thousandth / 1000.0);
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      RC_ASSERT(adjusted[i] >= p[i]);
      RC_ASSERT(adjusted[i] <= 1);
      RC_ASSERT(adjusted[i] <= std::min(1.0, p[i] * static_cast<double>(p.size())) + 1e-12);  // Bonferroni's
      for (std::size_t j = 0; j < p.size(); ++j) RC_ASSERT(!(p[i] < p[j]) || adjusted[i] <= adjusted[j]);
    }
  }));
}

TEST_CASE("the share of pairs in which an arm is better, by hand", "[statistics]") {
  const std::vector<double> arm{1, 3, 5}, baseline{2, 3, 4, 6};
  // 1 beats four, 3 beats two and ties once, 5 beats one: U = 7.5.
  CHECK(probability_of_better(arm, baseline, Better::smaller) == 7.5 / 12);
  CHECK(probability_of_better(arm, baseline, Better::larger) == 4.5 / 12);
  CHECK(probability_of_better(baseline, arm, Better::smaller) == 4.5 / 12);
  CHECK_THROWS_AS(probability_of_better(arm, {}, Better::smaller), std::invalid_argument);
}
