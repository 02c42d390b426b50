// The products for x86-64-v3: AVX2 and fused multiply-adds.
#include "model/numerics/multiply.hpp"
#include "model/numerics/product.hpp"

namespace psim::numerics {

const Kernels v3_kernels{multiply_here<float>, multiply_here<double>};

}  // namespace psim::numerics
