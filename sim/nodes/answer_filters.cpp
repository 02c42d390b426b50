#include "sim/nodes/answer_filters.hpp"

#include <utility>

namespace psim {

double AnswerFilters::encode(std::uint32_t shard, const Shard& place, NodeId to, Answer& answer) {
  Encoded encoded;
  Payload& weights = answer.weights;
  const std::int64_t version = weights.values.version;
  if (are_on_) {
    const auto [it, is_new] = chains_.try_emplace({shard, to});
    if (is_new) it->second = job_.make_chain(shard, place, to, false);
    it->second->answer_to(answer.number, answer.answered);
    encoded = it->second->encode(weights.values, weights.keys);
  } else {
    encoded = FilterChain::plain(weights.values, weights.keys, job_.plan.precision(),
                                 job_.plan.scenario.messages.key_bytes());
  }
  const double flops = encoded.flops;
  encoded.values.version = version;
  weights = payload_of(std::move(encoded));
  return flops;
}

void AnswerFilters::forget_keys(std::uint32_t shard) {
  for (auto& [ends, chain] : chains_) {
    if (ends.first == shard) chain->forget_keys();
  }
}

void AnswerFilters::erase(std::uint32_t shard) {
  std::erase_if(chains_, [shard](const auto& entry) { return entry.first.first == shard; });
}

}  // namespace psim
