// Goal: arrays whose place in memory never shows in a result, and parts of them that are shared, not copied.
#include "model/values.hpp"

#include <cstdint>
#include <numeric>
#include <thread>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

std::shared_ptr<Values> counting(std::size_t n, double first, Precision precision = Precision::float64) {
  auto values = std::make_shared<Values>(precision, n);
  with_scalar(precision, [&](auto zero) {
    using Scalar = decltype(zero);
    const auto span = values->as<Scalar>();
    std::iota(span.begin(), span.end(), static_cast<Scalar>(first));
  });
  return values;
}

std::vector<double> list(const Values& values) {
  return with_scalar(values.precision(), [&](auto zero) {
    const auto span = values.as<decltype(zero)>();
    return std::vector<double>(span.begin(), span.end());
  });
}

}  // namespace

TEST_CASE("arrays start at a multiple of 64 bytes, whatever their size", "[values]") {
  const Precision precision = GENERATE(Precision::float32, Precision::float64);
  std::vector<Values> kept;
  for (std::size_t size = 0; size < 200; ++size) {
    kept.emplace_back(precision, size);
    REQUIRE(reinterpret_cast<std::uintptr_t>(kept.back().raw()) % 64 == 0);
  }
}

TEST_CASE("an array knows its size in values and in bytes", "[values]") {
  const Values single(Precision::float32, 7), twice(Precision::float64, 7), none;
  CHECK(single.size() == 7);
  CHECK(single.bytes() == 28);
  CHECK(twice.bytes() == 56);
  CHECK(twice.as<double>().size() == 7);
  CHECK(none.size() == 0);
  CHECK(none.bytes() == 0);
}

TEST_CASE("zeros are zeros in memory that was used before", "[values]") {
  for (int round = 0; round < 10; ++round) {
    { counting(1000, 1); }
    const Values zeros = Values::zeros(Precision::float64, 1000);
    REQUIRE(list(zeros) == std::vector<double>(1000, 0.0));
  }
}

TEST_CASE("a freed array is the next array of its size", "[values]") {
  const std::size_t size = GENERATE(512U, 5000U, 1U << 18U);  // of 4 kB, 40 kB and 2 MB
  const std::byte* first = nullptr;
  {
    const Values a(Precision::float64, size), other(Precision::float64, 2 * size);
    first = a.raw();
  }
  const Values smaller(Precision::float64, size - 8), again(Precision::float64, size);
  CHECK(smaller.raw() != first);
  CHECK(again.raw() == first);
}

TEST_CASE("a part is copied from where it is to where it belongs", "[values]") {
  const Precision precision = GENERATE(Precision::float32, Precision::float64);
  const auto source = counting(10, 0, precision);
  Values target = Values::zeros(precision, 6);
  target.copy_from(*source, 4, 3, 2);
  CHECK(list(target) == std::vector<double>{0, 0, 4, 5, 6, 0});
}

TEST_CASE("moving an array moves its memory", "[values]") {
  Values a = Values::zeros(Precision::float64, 3);
  const std::byte* memory = a.raw();
  const Values b = std::move(a);
  CHECK(b.raw() == memory);
  CHECK(b.size() == 3);
}

TEST_CASE("a slice shows its part of the array and keeps the array alive", "[values]") {
  std::weak_ptr<const Values> watch;
  {
    Slice slice;
    {
      const auto values = counting(5, 10);
      watch = values;
      slice = {values, 1, 3};
    }
    REQUIRE(!watch.expired());
    CHECK(slice.as<double>().size() == 3);
    CHECK(slice.as<double>()[0] == 11);
    CHECK(slice.as<double>().data() == watch.lock()->as<double>().data() + 1);
  }
  CHECK(watch.expired());
}

TEST_CASE("parts are put together in their order", "[values]") {
  const Precision precision = GENERATE(Precision::float32, Precision::float64);
  Assembly assembly({{counting(3, 0, precision), 0, 3},
                     {counting(9, 10, precision), 2, 4},
                     {counting(1, 99, precision), 0, 1}});
  CHECK(assembly.get().precision() == precision);
  CHECK(list(assembly.get()) == std::vector<double>{0, 1, 2, 12, 13, 14, 15, 99});
  CHECK(reinterpret_cast<std::uintptr_t>(assembly.get().raw()) % 64 == 0);
}

TEST_CASE("one part that is a whole array is shared, a smaller one is copied", "[values]") {
  const auto values = counting(4, 0);
  Assembly whole({{values, 0, 4}}), end({{values, 1, 3}}), start({{values, 0, 3}});
  CHECK(whole.get().raw() == values->raw());
  CHECK(list(end.get()) == std::vector<double>{1, 2, 3});
  CHECK(list(start.get()) == std::vector<double>{0, 1, 2});
}

TEST_CASE("an assembly recognises its own parts, and only those", "[values]") {
  const auto a = counting(4, 0), b = counting(4, 0);
  const Assembly assembly({{a, 0, 4}, {b, 1, 2}});
  CHECK(assembly.same_parts({{a, 0, 4}, {b, 1, 2}}));
  CHECK(!assembly.same_parts({{b, 0, 4}, {a, 1, 2}}));
  CHECK(!assembly.same_parts({{a, 0, 4}, {b, 0, 2}}));
  CHECK(!assembly.same_parts({{a, 0, 4}, {b, 1, 3}}));
  CHECK(!assembly.same_parts({{a, 0, 4}}));
}

TEST_CASE("threads that ask at once get the same assembled array", "[values]") {
  for (int round = 0; round < 20; ++round) {
    const auto half = counting(50'000, 0);
    Assembly assembly({{half, 0, 50'000}, {half, 0, 50'000}});
    std::vector<const Values*> got(4, nullptr);
    std::vector<double> last(4, 0);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < got.size(); ++i) {
        threads.emplace_back([&, i] {
          got[i] = &assembly.get();
          last[i] = got[i]->as<double>().back();
        });
      }
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      REQUIRE(got[i] == got[0]);
      REQUIRE(last[i] == 49'999);
    }
  }
}
