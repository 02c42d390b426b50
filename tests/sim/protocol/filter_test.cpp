// Goal: a filter's message has the size that its paper gives, and the receiver sees what its paper says.
#include "sim/protocol/filter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/sim/protocol/filter_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::filter_test;

TEST_CASE("the scenario's filters are dealt out to their directions in order", "[filter]") {
  const std::vector<FilterSpec> filters{{.kind = "top-k"},
                                        {.kind = "fp16", .on = FilterOn::both},
                                        {.kind = "key-caching"},
                                        {.kind = "snappy", .on = FilterOn::pull}};
  const auto kinds = [&](bool push) {
    std::vector<std::string_view> result;
    for (const FilterSpec& filter : filters_on(filters, push)) result.push_back(filter.kind->name);
    return result;
  };
  CHECK(kinds(true) == std::vector<std::string_view>{"top-k", "fp16", "key-caching"});
  CHECK(kinds(false) == std::vector<std::string_view>{"fp16", "key-caching", "snappy"});
}

TEST_CASE("no filter: the same array, and its bytes", "[filter]") {
  const Slice values = slice_of<float>({1, 2, 3});
  for (const std::size_t key_bytes : {0U, 8U}) {
    const Encoded sent = chain_of({}, 3, true, key_bytes).encode(values);
    CHECK(sent.values.values == values.values);
    CHECK(sent.keys == nullptr);
    CHECK(sent.bytes == 3 * (4 + key_bytes));
    CHECK(sent.flops == 0);
  }
  const SharedKeys keys = keys_of({2, 5, 6});
  CHECK(FilterChain::plain(values, keys, Precision::float32, {8}).bytes == 36);
  CHECK(FilterChain::plain(values, keys, Precision::float32, {}).bytes == 24);  // a position each
  CHECK(FilterChain::plain(values, keys, Precision::float32, {.are_in_ranges = true}).bytes == 12);
  CHECK(FilterChain::plain(phantom(1000), nullptr, Precision::float64, {8}).bytes == 16000);
}

// Wire sizes as published: top-k 8k, Strom 4 bytes each, 1-bit n/8 + 8, MXNet 2bit ceil(n/16) words.
TEST_CASE("a message's size is that of its scheme, with numbers and without", "[filter]") {
  struct Case {
    FilterSpec filter;
    std::function<std::size_t(std::size_t)> bytes;
  };
  const auto share = [](std::size_t n) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(0.1 * static_cast<double>(n))));
  };
  const std::vector<Case> cases{
      {{.kind = "fp16"}, [](std::size_t n) { return 2 * n; }},
      {{.kind = "fixed-point", .settings = {{"bits", 8.0}}}, [](std::size_t n) { return n + 4; }},
      {{.kind = "fixed-point", .settings = {{"bits", 24.0}}}, [](std::size_t n) { return 3 * n + 4; }},
      {{.kind = "fixed-point", .settings = {{"bits", 2.0}}}, [](std::size_t n) { return (n + 3) / 4 + 4; }},
      {{.kind = "one-bit"}, [](std::size_t n) { return (n + 7) / 8 + 8; }},
      {{.kind = "two-bit"}, [](std::size_t n) { return (n + 15) / 16 * 4; }},
      {{.kind = "top-k", .settings = {{"fraction", 0.1}}},
       [&](std::size_t n) { return n == 1 ? 4 : 8 * share(n); }},
      {{.kind = "random-k", .settings = {{"fraction", 0.1}}},
       [&](std::size_t n) { return n == 1 ? 4 : 8 * share(n); }},
  };
  for (const Case& c : cases) {
    for (const std::size_t n : {1U, 15U, 16U, 17U, 100U, 1000U, 1003U}) {
      CAPTURE(c.filter.kind->name, n);
      CHECK(chain_of({c.filter}, n).encode(slice_of(normal_numbers(n, n))).bytes == c.bytes(n));
      CHECK(chain_of({c.filter}, n).encode(phantom(n)).bytes == c.bytes(n));
    }
  }
}

