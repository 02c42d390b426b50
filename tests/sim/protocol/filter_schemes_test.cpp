// Goal: what each scheme does to the numbers, value by value, and its statistics against theory.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/sim/protocol/filter_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::filter_test;

namespace {

using Floats = std::vector<float>;

Floats once(FilterSpec filter, const Floats& given) {
  return numbers_of<float>(chain_of({filter}, given.size()).encode(slice_of(given)).values);
}

FilterSpec without_feedback(FilterSpec filter) {
  filter.error_feedback = false;
  return filter;
}

constexpr float infinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("fp16 rounds to nearest even, keeps subnormals, and ends at 65504", "[filter]") {
  const FilterSpec half{.kind = "fp16"};
  CHECK(once(half, {1, -2.5F, 0, 65504}) == Floats{1, -2.5F, 0, 65504});
  // Between 2048 and 4096 halves are 2 apart: ties go to the even one.
  CHECK(once(half, {2049, 2051, 2049.01F, 2050.99F}) == Floats{2048, 2052, 2050, 2050});
  CHECK(once(half, {65519.99F, 65520, -1e9F}) == Floats{65504, infinite, -infinite});
  const float least = std::ldexp(1.0F, -24);
  CHECK(once(half, {least, least / 2, 0.75F * least}) == Floats{least, 0, least});
  CHECK(std::isnan(once(half, {std::nanf("")})[0]));
  const FilterSpec both{.kind = "fp16", .on = FilterOn::both};
  const Slice twice = slice_of<double>({1.0 + 1.0 / 1024, 1e-9});
  FilterChain chain = chain_of({both}, 2, false, 0, Precision::float64);
  CHECK(numbers_of<double>(chain.encode(twice).values) == std::vector<double>{1.0 + 1.0 / 1024, 0});
}

TEST_CASE("fixed point: levels of the largest magnitude, either neighbour, the mean right", "[filter]") {
  const FilterSpec bits{.kind = "fixed-point", .settings = {{"bits", 4.0}}};  // levels -7 .. 7
  CHECK(once(bits, {7, -7, 3, 0, -1}) == Floats{7, -7, 3, 0, -1});
  CHECK(once(bits, {0, 0}) == Floats{0, 0});
  FilterChain chain = chain_of({bits}, 3);
  const int rounds = 40000;
  double sum = 0;
  for (int i = 0; i < rounds; ++i) {
    const Floats got = numbers_of<float>(chain.encode(slice_of<float>({7, 2.25F, -7})).values);
    REQUIRE((got[1] == 2 || got[1] == 3));
    sum += got[1];
  }
  CHECK(sum / rounds == Approx(2.25).margin(4 * std::sqrt(0.25 * 0.75 / rounds)));
  // No value is off by a level or more.
  for (const std::int64_t width : {2, 3, 8, 16, 23, 24}) {
    const Floats given = normal_numbers(1000, 7);
    const float scale = std::abs(*std::ranges::max_element(given, {}, [](float x) { return std::abs(x); }));
    const Floats got =
        once({.kind = "fixed-point", .settings = {{"bits", static_cast<double>(width)}}}, given);
    const double level = scale / (std::ldexp(1.0, static_cast<int>(width) - 1) - 1);
    for (std::size_t i = 0; i < given.size(); ++i)
      REQUIRE(std::abs(static_cast<double>(got[i]) - given[i]) <= level + 1e-6 * scale);
  }
  for (const float bad : {infinite, -infinite, std::nanf("")})  // a run that diverges shows it
    for (const float x : once(bits, {1, bad, 2})) CHECK(std::isnan(x));
  // The scale travels in single precision, and is no smaller than the largest value.
  FilterChain doubles =
      chain_of({{.kind = "fixed-point", .settings = {{"bits", 2.0}}}}, 1, true, 0, Precision::float64);
  const double large = 1 + std::ldexp(1.0, -30);
  CHECK(numbers_of<double>(doubles.encode(slice_of<double>({large})).values)[0] == 1 + std::ldexp(1.0, -23));
}

TEST_CASE("one bit: each sign stands for its mean, so the sum is kept", "[filter]") {
  const FilterSpec bit{.kind = "one-bit"};
  CHECK(once(bit, {1, 3, -2, 0, -4, 4}) == Floats{2, 2, -3, 2, -3, 2});
  CHECK(once(bit, {-1, -3}) == Floats{-2, -2});
  const Floats given = normal_numbers(10000, 2), got = once(bit, given);
  CHECK(std::accumulate(got.begin(), got.end(), 0.0) ==
        Approx(std::accumulate(given.begin(), given.end(), 0.0)).margin(1e-3));
}

TEST_CASE("two bits: the threshold counts, what is missing comes later", "[filter]") {
  FilterChain chain = chain_of({{.kind = "two-bit"}}, 5);
  const auto send = [&](const Floats& given) {
    return numbers_of<float>(chain.encode(slice_of(given)).values);
  };
  CHECK(send({0.5F, -0.5F, 0.25F, 2, -0.125F}) == Floats{0.5F, -0.5F, 0, 0.5F, 0});
  CHECK(chain.residual()->as<float>()[3] == 1.5F);
  CHECK(send({0, 0, 0.25F, 0, -0.125F}) == Floats{0, 0, 0.5F, 0.5F, 0});
  CHECK(send({0, 0, 0, 0, -0.25F}) == Floats{0, 0, 0, 0.5F, -0.5F});
  CHECK(send({0, 0, 0, 0, 0}) == Floats{0, 0, 0, 0.5F, 0});
  CHECK(send({0, 0, 0, 0, 0}) == Floats{0, 0, 0, 0, 0});
}

TEST_CASE("top-k keeps exactly the k largest, of equal ones the first", "[filter]") {
  const auto top = [](double fraction) {
    return FilterSpec{.kind = "top-k", .settings = {{"fraction", fraction}}, .error_feedback = false};
  };
  CHECK(once(top(0.4), {1, -5, 3, -2, 4}) == Floats{0, -5, 0, 0, 4});
  CHECK(once(top(0.4), {2, -2, 2, -2, 2}) == Floats{2, -2, 0, 0, 0});
  CHECK(once(top(0.4), {2, -2, 2, -2, 9}) == Floats{2, 0, 0, 0, 9});
  CHECK(once(top(0.001), {1, 2, 3}) == Floats{0, 0, 3});  // at least one
  CHECK(once(top(1), {1, 2, 3}) == Floats{1, 2, 3});
  const Floats zeros = once(top(0.5), {0, 0, 0, 0});
  CHECK(zeros == Floats{0, 0, 0, 0});
  CHECK(std::isnan(once(top(0.2), {1, 2, std::nanf(""), 9, 3})[2]));
  const Floats got = once(top(0.01), normal_numbers(100000, 3));
  CHECK(std::ranges::count_if(got, [](float x) { return x != 0; }) == 1000);
}

TEST_CASE("a share of a message is rounded to the nearest number of values, at least one", "[filter]") {
  const auto kept = [](const char* kind, double fraction, std::size_t count) {
    const Floats got = once({.kind = kind, .settings = {{"fraction", fraction}}}, Floats(count, 1.0F));
    return std::ranges::count_if(got, [](float x) { return x != 0; });
  };
  for (const char* kind : {"top-k", "random-k"}) {
    CHECK(kept(kind, 0.1, 14) == 1);
    CHECK(kept(kind, 0.1, 15) == 2);
    CHECK(kept(kind, 0.1, 19) == 2);
    CHECK(kept(kind, 0.01, 43) == 1);
  }
}

TEST_CASE("random-k: k of n, all equally often, and scaled up when nothing comes later", "[filter]") {
  const FilterSpec random{.kind = "random-k", .settings = {{"fraction", 0.3}}};
  FilterChain chain = chain_of({without_feedback(random)}, 10);
  std::vector<double> sums(10);
  const int rounds = 20000;
  for (int i = 0; i < rounds; ++i) {
    const Floats got = numbers_of<float>(chain.encode(slice_of(Floats(10, 3.0F))).values);
    REQUIRE(std::ranges::count(got, 10.0F) == 3);
    REQUIRE(std::ranges::count(got, 0.0F) == 7);
    for (std::size_t j = 0; j < 10; ++j) sums[j] += got[j];
  }
  // Each is 10 with probability 0.3, so its mean is the 3 that was given.
  for (const double sum : sums) CHECK(sum / rounds == Approx(3).margin(4.5 * 10 * std::sqrt(0.21 / rounds)));
  const Floats unscaled = once(random, Floats(10, 3.0F));
  CHECK(std::ranges::count(unscaled, 3.0F) == 3);
}

TEST_CASE("random skip: each value by its own chance, the mean kept", "[filter]") {
  const std::size_t n = 100000;
  const Floats got = once({.kind = "random-skip", .settings = {{"probability", 0.8}}}, Floats(n, 1.0F));
  const auto sent = static_cast<double>(std::ranges::count_if(got, [](float x) { return x != 0; }));
  CHECK(sent / n == Approx(0.2).margin(4 * std::sqrt(0.16 / n)));
  for (const float x : got) REQUIRE((x == 0 || x == 5));
}

// Strom 2015: of N(0, s^2) with nothing left over, the share erfc(threshold / (s sqrt 2)) is sent.
TEST_CASE("threshold sends the share of a normal distribution that lies beyond it", "[filter]") {
  const std::size_t n = 200000;
  const Floats given = normal_numbers(n, 4, 0.01);
  for (const double sigmas : {1.0, 2.0, 3.0}) {
    const FilterSpec filter{.kind = "threshold", .settings = {{"threshold", 0.01 * sigmas}}};
    const Encoded sent = chain_of({filter}, n).encode(slice_of(given));
    const double share = static_cast<double>(sent.bytes) / 4 / n, theory = std::erfc(sigmas / std::sqrt(2.0));
    CHECK(share == Approx(theory).margin(4 * std::sqrt(theory * (1 - theory) / n)));
    const Floats got = numbers_of<float>(sent.values);
    const auto level = static_cast<float>(0.01 * sigmas);
    for (std::size_t i = 0; i < n; ++i) {
      const float expected = std::abs(given[i]) < level ? 0 : std::copysign(level, given[i]);
      REQUIRE(got[i] == expected);
    }
  }
}

TEST_CASE("threshold: the signs travel with the positions", "[filter]") {
  const FilterSpec filter{.kind = "threshold", .settings = {{"threshold", 1.0}}};
  CHECK(chain_of({filter}, 3).encode(slice_of<float>({1, -2, 3})).bytes == 12);  // also of a whole range
  CHECK(chain_of({filter}, 3, true, 8).encode(slice_of<float>({1, 0.5F, 3})).bytes == 16);
  FilterChain chain = chain_of({filter, {.kind = "key-caching"}}, 4);
  CHECK(chain.encode(slice_of<float>({1, 0, -1, 0})).bytes == 2 * 4 + 8);
  CHECK(chain.encode(slice_of<float>({1, 0, -1, 0})).bytes == 8);
  CHECK(chain.encode(slice_of<float>({1, 0, 1, 0})).bytes == 2 * 4 + 8);
}

TEST_CASE("what a quantiser writes is as long as it is counted", "[filter]") {
  for (const FilterSpec& filter :
       std::vector<FilterSpec>{{.kind = "fp16"},
                               {.kind = "fixed-point", .settings = {{"bits", 5.0}}},
                               {.kind = "one-bit"},
                               {.kind = "two-bit"},
                               {.kind = "threshold"}}) {
    for (std::size_t n = 0; n < 40; ++n) {
      Floats numbers = normal_numbers(n, n);
      std::vector<std::byte> coded;
      Quantization<float> work{
          .settings = filter.settings, .values = numbers, .stream = Stream(1, "test"), .coded = coded};
      filter.kind->quantize(work);
      CAPTURE(filter.kind->name, n);
      CHECK(coded.size() == filter.kind->coded_bytes(filter.settings, n));
    }
  }
}

TEST_CASE("significant pushes wait until they have become large together", "[filter]") {
  FilterChain chain = chain_of({{.kind = "significant", .settings = {{"threshold", 1.0}}}}, 3);
  const auto send = [&](const Floats& given) { return chain.encode(slice_of(given)); };
  CHECK(numbers_of<float>(send({0.75F, 1, -2}).values) == Floats{0, 0, -2});
  const Encoded second = send({0.75F, 0.25F, 0.5F});
  CHECK(numbers_of<float>(second.values) == Floats{1.5F, 1.25F, 0});
  CHECK(second.bytes == 2 * 8);
  CHECK(send({0.25F, 0.25F, 0.25F}).bytes == 0);
}

TEST_CASE("kkt drops the gradients of zero weights that the penalty holds at zero", "[filter]") {
  const FilterSpec kkt{.kind = "kkt", .settings = {{"delta", 0.25}}};
  const Slice gradient = slice_of<float>({0.5F, 0.75F, 0.8F, -0.75F, -2, 0.1F}),
              weights = slice_of<float>({0, 0, 0, 0, 0, 0.5F});
  FilterChain chain = chain_of({kkt}, 6);
  const Encoded dense = chain.encode(gradient, {}, weights, 1);
  CHECK(numbers_of<float>(dense.values) == Floats{0, 0, 0.8F, 0, -2, 0.1F});
  CHECK(dense.bytes == 3 * 8);
  CHECK(chain.residual() == nullptr);
  FilterChain sparse = chain_of({kkt}, 100);
  const Encoded part = sparse.encode(gradient, keys_of({3, 10, 20, 30, 40, 50}), weights, 1);
  CHECK(*part.keys == std::vector<std::uint32_t>{20, 40, 50});
  CHECK(numbers_of<float>(part.values) == Floats{0.8F, -2, 0.1F});
  // Behind another filter, the weights are still those of the message.
  FilterChain second = chain_of({{.kind = "top-k", .settings = {{"fraction", 0.5}}}, kkt}, 4);
  const Slice four = slice_of<float>({0.1F, 0.2F, 0.5F, 0.6F}), fourth = slice_of<float>({1, 1, 0, 1});
  CHECK(numbers_of<float>(second.encode(four, {}, fourth, 1).values) == Floats{0, 0, 0, 0.6F});
  // Without a penalty everything goes.
  CHECK(chain_of({kkt}, 6).encode(gradient, {}, weights, 0).bytes == 24);
}

TEST_CASE("a sparse push keeps the keys of what is left", "[filter]") {
  FilterChain chain = chain_of({{.kind = "top-k", .settings = {{"fraction", 0.5}}}, {.kind = "fp16"}}, 100);
  const Encoded sent = chain.encode(slice_of<float>({1, -4, 2, 3}), keys_of({7, 8, 50, 99}));
  CHECK(*sent.keys == std::vector<std::uint32_t>{8, 99});
  CHECK(numbers_of<float>(sent.values) == Floats{-4, 3});
  CHECK(sent.bytes == 2 * (4 + 2));
  // What was left out comes when its key does.
  const Encoded next = chain.encode(slice_of<float>({0, 0}), keys_of({7, 8}));
  CHECK(*next.keys == std::vector<std::uint32_t>{7});
  CHECK(numbers_of<float>(next.values) == Floats{1});
  CHECK(chain.residual()->as<float>()[50] == 2);
}

TEST_CASE("two filters may select, one after the other", "[filter]") {
  const FilterSpec half{.kind = "top-k", .settings = {{"fraction", 0.5}}, .error_feedback = false};
  const FilterSpec large{.kind = "significant", .settings = {{"threshold", 3.5}}, .error_feedback = false};
  FilterChain chain = chain_of({half, large}, 6);
  CHECK(numbers_of<float>(chain.encode(slice_of<float>({9, 1, 2, -4, 3, 3.25F})).values) ==
        Floats{9, 0, 0, -4, 0, 0});
}
