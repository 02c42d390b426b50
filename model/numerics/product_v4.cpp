// The products for x86-64-v4: AVX-512.
#include "model/numerics/multiply.hpp"
#include "model/numerics/product.hpp"

namespace psim::numerics {

const Kernels v4_kernels{multiply_here<float>, multiply_here<double>};

}  // namespace psim::numerics
