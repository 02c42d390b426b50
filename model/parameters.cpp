#include "model/parameters.hpp"

#include <Eigen/Core>

#include <cmath>
#include <utility>

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

std::uint64_t state_bytes(const OptimizerSpec& optimizer, const Storage& storage, std::size_t count) {
  const std::size_t master = storage.master_copy && is_half(storage.precision) ? 1 : 0;
  return (optimizer.kind->state_arrays + master) * count * bytes_per_value(arithmetic_of(storage.precision));
}

Parameters::Parameters(const OptimizerSpec& optimizer, const Storage& storage, Values weights)
    : storage_(storage),
      optimizer_(optimizer, weights.precision(), weights.size()),
      weights_(std::make_shared<Values>(std::move(weights))) {
  storage_.master_copy = storage.master_copy && is_half(storage.precision);
  if (storage_.master_copy) master_ = Values::copy_of(*weights_, 0, weights_->size());
}

Parameters Parameters::part(Range range) const {
  Parameters result;
  result.storage_ = storage_;
  result.optimizer_ = optimizer_.part(range);
  result.weights_ = std::make_shared<Values>(Values::copy_of(*weights_, range.begin, range.count));
  if (storage_.master_copy) result.master_ = Values::copy_of(master_, range.begin, range.count);
  return result;
}

void Parameters::update(std::span<const WeightedGradient> group, double rate, std::span<const Range> rest) {
  if (storage_.master_copy) {
    optimizer_.apply(master_, group, rate, rest);
    weights_ = std::make_shared<Values>(Values::copy_of(master_, 0, master_.size()));
  } else {
    make_own(weights_);
    optimizer_.apply(*weights_, group, rate, rest);
  }
  round_to(storage_.precision, *weights_);
}

}  // namespace psim
