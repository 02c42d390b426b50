// The kernels of `multiply` for the level that this file is compiled for; product_LEVEL.cpp includes it. No
// inline function of a library may be called: the linker keeps one copy for the whole program, and it could
// be a copy that needs a newer processor.
#pragma once

#include "model/numerics/product.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace psim::numerics {

// One vector register of float or double, for the level that this file is compiled for. Only multiply.hpp
// includes this file. Everything is in an unnamed namespace: files for several levels are linked into one
// program.

namespace {

template <class Scalar>
struct Lanes;

// rows, vectors: the shape of a tile of C that is kept in registers.
#define PSIM_LANES(Scalar, Register, count, tile_rows, tile_vectors, load_from, store_to, spread, fused) \
  template <>                                                                                            \
  struct Lanes<Scalar> {                                                                                 \
    using Vector = Register;                                                                             \
    static constexpr int width = count, rows = tile_rows, vectors = tile_vectors;                        \
    static Vector load(const Scalar* p) { return load_from(p); }                                         \
    static void store(Scalar* p, Vector v) { store_to(p, v); }                                           \
    static Vector broadcast(Scalar x) { return spread(x); }                                              \
    static Vector fma(Vector a, Vector b, Vector c) { return fused; }                                    \
  };

#if defined(__AVX512F__)
PSIM_LANES(float, __m512, 16, 6, 4, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps,
           _mm512_fmadd_ps(a, b, c))
PSIM_LANES(double, __m512d, 8, 6, 4, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd,
           _mm512_fmadd_pd(a, b, c))
#elif defined(__AVX2__)
PSIM_LANES(float, __m256, 8, 6, 2, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps,
           _mm256_fmadd_ps(a, b, c))
PSIM_LANES(double, __m256d, 4, 6, 2, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
           _mm256_fmadd_pd(a, b, c))
#elif defined(__ARM_NEON)
PSIM_LANES(float, float32x4_t, 4, 6, 4, vld1q_f32, vst1q_f32, vdupq_n_f32, vfmaq_f32(c, a, b))
PSIM_LANES(double, float64x2_t, 2, 6, 4, vld1q_f64, vst1q_f64, vdupq_n_f64, vfmaq_f64(c, a, b))
#elif defined(__SSE2__)

// The fused multiply-add of float from sums and products of double: the product is exact, the sum is rounded
// to odd, and so the last rounding is the only one.
struct FourFloats {
  static __m128d rounded_to_odd(__m128d product, __m128d c) {
    const __m128d sum = _mm_add_pd(product, c), part = _mm_sub_pd(sum, product);
    const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, part)), _mm_sub_pd(c, part));
    const __m128i bits = _mm_castpd_si128(sum), one = _mm_set1_epi64x(1);
    // The error of an infinite sum is not a number.
    const __m128d is_number = _mm_cmpord_pd(error, error);
    const __m128i is_inexact =
        _mm_castpd_si128(_mm_and_pd(is_number, _mm_cmpneq_pd(error, _mm_setzero_pd())));
    const __m128i is_even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
    // One unit in the last place towards the error's sign: away from zero if the signs are equal.
    const __m128i differs =
        _mm_xor_si128(_mm_srli_epi64(_mm_castpd_si128(error), 63), _mm_srli_epi64(bits, 63));
    const __m128i step = _mm_sub_epi64(one, _mm_add_epi64(differs, differs));
    return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(_mm_and_si128(is_inexact, is_even), step)));
  }
  static __m128 fma(__m128 a, __m128 b, __m128 c) {
    const auto high = [](__m128 x) { return _mm_cvtps_pd(_mm_movehl_ps(x, x)); };
    const __m128d first = rounded_to_odd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
    const __m128d second = rounded_to_odd(_mm_mul_pd(high(a), high(b)), high(c));
    return _mm_movelh_ps(_mm_cvtpd_ps(first), _mm_cvtpd_ps(second));
  }
};

PSIM_LANES(float, __m128, 4, 4, 1, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps, FourFloats::fma(a, b, c))
#endif

#if !defined(__AVX2__) && !defined(__ARM_NEON)
// One value at a time, with the C library's function, which is exact on every processor.
template <class Scalar>
struct One {
  static Scalar load(const Scalar* p) { return *p; }
  static void store(Scalar* p, Scalar x) { *p = x; }
  static Scalar broadcast(Scalar x) { return x; }
};
PSIM_LANES(double, double, 1, 4, 1, One<double>::load, One<double>::store, One<double>::broadcast,
           __builtin_fma(a, b, c))
#if !defined(__SSE2__)
PSIM_LANES(float, float, 1, 4, 1, One<float>::load, One<float>::store, One<float>::broadcast,
           __builtin_fmaf(a, b, c))
#endif
#endif

#undef PSIM_LANES

// A block of B for one tile stays in the first-level cache: this many steps of 256 bytes.
constexpr std::size_t steps_of_block = 128;

