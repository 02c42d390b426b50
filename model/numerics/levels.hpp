// The kernels of `multiply`, one set for each level of a processor.
#pragma once

#include "model/numerics/product.hpp"

namespace psim::numerics {

struct Kernels {
  void (*multiply_floats)(const Product<float>&);
  void (*multiply_doubles)(const Product<double>&);
};

extern const Kernels portable_kernels;
#if defined(__x86_64__)
extern const Kernels v3_kernels, v4_kernels;
#endif

}  // namespace psim::numerics