TEST_CASE("with per-value keys each value that is sent has its key", "[filter]") {
  const Slice values = slice_of(normal_numbers(1000, 1));
  const auto bytes = [&](FilterSpec filter) {
    return chain_of({filter}, 1000, true, 8).encode(values).bytes;
  };
  CHECK(bytes({.kind = "fp16"}) == 1000 * (8 + 2));
  CHECK(bytes({.kind = "top-k", .settings = {{"fraction", 0.01}}}) == 10 * (8 + 4));
  CHECK(bytes({.kind = "two-bit"}) == 1000 * 8 + 252);
}

TEST_CASE("key caching: a factor of 3 with 32-bit values and 64-bit keys, and of 2 with 64-bit values",
          "[filter]") {
  const std::size_t n = 10000;
  FilterChain single = chain_of({{.kind = "key-caching"}}, n, true, 8);
  const Slice floats = slice_of(normal_numbers(n, 1));
  CHECK(single.encode(floats).bytes == 12 * n + 8);
  const Encoded second = single.encode(floats);
  CHECK(second.bytes == 4 * n + 8);
  CHECK(second.values.values == floats.values);  // nothing was copied
  CHECK(12.0 * n / static_cast<double>(second.bytes) == Approx(3).epsilon(1e-3));

  FilterChain twice = chain_of({{.kind = "key-caching"}}, n, true, 8, Precision::float64);
  const Slice doubles = slice_of(std::vector<double>(n, 1.5));
  twice.encode(doubles);
  CHECK(16.0 * n / static_cast<double>(twice.encode(doubles).bytes) == Approx(2).epsilon(1e-3));

  FilterChain phantoms = chain_of({{.kind = "key-caching"}}, n, true, 8);
  CHECK(phantoms.encode(phantom(n)).bytes == 12 * n + 8);
  CHECK(phantoms.encode(phantom(n)).bytes == 4 * n + 8);
}

TEST_CASE("keys go again when they changed, and when the receiver lost them", "[filter]") {
  FilterChain chain = chain_of({{.kind = "key-caching"}}, 100, true, 8);
  const Slice three = slice_of<float>({1, 2, 3});
  const std::size_t with = 3 * 12 + 8, without = 3 * 4 + 8;
  CHECK(chain.encode(three, keys_of({5, 6, 7})).bytes == with);
  CHECK(chain.encode(three, keys_of({5, 6, 7})).bytes == without);
  CHECK(chain.encode(three, keys_of({5, 6, 8})).bytes == with);
  CHECK(chain.encode(three, keys_of({5, 6, 7})).bytes == with);
  CHECK(chain.encode(three, keys_of({5, 6, 7})).bytes == without);
  chain.forget_receiver();
  CHECK(chain.encode(three, keys_of({5, 6, 7})).bytes == with);
  // A range of its own needs no keys, so there is nothing to save; a part of it does.
  FilterChain range = chain_of({{.kind = "key-caching"}}, 3);
  CHECK(range.encode(three).bytes == 12);
  FilterChain part = chain_of({{.kind = "key-caching"}}, 100);
  CHECK(part.encode(three, keys_of({5, 6, 7})).bytes == 3 * 8 + 8);
  CHECK(part.encode(three, keys_of({5, 6, 7})).bytes == 3 * 4 + 8);
  // Which values a phantom's largest are is not known, so their keys are never the same.
  FilterChain largest =
      chain_of({{.kind = "top-k", .settings = {{"fraction", 0.1}}}, {.kind = "key-caching"}}, 100);
  for (int i = 0; i < 3; ++i) CHECK(largest.encode(phantom(100)).bytes == 10 * 8 + 8);
}

