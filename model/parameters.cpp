#include "model/parameters.hpp"

#include <utility>

namespace psim {

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
