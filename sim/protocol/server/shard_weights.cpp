#include "sim/protocol/server/shard_weights.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model/learner.hpp"
#include "model/parameters.hpp"

namespace psim {
namespace {

// The keys of all these pushes together, rising; null: all.
SharedKeys touched_keys(const std::vector<Push>& group) {
  if (std::ranges::any_of(group, [](const Push& push) { return !push.gradient.keys; })) return {};
  std::vector<std::uint32_t> keys;
  for (const Push& push : group)
    keys.insert(keys.end(), push.gradient.keys->begin(), push.gradient.keys->end());
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(keys));
}

}  // namespace

ShardWeights::ShardWeights(Options options, std::size_t workers, std::optional<Values> weights,
                           std::size_t count)
    : options_(std::move(options)),
      count_(count),
      compensation_(options_.compensation, workers, count,
                    weights ? std::optional(weights->precision()) : std::nullopt) {
  if (weights) parameters_ = Parameters(options_.optimizer, options_.storage, std::move(*weights));
}

ShardWeights ShardWeights::part(Options options, Range range) const {
  ShardWeights result = *this;
  result.options_ = std::move(options);
  result.count_ = range.count;
  if (parameters_) result.parameters_ = parameters_.part(range);
  if (sum_) result.sum_ = std::make_shared<Values>(Values::copy_of(*sum_, range.begin, range.count));
  result.compensation_ = compensation_.part(range);
  return result;
}

Slice ShardWeights::reply(const SharedKeys& keys, std::int64_t version) const {
  if (keys && parameters_)
    return {std::make_shared<Values>(gather(*parameters_.weights(), *keys)), 0, keys->size(), version};
  if (options_.sum_only && sum_) return {sum_, 0, count_, version};
  return snapshot(version);
}

// The part of the shard's values that clock `clock` changes.
std::vector<Range> ShardWeights::block_at(std::int64_t clock) const {
  const KeyRange block = feature_block(options_.parameters, options_.feature_blocks, clock);
  std::vector<Range> result;
  std::size_t offset = 0;
  for (const Range& range : options_.ranges) {
    const std::size_t end_of_range = range.begin + range.count;
    const std::size_t begin = std::clamp<std::size_t>(block.begin, range.begin, end_of_range);
    const std::size_t end = std::clamp<std::size_t>(block.end, begin, end_of_range);
    if (begin < end) result.push_back({begin - range.begin + offset, end - begin});
    offset += range.count;
  }
  return result;
}

// A block is one range of the key space, so its pieces in the shard are neighbours there.
Range ShardWeights::range_at(std::int64_t clock) const {
  if (options_.feature_blocks == 1) return {0, count_};
  const std::vector<Range> pieces = block_at(clock);
  if (pieces.empty()) return {0, 0};
  return {pieces.front().begin, pieces.back().begin + pieces.back().count - pieces.front().begin};
}

LogEntry::Shown ShardWeights::shown_to(NodeId worker, const Slice& weights) const {
  if (weights.values == parameters_.weights()) return {.worker = worker};
  const std::uint64_t bytes = weights.count * bytes_per_value(options_.storage.precision);
  return {.worker = worker, .filtered = {.values = weights, .bytes = bytes}};
}

Slice ShardWeights::gradient_of(const Push& push, std::size_t worker) {
  if (!compensation_.is_on() || !parameters_) return push.gradient.values;
  return compensation_.compensated(push, worker, *parameters_.weights());
}

void ShardWeights::apply(const std::vector<WeightedGradient>& gradients, double rate, std::int64_t clock) {
  has_sum_ = options_.sum_only;
  if (!parameters_) return;
  if (!options_.sum_only) return parameters_.update(gradients, rate, block_at(clock));
  sum_ = std::make_shared<Values>(weighted_sum(gradients, parameters_.weights()->precision(), count_));
  round_to(options_.storage.precision, *sum_, options_.loss_scale);
  parameters_.update(std::vector<WeightedGradient>{{{sum_, 0, count_}, 1.0}}, rate);
}

LogEntry::Sum ShardWeights::sum_of(const std::vector<Push>& group, std::vector<WeightedGradient>& gradients,
                                   bool is_whole) const {
  const SharedKeys keys = is_whole ? SharedKeys() : touched_keys(group);
  Slice sum{nullptr, 0, keys ? keys->size() : count_};
  if (parameters_) {
    Values whole = weighted_sum(gradients, parameters_.weights()->precision(), count_);
    sum.values = std::make_shared<Values>(keys ? gather(whole, *keys) : std::move(whole));
    gradients.assign(1, {sum, 1.0, keys.get()});
  }
  const std::size_t value = bytes_per_value(arithmetic_of(options_.storage.precision));
  const std::size_t width =
      value + (keys ? options_.bytes_per_key : 0) + (compensation_.adapts() ? value : 0);
  LogEntry::Sum result{.clock = group.front().clock,
                       .gradient = {.values = sum, .keys = keys, .bytes = sum.count * width}};
  // The squares of gradients cannot be computed from the sum of compensated gradients.
  if (compensation_.adapts() && parameters_)
    result.mean_square = std::make_shared<const Values>(compensation_.mean_square());
  return result;
}