TEST_CASE("Snappy: zeros shrink more than twentyfold, noise does not, and nothing is lost", "[filter]") {
  const std::size_t n = 100000;
  FilterChain chain = chain_of({{.kind = "snappy"}}, n);
  std::vector<float> numbers(n, 0.0F);
  for (std::size_t i = 0; i < n; i += 5000) numbers[i] = 1.25F;
  const Slice sparse = slice_of(numbers);
  const Encoded sent = chain.encode(sparse);
  CHECK(sent.bytes * 20 < 4 * n);
  CHECK(sent.bytes > 0);
  CHECK(sent.values.values == sparse.values);
  const std::uint64_t noise = chain.encode(slice_of(normal_numbers(n, 1))).bytes;
  CHECK(noise > 4 * n * 9 / 10);
  CHECK(noise < 4 * n * 11 / 10);
}

TEST_CASE("Snappy compresses what the filters before it left", "[filter]") {
  const std::size_t n = 100000;
  const Slice noise = slice_of(normal_numbers(n, 1, 0.1));
  const FilterSpec two_bit{.kind = "two-bit"}, snappy{.kind = "snappy"};
  // Hardly a value of N(0, 0.1) reaches 0.5, so the codes are nearly all zero.
  CHECK(chain_of({two_bit, snappy}, n).encode(noise).bytes * 10 < n / 4);
  // Cached keys are not compressed again.
  FilterChain cached = chain_of({two_bit, {.kind = "key-caching"}, snappy}, n, true, 8);
  const std::uint64_t first = cached.encode(noise).bytes, second = cached.encode(noise).bytes;
  CHECK(second * 10 < first);
  // The part of a larger array that the slice is.
  Slice part = slice_of(std::vector<float>(2 * n, 0.0F));
  part.count = n;
  const std::uint64_t zeros = chain_of({snappy}, n).encode(part).bytes;
  std::vector<float> half(2 * n, 0.0F);
  const std::vector<float> rest = normal_numbers(n, 3);
  std::copy(rest.begin(), rest.end(), half.begin());
  Slice behind = slice_of(half);
  behind.begin = behind.count = n;
  CHECK(chain_of({snappy}, n).encode(behind).bytes == zeros);
}

TEST_CASE("the sender's work counts the values that come into each filter", "[filter]") {
  const FilterSpec top{.kind = "top-k", .settings = {{"fraction", 0.1}}, .flops_per_value = 10};
  const FilterSpec half{.kind = "fp16", .flops_per_value = 2};
  CHECK(chain_of({top, half}, 100).encode(phantom(100)).flops == 100 * 10 + 10 * 2);
  CHECK(chain_of({top, half}, 100).encode(slice_of(normal_numbers(100, 1))).flops == 1020);
}

TEST_CASE("chains are refused that no scenario makes", "[filter]") {
  const FilterSpec half{.kind = "fp16"}, top{.kind = "top-k"}, snappy{.kind = "snappy"};
  CHECK_THROWS_AS(chain_of({half, top}, 10), std::logic_error);
  CHECK_THROWS_AS(chain_of({half, half}, 10), std::logic_error);
  CHECK_THROWS_AS(chain_of({snappy, half}, 10), std::logic_error);
  CHECK_THROWS_AS(chain_of({half}, 10).encode(phantom(9)), std::logic_error);
  CHECK_THROWS_AS(chain_of({half}, 10).encode(phantom(3), keys_of({1, 2})), std::logic_error);
}

TEST_CASE("the same messages make the same bits, and another receiver or seed makes other draws",
          "[filter]") {
  const FilterSpec random{.kind = "random-k", .settings = {{"fraction", 0.2}}},
      fixed{.kind = "fixed-point", .settings = {{"bits", 4.0}}};
  const auto three = [&](FilterChain::Options options) {
    options.filters = {random, fixed};
    options.count = 500;
    FilterChain chain(options);
    std::vector<std::vector<float>> sent;
    for (std::uint64_t i = 0; i < 3; ++i)
      sent.push_back(numbers_of<float>(chain.encode(slice_of(normal_numbers(500, i))).values));
    return sent;
  };
  const auto first = three({.seed = 1, .sender = 9, .receiver = 1});
  CHECK(three({.seed = 1, .sender = 9, .receiver = 1}) == first);
  CHECK(three({.seed = 1, .sender = 9, .receiver = 1, .buffers = std::make_shared<FilterBuffers>()}) ==
        first);
  CHECK(three({.seed = 2, .sender = 9, .receiver = 1})[0] != first[0]);
  CHECK(three({.seed = 1, .sender = 8, .receiver = 1})[0] != first[0]);
  CHECK(three({.seed = 1, .sender = 9, .receiver = 2})[0] != first[0]);
  CHECK(three({.first_key = 500, .seed = 1, .sender = 9, .receiver = 1})[0] != first[0]);
}

