// Goal: what both ends remember. Of pushes nothing is lost; of pulls the receiver fills the gaps.
#include <algorithm>
#include <cmath>

#include "tests/sim/protocol/filter_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::filter_test;

namespace {

using Floats = std::vector<float>;

// Every chain whose filters all feed their errors back.
std::vector<std::vector<FilterSpec>> feeding_back() {
  const FilterSpec fp16{.kind = "fp16", .error_feedback = true},
      fixed{.kind = "fixed-point", .settings = {{"bits", 3.0}}, .error_feedback = true},
      one{.kind = "one-bit"}, two{.kind = "two-bit", .settings = {{"threshold", 2.0}}},
      top{.kind = "top-k", .settings = {{"fraction", 0.1}}},
      random{.kind = "random-k", .settings = {{"fraction", 0.1}}},
      threshold{.kind = "threshold", .settings = {{"threshold", 3.0}}},
      significant{.kind = "significant", .settings = {{"threshold", 2.0}}},
      skip{.kind = "random-skip", .settings = {{"probability", 0.5}}, .error_feedback = true},
      cache{.kind = "key-caching"}, snappy{.kind = "snappy"};
  return {{fp16},
          {fixed},
          {one},
          {two},
          {top},
          {random},
          {threshold},
          {significant},
          {skip},
          {top, fp16},
          {random, two},
          {significant, one, cache, snappy},
          {skip, fixed},
          {top, two},
          {skip, top, cache},
          {top, threshold, snappy}};
}

bool is_exact(const std::vector<FilterSpec>& filters) {
  return std::ranges::none_of(
      filters, [](const FilterSpec& f) { return f.kind == "one-bit" || f.kind == "fixed-point"; });
}

std::string names_of(const std::vector<FilterSpec>& filters) {
  std::string names;
  for (const FilterSpec& f : filters) names += std::string(f.kind->name) + " ";
  return names;
}

}  // namespace

// sum(sent) + residual = sum(given), of each value (Karimireddy et al. 2019). Small integers make every sum
// exact where the scheme sends integers, whatever the order.
TEST_CASE("error feedback: what was sent and what is left are together what was given", "[filter]") {
  const std::size_t n = 300;
  for (const std::vector<FilterSpec>& filters : feeding_back()) {
    CAPTURE(names_of(filters));
    FilterChain chain = chain_of(filters, n);
    std::vector<double> given(n), sent(n);
    for (std::uint64_t step = 0; step < 50; ++step) {
      Stream stream(step, "gradient");
      Floats gradient(n);
      for (float& x : gradient) x = static_cast<float>(stream.below(9)) - 4;
      const Floats got = numbers_of<float>(chain.encode(slice_of(gradient)).values);
      for (std::size_t i = 0; i < n; ++i) {
        given[i] += gradient[i];
        sent[i] += got[i];
      }
    }
    const auto left = chain.residual()->as<float>();
    double moved = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = std::abs(sent[i] + left[i] - given[i]);
      REQUIRE(error <= (is_exact(filters) ? 0 : 1e-5 * 200));  // 50 steps of at most 4
      moved += std::abs(sent[i]);
    }
    CHECK(moved > 0);
  }
}

TEST_CASE("error feedback holds in double precision and for sparse messages", "[filter]") {
  const std::size_t n = 200;
  for (const std::vector<FilterSpec>& filters : feeding_back()) {
    CAPTURE(names_of(filters));
    FilterChain chain = chain_of(filters, n, true, 8, Precision::float64);
    std::vector<double> given(n), sent(n);
    for (std::uint64_t step = 0; step < 40; ++step) {
      Stream stream(step, "gradient");
      std::vector<std::uint32_t> keys;
      std::vector<double> gradient;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (stream.uniform() < 0.7) continue;
        keys.push_back(i);
        gradient.push_back(static_cast<double>(stream.below(9)) - 4);
        given[i] += gradient.back();
      }
      const Encoded out = chain.encode(slice_of(gradient), keys_of(keys));
      const std::vector<double> got = numbers_of<double>(out.values);
      REQUIRE(out.keys->size() == got.size());
      for (std::size_t j = 0; j < got.size(); ++j) sent[(*out.keys)[j]] += got[j];
    }
    const auto left = chain.residual()->as<double>();
    for (std::size_t i = 0; i < n; ++i)
      REQUIRE(std::abs(sent[i] + left[i] - given[i]) <= (is_exact(filters) ? 0 : 1e-12 * 160));
  }
}

