#include "sim/roles/world.hpp"
#include "model/mutant.hpp"

#include <algorithm>

namespace psim {

ConsistencyRule rule_of(const Scenario& scenario) {
  ConsistencyRule rule = make_rule(scenario.consistency, scenario.cluster.workers);
  // Every spring moves the centre by its own pull.
  if (scenario.training.algorithm == Algorithm::elastic) rule.aggregation = Aggregation::sum;
  // What is lost of one shard is not lost of another.
  if (scenario.may_fail() && rule.fresh) rule.servers_apart = true;
  return rule;
}

KeySpace key_space_of(const Scenario& scenario) {
  return make_key_space(parameter_arrays(scenario.model),
                        {.placement = scenario.placement,
                         .unit = scenario.messages.unit,
                         .slice = scenario.messages.slice,
                         .servers = static_cast<std::uint32_t>(scenario.cluster.servers),
                         .seed = static_cast<std::uint64_t>(scenario.seed)});
}

RetrySpec World::retry() const {
  const RecoverySpec& recovery = scenario.recovery;
  return {.timeout = recovery.retry.value,
          .backoff = recovery.backoff,
          .longest = recovery.longest_retry.value,
          .limit = recovery.retry_limit};
}

DetectorSpec World::detector() const {
  const RecoverySpec& recovery = scenario.recovery;
  return {.kind = recovery.detector, .timeout = recovery.timeout.value, .threshold = recovery.threshold};
}

std::optional<Values> World::initial(std::uint32_t shard) const {
  if (learner == nullptr) return std::nullopt;
  const auto whole =
      std::make_shared<Values>(learner->initial_weights(static_cast<std::uint64_t>(scenario.seed)));
  const Slice part = part_of(shard, whole);
  return Values::copy_of(*part.values, part.begin, part.count);
}

bool World::awaits(NodeId worker) const {
  const std::size_t index = worker - first_worker();
  if (completed[index]) return false;
  const bool is_there = network.is_up(worker) && !left_early[index];
  if (!is_there && !watch->comes_back(worker)) return false;
  const bool is_removed = scenario.recovery.workers == LostWorkers::remove && (!is_there || taken_out[index]);
  const bool takes_no_part = left_early[index] || is_removed;
  return !some_completed() || !(rule.fresh || takes_no_part);
}

bool World::is_through() const {
  for (NodeId node = first_worker(); node < database(); ++node) {
    if (awaits(node)) return false;
  }
  return some_completed() || std::ranges::find(left_early, false) == left_early.end();
}

LearningRate World::learning_rate() const {
  const TrainingSpec& training = scenario.training;
  return {.base = training.learning_rate,
          .schedule = training.schedule,
          .step_every = training.schedule_every,
          .step_factor = training.schedule_factor,
          .total_epochs = epochs().after(static_cast<double>(steps))};
}

std::shared_ptr<Values> gathered(const Values& whole, const std::vector<Range>& ranges, std::size_t count) {
  auto result = std::make_shared<Values>(whole.precision(), count);
  std::size_t end = 0;
  for (const Range& range : ranges) {
    result->copy_from(whole, range.begin, range.count, end);
    end += range.count;
  }
  return result;
}

Slice World::part_of(std::uint32_t shard, const std::shared_ptr<Values>& whole) const {
  const Shard& part = keys.shards[shard];
  if (!whole) return {nullptr, 0, part.count};
  if (part.ranges.size() == 1) return {whole, part.ranges.front().begin, part.count};
  return {gathered(*whole, part.ranges, part.count), 0, part.count};
}

std::unique_ptr<FilterChain> World::make_chain(std::uint32_t shard, NodeId worker, bool push) const {
  std::vector<FilterSpec> filters = filters_on(scenario.filters, push);
  if (filters.empty()) return nullptr;
  const Shard& part = keys.shards[shard];
  const NodeId alone = worker - first_index;  // draws are those of a run of this namespace alone
  return std::make_unique<FilterChain>(FilterChain::Options{.filters = std::move(filters),
                                                            .precision = precision(),
                                                            .count = part.count,
                                                            .first_key = part.ranges.front().begin,
                                                            .key_bytes = scenario.messages.key_bytes(),
                                                            .seed = static_cast<std::uint64_t>(scenario.seed),
                                                            .sender = push ? alone : shard,
                                                            .receiver = push ? shard : alone,
                                                            .push = push,
                                                            .scale = push ? loss_scale() : 1,
                                                            .buffers = filter_buffers});
}

void record_wait(World& world, NodeId node, Awaited what, double since, std::optional<std::int64_t> clock,
                 const Heard& last) {
  if (!(Agenda::now() > since) || !last.sent) return;
  const std::uint64_t message = *last.sent + (mutant("waits-name-the-next-event") ? 1 : 0);
  world.record(node, Wait{what, since, clock, last.from, last.shard, message});
}

}  // namespace psim
