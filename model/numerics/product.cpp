#include "model/numerics/product.hpp"

#include <cstdlib>
#include <string>

#include "model/base/user_error.hpp"

namespace psim::numerics {
namespace {

struct Level {
  std::string_view name;
  const Kernels* kernels;
};

#if defined(__x86_64__)
Level best_level() {
  const char* limit = std::getenv("PSIM_LEVEL");
  const std::string_view most = limit != nullptr ? limit : "v4";
  if (most != "v2" && most != "v3" && most != "v4")
    throw UserError("PSIM_LEVEL is `" + std::string(most) + "`", "it must be v2, v3 or v4, or not be set");
  __builtin_cpu_init();
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_v4 && most == "v4") return {"v4", &v4_kernels};
  if (has_v3 && most != "v2") return {"v3", &v3_kernels};
  return {"v2", &portable_kernels};
}
#else
Level best_level() { return {"portable", &portable_kernels}; }
#endif

const Level& chosen() {
  static const Level best = best_level();
  return best;
}

}  // namespace

void multiply(const Product<float>& product) { chosen().kernels->multiply_floats(product); }
void multiply(const Product<double>& product) { chosen().kernels->multiply_doubles(product); }

std::string_view level() { return chosen().name; }

}  // namespace psim::numerics