TEST_CASE("chains may share their buffers", "[filter]") {
  const auto buffers = std::make_shared<FilterBuffers>();
  const auto make = [&](bool share, std::size_t count) {
    return FilterChain({.filters = {{.kind = "top-k", .settings = {{"fraction", 0.1}}}, {.kind = "snappy"}},
                        .count = count,
                        .seed = 1,
                        .buffers = share ? buffers : nullptr});
  };
  FilterChain large = make(true, 1000), small = make(true, 100), alone = make(false, 100);
  for (std::uint64_t i = 0; i < 5; ++i) {
    large.encode(slice_of(normal_numbers(1000, i)));
    const Slice given = slice_of(normal_numbers(100, 50 + i));
    const Encoded a = small.encode(given), b = alone.encode(given);
    CHECK(numbers_of<float>(a.values) == numbers_of<float>(b.values));
    CHECK(a.bytes == b.bytes);
  }
}

TEST_CASE("the filters that made a message smaller are known, with the direction", "[filter]") {
  const auto buffers = std::make_shared<FilterBuffers>();
  const auto send = [&](std::vector<FilterSpec> filters, const std::vector<float>& numbers) {
    buffers->used.clear();
    FilterChain chain({.filters = std::move(filters), .count = numbers.size(), .buffers = buffers});
    chain.encode(slice_of(numbers));
    return buffers->used;
  };
  const std::vector<float> large{4, -4, 4, -4}, small{0.1F, 0.2F, 4, 0.1F};
  CHECK(send({{.kind = "significant", .settings = {{"threshold", 1.0}}}}, large).empty());
  CHECK(send({{.kind = "significant", .settings = {{"threshold", 1.0}}}}, small) ==
        FiltersUsed{{"significant", true}});
  CHECK(send({{.kind = "fp16"}}, large) == FiltersUsed{{"fp16", true}});
  CHECK(send({{.kind = "key-caching"}}, large).empty());  // a whole range has no keys
  CHECK(send({{.kind = "snappy"}}, normal_numbers(8, 1)).empty());
  CHECK(send({{.kind = "snappy"}}, std::vector<float>(100, 0.0F)) == FiltersUsed{{"snappy", true}});
}

TEST_CASE("a phantom stays a phantom of the right size", "[filter]") {
  const FilterSpec top{.kind = "top-k", .settings = {{"fraction", 0.1}}},
      skip{.kind = "random-skip", .settings = {{"probability", 0.25}}}, bit{.kind = "one-bit"};
  const Encoded dense = chain_of({top, bit}, 1000).encode(phantom(1000));
  CHECK(dense.values.values == nullptr);
  CHECK(dense.values.count == 1000);
  CHECK(dense.bytes == 100 * 4 + 8 + 13);
  std::vector<std::uint32_t> keys(200);
  for (std::uint32_t i = 0; i < 200; ++i) keys[i] = 3 * i;
  const Encoded sparse = chain_of({skip}, 1000).encode(phantom(200), keys_of(keys));
  CHECK(sparse.values.count == sparse.keys->size());
  CHECK(sparse.bytes == 8 * sparse.values.count);
  CHECK(static_cast<double>(sparse.values.count) == Approx(150).margin(4 * std::sqrt(200 * 0.25 * 0.75)));
  // By chance means by the same chance, with numbers and without.
  CHECK(*sparse.keys == *chain_of({skip}, 1000).encode(slice_of(normal_numbers(200, 1)), keys_of(keys)).keys);
}