TEST_CASE("nothing is remembered without need", "[filter]") {
  const Slice given = slice_of(normal_numbers(100, 1));
  const auto remembers = [&](FilterSpec filter, bool push) {
    FilterChain chain = chain_of({filter}, 100, push);
    chain.encode(given);
    return chain.residual() != nullptr;
  };
  CHECK(remembers({.kind = "top-k"}, true));
  CHECK(!remembers({.kind = "top-k", .error_feedback = false}, true));
  CHECK(!remembers({.kind = "fp16"}, true));
  CHECK(!remembers({.kind = "significant", .on = FilterOn::both, .settings = {{"threshold", 1.0}}}, false));
}

TEST_CASE("a pull of what changed leaves the rest as the receiver has it", "[filter]") {
  FilterChain chain =
      chain_of({{.kind = "significant", .on = FilterOn::pull, .settings = {{"threshold", 0.5}}}}, 4, false);
  const auto send = [&](const Floats& weights) { return chain.encode(slice_of(weights)); };
  const Encoded first = send({0, 0.25F, 1, -1});
  CHECK(numbers_of<float>(first.values) == Floats{0, 0.25F, 1, -1});  // all is new
  CHECK(first.bytes == 16);
  const Encoded second = send({0.5F, 0.8F, 1.25F, -2});
  CHECK(numbers_of<float>(second.values) == Floats{0, 0.8F, 1, -2});
  CHECK(second.bytes == 2 * 8);
  CHECK(numbers_of<float>(send({0.51F, 0.8F, 1.25F, -2}).values) == Floats{0.51F, 0.8F, 1, -2});
  CHECK(send({0.51F, 0.8F, 1.25F, -2}).bytes == 0);
  chain.forget_receiver();
  const Encoded again = send({0.51F, 0.8F, 1.25F, -2});
  CHECK(numbers_of<float>(again.values) == Floats{0.51F, 0.8F, 1.25F, -2});
  CHECK(again.bytes == 16);
}

// The receiver may have lost its memory, or never got the last message, or thrown it away.
TEST_CASE("a pull leaves out only what its receiver says that it has", "[filter]") {
  const std::size_t n = 1000;
  const auto kind = GENERATE("significant", "random-skip");
  FilterChain chain = chain_of(
      {{.kind = kind, .on = FilterOn::pull, .settings = {{"threshold", 0.5}, {"probability", 0.75}}}}, n,
      false);
  const Floats weights(n, 1.0F);
  const auto is_whole = [&](std::int64_t number, std::int64_t has) {
    chain.answer_to(number, has);
    return chain.encode(slice_of(weights)).bytes == 4 * n;
  };
  CHECK(is_whole(1, 0));
  CHECK_FALSE(is_whole(2, 1));
  CHECK_FALSE(is_whole(3, 2));
  CHECK(is_whole(4, 2));  // answer 3 was lost
  CHECK(is_whole(4, 2));  // the pull was repeated: it may have got either answer
  CHECK_FALSE(is_whole(5, 4));
  CHECK(is_whole(1, 0));  // it is back from a crash
  CHECK_FALSE(is_whole(2, 1));
  CHECK(is_whole(9, 8));  // others have answered meanwhile
}

TEST_CASE("no weight that the receiver has is farther off than the threshold", "[filter]") {
  const FilterSpec significant{.kind = "significant", .on = FilterOn::pull, .settings = {{"threshold", 0.1}}},
      half{.kind = "fp16", .on = FilterOn::pull};
  FilterChain chain = chain_of({significant, half}, 500, false);
  Floats weights = normal_numbers(500, 1);
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Floats change = normal_numbers(500, 100 + step, 0.04);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += change[i];
    const Floats got = numbers_of<float>(chain.encode(slice_of(weights)).values);
    for (std::size_t i = 0; i < weights.size(); ++i) REQUIRE(std::abs(got[i] - weights[i]) <= 0.1F + 1e-6F);
  }
}

TEST_CASE("a pull that skips at random is old in some places, and nowhere wrong", "[filter]") {
  const std::size_t n = 1000;
  FilterChain chain = chain_of(
      {{.kind = "random-skip", .on = FilterOn::pull, .settings = {{"probability", 0.75}}}}, n, false);
  CHECK(chain.encode(slice_of(Floats(n, 1.0F))).bytes == 4 * n);
  const Encoded second = chain.encode(slice_of(Floats(n, 2.0F)));
  const Floats got = numbers_of<float>(second.values);
  const auto fresh = static_cast<std::uint64_t>(std::ranges::count(got, 2.0F));
  CHECK(std::ranges::count(got, 1.0F) + static_cast<std::int64_t>(fresh) == static_cast<std::int64_t>(n));
  CHECK(second.bytes == 8 * fresh);
  CHECK(static_cast<double>(fresh) == Approx(250).margin(4 * std::sqrt(1000 * 0.75 * 0.25)));
}