// The steps [begin, end) of a product. If `goes_on`, C holds the sums of the earlier steps.
template <class Scalar>
struct Part {
  const Product<Scalar>& product;
  std::size_t begin, end;
  bool goes_on;
};

// C[row .. row + Rows) x [lane .. lane + Vectors * width), in registers.
template <int Rows, int Vectors, class Scalar>
void tile(const Part<Scalar>& part, std::size_t row, std::size_t lane) {
  using L = Lanes<Scalar>;
  const Product<Scalar>& p = part.product;
  const Scalar* a[Rows];
  Scalar* c[Rows];
  typename L::Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    a[r] = p.a + static_cast<std::ptrdiff_t>(row + r) * p.a_row;
    c[r] = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      if (part.goes_on) sum[r][v] = L::load(c[r] + v * L::width);
      else sum[r][v] = L::broadcast(p.first != nullptr ? p.first[row + r] : Scalar(0));
    }
  }
  for (std::size_t k = part.begin; k < part.end; ++k) {
    const Scalar* b = p.b[k] + lane;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(k) * p.a_step;
    typename L::Vector values[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) values[v] = L::load(b + v * L::width);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const typename L::Vector factor = L::broadcast(a[r][at]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[r][v] = L::fma(factor, values[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) L::store(c[r] + v * L::width, sum[r][v]);
  }
}

template <int Rows, int Vectors, class Scalar>
void last_rows(const Part<Scalar>& part, std::size_t row, std::size_t lane) {
  if constexpr (Rows > 0) {
    if (part.product.rows - row == Rows) tile<Rows, Vectors>(part, row, lane);
    else last_rows<Rows - 1, Vectors>(part, row, lane);
  }
}

// Computes the lanes from `lane` that fill whole vectors. Returns the first lane after them.
template <int Vectors, class Scalar>
std::size_t columns(const Part<Scalar>& part, std::size_t lane) {
  constexpr int rows = Lanes<Scalar>::rows;
  constexpr std::size_t count = Vectors * Lanes<Scalar>::width;
  for (; lane + count <= part.product.lanes; lane += count) {
    std::size_t row = 0;
    for (; row + rows <= part.product.rows; row += rows) tile<rows, Vectors>(part, row, lane);
    last_rows<rows - 1, Vectors>(part, row, lane);
  }
  if constexpr (Vectors > 1) return columns<Vectors / 2>(part, lane);
  else return lane;
}

// The lanes that fill no vector: the same with copies of B and C that are padded to one vector.
template <class Scalar>
void last_lanes(const Part<Scalar>& part, std::size_t lane) {
  constexpr std::size_t width = Lanes<Scalar>::width, rows = Lanes<Scalar>::rows;
  const Product<Scalar>& p = part.product;
  const std::size_t used = p.lanes - lane, steps = part.end - part.begin;
  Scalar b[steps_of_block * width], c[rows * width];
  const Scalar* rows_of_b[steps_of_block];
  for (std::size_t k = 0; k < steps; ++k) {
    for (std::size_t i = 0; i < width; ++i)
      b[k * width + i] = i < used ? p.b[part.begin + k][lane + i] : Scalar(0);
    rows_of_b[k] = b + k * width;
  }
  for (std::size_t row = 0; row < p.rows; row += rows) {
    const std::size_t count = p.rows - row < rows ? p.rows - row : rows;
    for (std::size_t r = 0; r < count; ++r) {
      const Scalar* from = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
      const Scalar first = p.first != nullptr ? p.first[row + r] : Scalar(0);
      for (std::size_t i = 0; i < width; ++i) c[r * width + i] = i < used && part.goes_on ? from[i] : first;
    }
    const Product<Scalar> padded{.rows = count,
                                 .steps = steps,
                                 .lanes = width,
                                 .a = p.a + static_cast<std::ptrdiff_t>(row) * p.a_row +
                                      static_cast<std::ptrdiff_t>(part.begin) * p.a_step,
                                 .a_row = p.a_row,
                                 .a_step = p.a_step,
                                 .b = rows_of_b,
                                 .c = c,
                                 .c_row = static_cast<std::ptrdiff_t>(width)};
    columns<1>(Part<Scalar>{padded, 0, steps, true}, 0);
    for (std::size_t r = 0; r < count; ++r) {
      Scalar* to = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
      for (std::size_t i = 0; i < used; ++i) to[i] = c[r * width + i];
    }
  }
}

template <class Scalar>
void multiply_here(const Product<Scalar>& p) {
  std::size_t begin = 0;
  do {
    const std::size_t end = p.steps - begin < steps_of_block ? p.steps : begin + steps_of_block;
    const Part<Scalar> part{p, begin, end, begin > 0};
    const std::size_t lane = columns<Lanes<Scalar>::vectors>(part, 0);
    if (lane < p.lanes) last_lanes(part, lane);
    begin = end;
  } while (begin < p.steps);
}

}  // namespace

}  // namespace psim::numerics
