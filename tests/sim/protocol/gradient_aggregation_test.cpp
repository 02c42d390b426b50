// How the gradients of an update become one, against the papers' definitions computed here on their own:
// trimmed mean and median (Yin et al., ICML 2018), Krum (Blanchard et al., NIPS 2017,
// section 4), and the mean of all workers' last gradients (Blatt et al., SIAM Journal on Optimization 2007).
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

AggregationRule rule(const char* row, Settings settings = {}) { return {row, std::move(settings)}; }

// The gradient of an update of five workers under bsp.
Numbers update_of(const AggregationRule& how, const std::vector<Numbers>& gradients) {
  Driver d({.model = "bsp", .aggregation = how}, static_cast<std::int64_t>(gradients.size()),
           {.weights = Numbers(gradients.front().size(), 0), .learning_rate = {.base = 1}});
  d.pull_all();
  for (std::uint32_t w = 0; w < gradients.size(); ++w) d.push(w, gradients[w]);
  Numbers moved = d.weights();
  for (double& x : moved) x = -x;
  return moved;
}

const std::vector<Numbers> five{{1, 10, -3}, {2, 11, -1}, {3, 12, 0}, {2.5, 9, -2}, {1000, -500, 70}};

}  // namespace

TEST_CASE("a trimmed mean leaves out the ends of every value", "[protocol]") {
  for (const double share : {0.0, 0.19, 0.2, 0.4}) {
    INFO(share);
    const Numbers got = update_of(rule("trimmed-mean", {{"trimmed_share", share}}), five);
    for (std::size_t i = 0; i < got.size(); ++i) {
      Numbers column;
      for (const Numbers& g : five) column.push_back(g[i]);
      std::ranges::sort(column);
      const auto out = static_cast<std::ptrdiff_t>(std::floor(share * 5));
      const double sum = std::accumulate(column.begin() + out, column.end() - out, 0.0);
      CHECK(got[i] == Approx(sum / static_cast<double>(5 - 2 * out)));
    }
  }
}

TEST_CASE("a median is that of every value, of an even number the mean of the middle two", "[protocol]") {
  CHECK(update_of(rule("median"), five) == Numbers{2.5, 10, -1});
  CHECK(update_of(rule("median"), {{1, 4}, {3, 0}, {2, 1}, {9, 9}}) == Numbers{2.5, 2.5});
  CHECK(update_of(rule("median"), {{1, 4}}) == Numbers{1, 4});
}

TEST_CASE("a vote is the sign of most gradients, weight by weight", "[protocol]") {
  CHECK(update_of(rule("vote"), five) == Numbers{1, 1, -1});
  CHECK(update_of(rule("vote"), {{1, -4, 0}, {-3, 0, 0}}) == Numbers{0, -1, 0});
  CHECK(update_of(rule("vote"), {{-0.25, 7, 0}}) == Numbers{-1, 1, 0});
}

TEST_CASE("Krum takes the gradient that is nearest to its neighbours", "[protocol]") {
  const auto krum = [](const std::vector<Numbers>& all, std::size_t f) {
    const std::size_t near = std::max<std::size_t>(1, all.size() > f + 2 ? all.size() - f - 2 : 1);
    std::size_t best = 0;
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Numbers to;
      for (std::size_t j = 0; j < all.size(); ++j) {
        double d = 0;
        for (std::size_t k = 0; k < all[i].size(); ++k) d += std::pow(all[i][k] - all[j][k], 2);
        if (j != i) to.push_back(d);
      }
      std::ranges::sort(to);
      const double score = std::accumulate(
          to.begin(), to.begin() + static_cast<std::ptrdiff_t>(std::min(near, to.size())), 0.0);
      if (score < least) {
        least = score;
        best = i;
      }
    }
    return all[best];
  };
  for (const std::int64_t f : {0, 1, 2, 3}) {
    INFO(f);
    CHECK(update_of(rule("krum", {{"byzantine", f}}), five) == krum(five, static_cast<std::size_t>(f)));
  }
  CHECK(update_of(rule("krum"), {{7, 8}}) == Numbers{7, 8});
  const std::vector<Numbers> two_attack{{0, 0},   {1, 0},      {0.4, 0.1}, {50, 50},
                                        {50, 50}, {0.5, -0.1}, {0.2, 0}};
  CHECK(update_of(rule("krum", {{"byzantine", std::int64_t{2}}}), two_attack) == krum(two_attack, 2));
}

