#include "sim/protocol/client/optimizer_copies.hpp"

#include <array>
#include <utility>

namespace psim {

void OptimizerCopies::take(std::uint32_t shard, Answer&& answer, std::uint32_t epoch, std::size_t count,
                           Slice& weights) {
  WorkerCopy& copy = copies_[shard];
  const Slice values = std::move(answer.weights.values);
  if (answer.is_copy) {
    copy.parameters = answer.copy ? std::make_shared<Parameters>(*answer.copy) : nullptr;
    weights = {answer.copy ? copy.parameters->weights() : nullptr, 0, count, answer.version};
  } else if (values.count == 0) {
    return;
  } else if (answer.version > 0 && values.values) {
    update(copy, values, answer.version, weights);
  } else {
    if (answer.version == 0) copy.parameters.reset();
    weights = values;
  }
  copy.version = answer.version;
  copy.epoch = epoch;
}

// Servers only sum, and under bsp a worker sees every sum.
void OptimizerCopies::update(WorkerCopy& copy, const Slice& sum, std::int64_t version, Slice& weights) {
  if (!copy.parameters)
    copy.parameters = std::make_shared<Parameters>(
        options_.optimizer, options_.storage, Values::copy_of(*weights.values, weights.begin, sum.count));
  weights.values.reset();  // otherwise the update would have to copy
  const double epochs = options_.epochs.after(static_cast<double>(version - 1));
  copy.parameters->update(std::array{WeightedGradient{sum, 1.0}}, options_.learning_rate.at(epochs));
  weights = {copy.parameters->weights(), 0, sum.count, version};
}

State OptimizerCopies::lend(std::uint32_t shard, const Restore& request, std::size_t count) const {
  const WorkerCopy& copy = copies_[shard];
  State answer{.version = copy.version, .log_epoch = copy.epoch};
  if (copy.version <= request.entries) return answer;
  answer.entries = copy.version;
  answer.bytes = count * bytes_per_value(options_.storage.precision);
  if (copy.version > 0) answer.bytes += state_bytes(options_.optimizer, options_.storage, count);
  if (copy.parameters) answer.replica = std::make_shared<const Parameters>(*copy.parameters);
  return answer;
}

}  // namespace psim
