#include "model/rounding.hpp"

#include <Eigen/Core>
#include <cmath>

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
bool round_to(Precision precision, std::span<Scalar> values, double scale) {
  if (!is_half(precision)) return false;
  const auto factor = static_cast<float>(scale);
  bool overflows = false;
  for (Scalar& x : values) {
    const auto plain = static_cast<float>(x);
    const float rounded = from_half_bits(precision, half_bits(precision, plain * factor));
    if (!std::isfinite(rounded))
      overflows = overflows || std::isfinite(from_half_bits(precision, half_bits(precision, plain)));
    x = static_cast<Scalar>(rounded / factor);
  }
  return overflows;
}

template bool round_to(Precision, std::span<float>, double);
template bool round_to(Precision, std::span<double>, double);

bool round_to(Precision precision, Values& values, double scale) {
  return with_scalar(values.precision(),
                     [&](auto zero) { return round_to(precision, values.as<decltype(zero)>(), scale); });
}

}  // namespace psim
