#include "sim/protocol/server/delay_compensation.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace psim {

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