TEST_CASE("a sparse pull has all keys that were asked for", "[filter]") {
  FilterChain chain =
      chain_of({{.kind = "significant", .on = FilterOn::pull, .settings = {{"threshold", 0.5}}}}, 10, false);
  const SharedKeys keys = keys_of({2, 5}), more = keys_of({2, 5, 9});
  CHECK(chain.encode(slice_of<float>({1, 2}), keys).bytes == 16);
  const Encoded next = chain.encode(slice_of<float>({1.25F, 3, 7}), more);
  CHECK(next.keys == more);
  CHECK(numbers_of<float>(next.values) == Floats{1, 3, 7});
  CHECK(next.bytes == 16);
}

// f(x) = |x - a|^2 / 2 with every |a_i| below the threshold: without feedback no gradient is ever sent.
TEST_CASE("with error feedback small gradients arrive in the end, and without it never", "[filter]") {
  const std::size_t n = 50;
  Floats target = normal_numbers(n, 5, 0.1);
  for (float& a : target) a = std::clamp(a, -0.4F, 0.4F);
  const auto distance_after = [&](FilterSpec filter, int steps) {
    FilterChain chain = chain_of({filter}, n);
    Floats x(n), gradient(n);
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < n; ++i) gradient[i] = x[i] - target[i];
      const Floats got = numbers_of<float>(chain.encode(slice_of(gradient)).values);
      for (std::size_t i = 0; i < n; ++i) x[i] -= 0.02F * got[i];
    }
    double squared = 0;
    for (std::size_t i = 0; i < n; ++i) squared += std::pow(x[i] - target[i], 2);
    return std::sqrt(squared / static_cast<double>(n));
  };
  const double start = distance_after({.kind = "two-bit"}, 0);
  CHECK(distance_after({.kind = "two-bit"}, 2000) < 0.02);  // a step is 0.02 * 0.5
  CHECK(distance_after({.kind = "two-bit", .error_feedback = false}, 2000) == start);
  CHECK(distance_after({.kind = "top-k", .settings = {{"fraction", 0.1}}}, 2000) < 0.02);
}

TEST_CASE("EF21 sends the largest differences to the sum of what it has sent", "[filter]") {
  FilterChain chain =
      chain_of({{.kind = "top-k", .settings = {{"fraction", 0.25}}, .memory = FilterMemory::difference}}, 8);
  std::vector<float> sum(8, 0);
  for (std::uint64_t t = 0; t < 20; ++t) {
    const Floats gradient = normal_numbers(8, t);
    Floats rest(8);
    for (std::size_t i = 0; i < 8; ++i) rest[i] = gradient[i] - sum[i];
    for (int kept = 0; kept < 2; ++kept) {
      const auto largest = std::ranges::max_element(rest, {}, [](float x) { return std::abs(x); });
      sum[static_cast<std::size_t>(largest - rest.begin())] += *largest;
      *largest = 0;
    }
    const Encoded sent = chain.encode(slice_of(gradient));
    CHECK(numbers_of<float>(sent.values) == sum);
    CHECK(sent.bytes == 2 * (4 + 4));
  }
}

TEST_CASE("chance scales no difference up, and all differences make the gradient", "[filter]") {
  const auto of = [](FilterSpec filter) {
    filter.error_feedback = true;
    filter.memory = FilterMemory::difference;
    return chain_of({filter}, 100, true, 0, Precision::float64);
  };
  FilterChain some = of({.kind = "random-k", .settings = {{"fraction", 0.1}}});
  const std::vector<double> gradient(100, 3);
  double sum = 0;
  for (const double x : numbers_of<double>(some.encode(slice_of(gradient)).values)) sum += x;
  CHECK(sum == Approx(10 * 3));
  FilterChain all = of({.kind = "top-k", .settings = {{"fraction", 1.0}}});
  for (std::uint64_t t = 0; t < 5; ++t) {
    std::vector<double> numbers;
    for (const float x : normal_numbers(100, t)) numbers.push_back(x);
    const std::vector<double> got = numbers_of<double>(all.encode(slice_of(numbers)).values);
    for (std::size_t i = 0; i < 100; ++i) CHECK(got[i] == Approx(numbers[i]).epsilon(1e-12));
  }
}