TEST_CASE("the mean of last gradients has one of every worker that has pushed", "[protocol]") {
  Driver d({.model = "asp", .aggregation = rule("last")}, 3,
           {.weights = {0, 0}, .learning_rate = {.base = 1}});
  d.pull_all();
  Numbers expected{0, 0};
  std::map<std::uint32_t, Numbers> last;
  const std::vector<std::pair<std::uint32_t, Numbers>> pushes{{0, {1, 2}},      {1, {3, -1}}, {0, {-2, 5}},
                                                              {2, {0.5, 0.25}}, {2, {8, 8}},  {1, {1, 1}}};
  for (const auto& [worker, gradient] : pushes) {
    d.turn(worker, gradient);
    last[worker] = gradient;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double sum = 0;
      for (const auto& [w, g] : last) sum += g[i];
      expected[i] -= sum / static_cast<double>(last.size()) / 3;  // a third of the rate for one push of three
    }
    CHECK(d.weights()[0] == Approx(expected[0]));
    CHECK(d.weights()[1] == Approx(expected[1]));
  }
}

TEST_CASE("a mean of last gradients leaves out workers that are gone", "[protocol]") {
  GradientAggregation all(rule("last"), 3, 1);
  const auto feed = [&all](std::uint32_t worker, double number, std::size_t gone) {
    std::vector<WeightedGradient> update{{{values_of({number}), 0, 1}, 1.0}};
    const std::uint32_t by[] = {worker};
    all.combine(update, by, Precision::float64, [gone](std::size_t w) { return w != gone; });
    return numbers_of(update.front().gradient).front();
  };
  CHECK(feed(0, 2, 9) == 2);
  CHECK(feed(1, 4, 9) == 3);
  CHECK(feed(2, 9, 0) == 6.5);
  CHECK(feed(2, 9, 9) == 5);
}

TEST_CASE("a gradient that is no number is the farthest and the largest one", "[protocol]") {
  const std::vector<Numbers> broken{{NAN, 1}, {1, 2}, {1.5, 2.5}, {2, 3}};
  CHECK(update_of(rule("krum"), broken) == Numbers{1, 2});
  CHECK(update_of(rule("trimmed-mean", {{"trimmed_share", 0.25}}), broken) == Numbers{1.75, 2.25});
}

TEST_CASE("kept gradients go with the shard, are cut with it, and are counted", "[protocol]") {
  GradientAggregation whole(rule("last"), 3, 4);
  const auto feed = [](GradientAggregation& to, std::uint32_t worker, const Numbers& numbers) {
    std::vector<WeightedGradient> update{{{values_of(numbers), 0, numbers.size()}, 1.0}};
    const std::uint32_t by[] = {worker};
    to.combine(update, by, Precision::float64, [](std::size_t) { return true; });
    return numbers_of(update.front().gradient);
  };
  const std::uint64_t empty = whole.hash(7);
  CHECK(empty == 7);
  CHECK(whole.bytes(8) == 0);
  feed(whole, 0, {1, 2, 3, 4});
  CHECK(whole.hash(7) != empty);
  CHECK(whole.bytes(8) == 32);
  GradientAggregation copy = whole, back = whole.part({2, 2});
  CHECK(copy.hash(7) == whole.hash(7));
  CHECK(back.bytes(8) == 16);
  CHECK(feed(whole, 1, {5, 6, 7, 8}) == Numbers{3, 4, 5, 6});
  CHECK(feed(back, 1, {7, 8}) == Numbers{5, 6});
  // A copy that gets sums alone has the same gradients.
  const std::uint32_t one[] = {1};
  copy.keep(whole.kept_of(one));
  CHECK(copy.hash(7) == whole.hash(7));
}
