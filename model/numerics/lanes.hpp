// One vector register of float or double, for the level that this file is compiled for. Only multiply.hpp
// includes this file. Everything is in an unnamed namespace: files for several levels are linked into one
// program.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace psim::numerics {
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

}  // namespace
}  // namespace psim::numerics
