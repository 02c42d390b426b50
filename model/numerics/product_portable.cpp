// The products for any processor: SSE2 on x86-64, NEON on aarch64.
#include "model/numerics/multiply.hpp"
#include "model/numerics/product.hpp"

namespace psim::numerics {

const Kernels portable_kernels{multiply_here<float>, multiply_here<double>};

}  // namespace psim::numerics