void ShardWeights::apply(const LogEntry::Sum& sum, double rate) {
  if (sum.mean_square) compensation_.set_mean_square(Values(*sum.mean_square));
  apply({{sum.gradient.values, 1.0, sum.gradient.keys.get()}}, rate, sum.clock);
}

void ShardWeights::change(TaskKind function, double amount) {
  if (!parameters_) return;
  if (function == TaskKind::scale) parameters_.change_each([amount](double x) { return x * amount; });
  else parameters_.change_each([amount](double x) { return std::clamp(x, -amount, amount); });
}

double ShardWeights::sum_of_squares() const {
  if (!parameters_) return 0;
  double sum = 0;
  with_scalar(parameters_.weights()->precision(), [&](auto zero) {
    for (const auto x : parameters_.weights()->as<decltype(zero)>())
      sum += static_cast<double>(x) * static_cast<double>(x);
  });
  return sum;
}

std::uint64_t ShardWeights::hash(std::uint64_t hash_of_weights) const {
  if (!parameters_) return 0;
  std::uint64_t hash = hash_of_weights;
  const auto add = [&hash](const void* data, std::size_t bytes) {
    hash = XXH3_64bits_withSeed(data, bytes, hash);
  };
  parameters_.for_each_part_of_state(add);
  add(compensation_.mean_square().raw(), compensation_.mean_square().bytes());
  return hash;
}

std::uint64_t ShardWeights::bytes(std::int64_t version) const {
  const std::uint64_t weights = count_ * bytes_per_value(options_.storage.precision);
  if (options_.sum_only) return weights;
  const std::size_t versions = 1 + compensation_.versions_beside(snapshot(version));
  const std::size_t squares = compensation_.adapts() ? count_ : 0;
  return weights * versions + state_bytes(options_.optimizer, options_.storage, count_) +
         squares * bytes_per_value(arithmetic_of(options_.storage.precision));
}

DelayCompensation::DelayCompensation(Rule rule, std::size_t workers, std::size_t count,
                                     std::optional<Precision> precision)
    : rule_(rule), sent_(rule.strength > 0 ? workers : 0) {
  if (precision && adapts()) mean_square_ = Values::zeros(*precision, count);
}

DelayCompensation DelayCompensation::part(Range range) const {
  DelayCompensation result = *this;
  for (std::deque<Slice>& slices : result.sent_) {
    for (Slice& slice : slices) slice = part_of(slice, range);
  }
  if (mean_square_.size() > 0) result.mean_square_ = Values::copy_of(mean_square_, range.begin, range.count);
  return result;
}

// A repeated pull is answered twice, and its worker takes the first answer. So the weights of the last answer
// but one are kept, too.
void DelayCompensation::was_sent(std::size_t worker, const Slice& weights) {
  if (worker >= sent_.size()) return;  // the node only reads, or nothing is compensated
  std::deque<Slice>& sent = sent_[worker];
  if (!sent.empty() && sent.back().version == weights.version) sent.pop_back();
  sent.push_back(weights);
  constexpr std::size_t kept = 2;
  if (sent.size() > kept) sent.pop_front();
}

// The weights on which a push was computed; null if this server no longer has them.
const Slice* DelayCompensation::base_of(const Push& push, std::size_t worker) const {
  if (sent_.empty()) return nullptr;
  const std::deque<Slice>& sent = sent_[worker];
  const auto found = std::ranges::find(sent, push.version, &Slice::version);
  return found != sent.end() ? &*found : nullptr;
}

Slice DelayCompensation::compensated(const Push& push, std::size_t worker, const Values& weights) {
  const Slice* const sent = base_of(push, worker);
  if (sent == nullptr) return push.gradient.values;
  auto result = std::make_shared<Values>(weights.precision(), weights.size());
  with_scalar(weights.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    constexpr auto epsilon = Scalar(1e-7);
    const auto g = push.gradient.values.as<Scalar>();
    const auto then = sent->as<Scalar>();
    const auto now = weights.as<Scalar>();
    const auto square = mean_square_.as<Scalar>();
    const auto to = result->as<Scalar>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      auto lambda = static_cast<Scalar>(rule_.strength);
      if (adapts()) {
        square[i] =
            static_cast<Scalar>(rule_.decay) * square[i] + static_cast<Scalar>(1 - rule_.decay) * g[i] * g[i];
        lambda /= std::sqrt(square[i] + epsilon);
      }
      to[i] = g[i] + lambda * g[i] * g[i] * (now[i] - then[i]);
    }
  });
  return {std::move(result), 0, weights.size()};
}

std::size_t DelayCompensation::versions_beside(const Slice& current) const {
  std::set<std::pair<const Values*, std::int64_t>> versions;
  for (const std::deque<Slice>& of_worker : sent_) {
    for (const Slice& slice : of_worker) versions.emplace(slice.values.get(), slice.version);
  }
  versions.erase({current.values.get(), current.version});
  return versions.size();
}

}  // namespace psim
