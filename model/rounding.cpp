#include "model/rounding.hpp"

#include <Eigen/Core>

#include "model/mutant.hpp"

namespace psim {

std::uint16_t half_bits(Precision precision, float x) {
  if (precision == Precision::bfloat16) return Eigen::bfloat16(x).value;
  return Eigen::half(x).x;
}

float from_half_bits(Precision precision, std::uint16_t bits) {
  if (precision == Precision::bfloat16)
    return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
  return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
}

template <class Scalar>
void round_to(Precision precision, std::span<Scalar> values, double scale) {
  if (!is_half(precision)) return;
  const auto factor = static_cast<float>(scale);
  for (Scalar& x : values) {
    const float scaled = static_cast<float>(x) * factor;
    x = static_cast<Scalar>(from_half_bits(precision, half_bits(precision, scaled)) /
                            (mutant("loss-scale-stays") ? 1 : factor));
  }
}

template void round_to(Precision, std::span<float>, double);
template void round_to(Precision, std::span<double>, double);

void round_to(Precision precision, Values& values, double scale) {
  with_scalar(values.precision(),
              [&](auto zero) { round_to(precision, values.as<decltype(zero)>(), scale); });
}

}  // namespace psim
