// Goal: products whose bits are those of the definition, whatever the level of the processor. Method: every
// element against a chain of fused multiply-adds of the C library, for shapes that meet every edge of the
// tiles, for every level that this processor has.
#include "model/numerics/product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::numerics;

namespace {

std::vector<const Kernels*> levels_here() {
  std::vector<const Kernels*> all{&portable_kernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&v3_kernels);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) all.push_back(&v4_kernels);
#endif
  return all;
}

void run(const Kernels& kernels, const Product<float>& product) { kernels.multiply_floats(product); }
void run(const Kernels& kernels, const Product<double>& product) { kernels.multiply_doubles(product); }

template <class Scalar>
bool same_bits(Scalar x, Scalar y) {
  return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
}

template <class Scalar>
std::vector<Scalar> draws(std::size_t n, Stream& stream) {
  std::vector<Scalar> all(n);
  for (Scalar& x : all)
    x = static_cast<Scalar>(std::ldexp(stream.normal(), static_cast<int>(stream.below(40)) - 20));
  return all;
}

struct Shape {
  std::size_t rows, steps, lanes;
};

enum class Left { by_rows, by_steps };
enum class Start { zero, first };

// One product. B and C have room around them, which must keep its values.
template <class Scalar>
void check(const Shape& shape, Left left, Start start, const Kernels& kernels) {
  Stream stream(7, "product_test", shape.rows * 1000 + shape.lanes, shape.steps);
  const std::size_t wide = shape.lanes + 3;
  const auto a = draws<Scalar>(shape.rows * shape.steps, stream);
  const auto b = draws<Scalar>(shape.steps * wide, stream), first = draws<Scalar>(shape.rows, stream);
  std::vector<const Scalar*> rows_of_b;
  for (std::size_t k = 0; k < shape.steps; ++k) rows_of_b.push_back(b.data() + k * wide);
  std::vector<Scalar> c(shape.rows * wide, Scalar(-77));
  const auto rows = static_cast<std::ptrdiff_t>(shape.rows), steps = static_cast<std::ptrdiff_t>(shape.steps);
  const bool by_rows = left == Left::by_rows;
  run(kernels, Product<Scalar>{.rows = shape.rows,
                               .steps = shape.steps,
                               .lanes = shape.lanes,
                               .a = a.data(),
                               .a_row = by_rows ? steps : 1,
                               .a_step = by_rows ? 1 : rows,
                               .b = rows_of_b.data(),
                               .c = c.data(),
                               .c_row = static_cast<std::ptrdiff_t>(wide),
                               .first = start == Start::first ? first.data() : nullptr});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < wide; ++j) {
      Scalar sum = start == Start::first ? first[i] : Scalar(0);
      for (std::size_t k = 0; k < shape.steps; ++k)
        sum = std::fma(a[by_rows ? i * shape.steps + k : k * shape.rows + i], b[k * wide + j], sum);
      if (!same_bits(c[i * wide + j], j < shape.lanes ? sum : Scalar(-77))) ++wrong;
    }
  }
  CAPTURE(shape.rows, shape.steps, shape.lanes, by_rows);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a product is a chain of fused multiply-adds in the order of the steps, on every level") {
  for (const Kernels* kernels : levels_here()) {
    for (const Shape shape : {Shape{1, 1, 1},
                              {6, 4, 16},
                              {7, 129, 33},
                              {13, 128, 64},
                              {5, 300, 95},
                              {4, 0, 9},
                              {12, 257, 2},
                              {3, 2, 127}}) {
      for (const Left left : {Left::by_rows, Left::by_steps}) {
        for (const Start start : {Start::zero, Start::first}) {
          check<float>(shape, left, start, *kernels);
          check<double>(shape, left, start, *kernels);
        }
      }
    }
  }
}

TEST_CASE("one multiply-add is exact for the numbers at the ends of the range") {
  const float inf = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  const float least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  const std::vector<float> values{
      0.0F,  -0.0F, 1.0F, -1.0F, 0x1.000002p0F, 0x1.fffffep-1F,  tiny, -tiny, least, 0x1.fffffcp-127F, most,
      -most, inf,   -inf, NAN,   0x1p-75F,      0x1.000002p-74F, 3.0F};
  for (const Kernels* kernels : levels_here()) {
    for (const float a : values) {
      for (const float start : values) {
        std::vector<float> c(values.size());
        const float* row = values.data();
        run(*kernels, Product<float>{.rows = 1,
                                     .steps = 1,
                                     .lanes = values.size(),
                                     .a = &a,
                                     .a_row = 1,
                                     .a_step = 1,
                                     .b = &row,
                                     .c = c.data(),
                                     .c_row = 1,
                                     .first = &start});
        for (std::size_t i = 0; i < values.size(); ++i) {
          CAPTURE(a, values[i], start);
          CHECK(same_bits(c[i], std::fma(a, values[i], start)));
        }
      }
    }
  }
}

TEST_CASE("the level of the products has one of the known names") {
  const std::vector<std::string_view> known{"v2", "v3", "v4", "portable"};
  CHECK(std::find(known.begin(), known.end(), level()) != known.end());
}
