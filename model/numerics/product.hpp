// Products of matrices whose bits do not depend on the machine.
//
// Every element is one chain of fused multiply-adds in the order of the steps: c = fma(a[row][k], b[k][lane],
// c). The lanes of a vector unit lie along a row of C. So the width of the vectors, the blocks, the compiler
// and the processor change nothing. A processor without a fused multiply-add computes the same number in
// several operations (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, IEEE Transactions on
// Computers 57(4), 2008).
#pragma once

#include <cstddef>
#include <string_view>

namespace psim::numerics {

// C = first + A B. A is rows x steps, B is steps x lanes, C is rows x lanes. C overlaps neither A nor B.
template <class Scalar>
struct Product {
  std::size_t rows, steps, lanes;
  const Scalar* a;  // A(row, step) is a[row * a_row + step * a_step]
  std::ptrdiff_t a_row, a_step;
  const Scalar* const* b;  // `steps` pointers: the rows of B, each of `lanes` values
  Scalar* c;               // C(row, lane) is c[row * c_row + lane]
  std::ptrdiff_t c_row;
  const Scalar* first = nullptr;  // what each row's chains begin with: `rows` values, or none for 0
};

void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

// Which kernels `multiply` uses: the best of "v2", "v3" and "v4" (levels of x86-64) that this processor has,
// or "portable" on other processors. For tests, the environment variable PSIM_LEVEL can name a lower one.
// Throws UserError if it names none.
std::string_view level();

// The kernels of `multiply`, one set for each level of a processor.
struct Kernels {
  void (*multiply_floats)(const Product<float>&);
  void (*multiply_doubles)(const Product<double>&);
};

extern const Kernels portable_kernels;
#if defined(__x86_64__)
extern const Kernels v3_kernels, v4_kernels;
#endif

}  // namespace psim::numerics
