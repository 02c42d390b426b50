// Delay compensation (DC-ASGD): what workers compute on, and what a late gradient is made into.
#include <algorithm>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {

// A pull that comes twice is answered twice, and its worker takes the first answer. So the one before the
// last is kept as well.
void Server::was_sent(NodeId worker, const Slice& values) {
  if (index_of(worker) >= sent_.size()) return;  // only reads, or nobody asks
  std::deque<Slice>& sent = sent_[index_of(worker)];
  if (!sent.empty() && sent.back().version == values.version) sent.pop_back();
  sent.push_back(values);
  constexpr std::size_t kept = 2;
  if (sent.size() > kept) sent.pop_front();
}

void Server::was_sent_filtered(NodeId worker, const Slice& values) {
  was_sent(worker, values);
  std::vector<LogEntry::Shown>& shown = next_entry_.shown;
  const bool is_last = !shown.empty() && shown.back().worker == worker;
  if (!is_last || values.values == parameters_.weights()) return;
  const std::uint64_t bytes = values.count * bytes_per_value(options_.storage.precision);
  shown.back().filtered = {.values = values, .bytes = bytes};
}

// The weights that a push was computed on; null where nobody here has them, as after a crash that undid
// that version. An answer after the last entry of a log showed what that entry made, and the next owner
// begins with just that: so it may have been sent to every worker.
const Slice* Server::base_of(const Push& push) const {
  if (sent_.empty() || !parameters_) return nullptr;
  const std::deque<Slice>& sent = sent_[index_of(push.worker)];
  const auto found = std::ranges::find(sent, push.version, &Slice::version);
  if (mutant("compensated-from-older-weights") && !sent.empty()) return &sent.front();
  return found != sent.end() ? &*found : nullptr;
}

// Zheng et al., ICML 2017, equations 10 and 14: a first-order step from where the gradient was computed to
// where the weights are now, with g * g for the diagonal of the Hessian.
Slice Server::compensated(const Push& push) {
  const Slice* const sent = base_of(push);
  if (sent == nullptr) return push.gradient.values;
  const double decay = options_.delay_compensation_decay;
  const Values& weights = *parameters_.weights();
  auto result = std::make_shared<Values>(weights.precision(), count_);
  with_scalar(weights.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    constexpr auto epsilon = Scalar(1e-7);
    const auto g = push.gradient.values.as<Scalar>();
    const auto then = sent->as<Scalar>();
    const auto now = weights.as<Scalar>();
    const auto square = mean_square_.as<Scalar>();
    const auto to = result->as<Scalar>();
    for (std::size_t i = 0; i < count_; ++i) {
      auto lambda = static_cast<Scalar>(options_.delay_compensation);
      if (decay > 0) {
        square[i] = static_cast<Scalar>(decay) * square[i] + static_cast<Scalar>(1 - decay) * g[i] * g[i];
        lambda /= std::sqrt(square[i] + epsilon);
      }
      to[i] = g[i] + lambda * g[i] * g[i] * (now[i] - then[i]);
    }
  });
  return {std::move(result), 0, count_};
}

}  // namespace psim
