// A client (kv_client.hpp) that runs the optimizer itself, on the sums that servers send.
#include <array>
#include <memory>
#include <utility>

#include "model/parameters.hpp"
#include "sim/nodes/kv_client.hpp"

namespace psim {

// First weights, another worker's copy, the sum that makes the next version, or nothing where that is here.
void KvClient::take(std::uint32_t s, Answer&& answer) {
  Connection& shard = connections_[s];
  const Slice values = std::move(answer.weights.values);
  if (answer.is_copy) {
    shard.parameters = answer.copy ? std::make_shared<Parameters>(*answer.copy) : nullptr;
    const std::size_t count = key_space().shards[s].count;
    weights_[s] = {answer.copy ? shard.parameters->weights() : nullptr, 0, count, answer.version};
  } else if (values.count == 0) {
    return;
  } else if (answer.version > 0 && values.values) {
    update(s, values, answer.version);
  } else {
    if (answer.version == 0) shard.parameters.reset();
    weights_[s] = values;
  }
  shard.copy = answer.version;
  shard.copy_epoch = epoch_of(s);
}

// Servers only sum here, and under bsp a worker sees every sum: it runs the optimizer on its own copy.
void KvClient::update(std::uint32_t s, const Slice& sum, std::int64_t version) {
  Connection& shard = connections_[s];
  Slice& weights = weights_[s];
  if (!shard.parameters)
    shard.parameters =
        std::make_shared<Parameters>(job_.plan.scenario.training.optimizer, job_.plan.storage(),
                                     Values::copy_of(*weights.values, weights.begin, sum.count));
  weights.values.reset();  // or the update would have to copy
  const double epochs = job_.plan.epochs().after(static_cast<double>(version - 1));
  shard.parameters->update(std::array{WeightedGradient{sum, 1.0}}, job_.plan.learning_rate().at(epochs));
  weights = {shard.parameters->weights(), 0, sum.count, version};
}

// A server asks for this worker's copy: another worker needs it, or the server has lost the shard.
void KvClient::lend(const Message& message, const Restore& request) {
  const std::uint32_t s = index_of(message);
  const Connection& shard = connections_[s];
  State answer{.version = shard.copy, .log_epoch = shard.copy_epoch};
  if (shard.copy > request.entries) {
    answer.entries = shard.copy;
    answer.bytes = key_space().shards[s].count * bytes_per_value(job_.plan.precision());
    if (shard.parameters) {
      answer.replica = std::make_shared<const Parameters>(*shard.parameters);
      answer.bytes += shard.parameters->state_bytes();
    }
  }
  job_.network.send_once({.from = node_,
                          .to = message.from,
                          .shard = message.shard,
                          .epoch = message.epoch,
                          .body = std::move(answer)});
}

}  // namespace psim
