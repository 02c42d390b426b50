#include "sim/nodes/local_work.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "model/learner.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {
namespace {

// y += a * x
void add(Values& y, double a, const Values& x) {
  with_scalar(y.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto to = y.as<Scalar>();
    const auto from = x.as<Scalar>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += static_cast<Scalar>(a) * from[i];
  });
}

void scale(Values& y, double a) {
  with_scalar(y.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    for (Scalar& value : y.as<Scalar>()) value *= static_cast<Scalar>(a);
  });
}

Values gradient_of(const Learner& learner, const Values& weights, const LocalWork& work,
                   std::span<const std::uint32_t> samples) {
  if (samples.empty())
    return Values::zeros(weights.precision(), work.keys ? work.keys->keys.size() : weights.size());
  return work.keys ? learner.gradient_of(weights, work.keys->keys, samples)
                   : learner.gradient(weights, samples);
}

// The mean of the devices' gradients, in device order, weighted by their parts of the batch.
Values batch_gradient(const Learner& learner, const Values& weights, const LocalWork& work,
                      const Batch& batch) {
  if (work.devices == 1) return gradient_of(learner, weights, work, batch);
  Values mean = Values::zeros(weights.precision(), weights.size());
  const auto samples = static_cast<std::int64_t>(batch.size());
  std::span<const std::uint32_t> rest = batch;
  for (const std::int64_t part : device_parts(samples, work.devices)) {
    if (part == 0) continue;
    const auto own = rest.first(static_cast<std::size_t>(part));
    rest = rest.subspan(own.size());
    add(mean, static_cast<double>(part) / static_cast<double>(samples),
        gradient_of(learner, weights, work, own));
  }
  return mean;
}

Values mean_gradient(const Learner& learner, const Values& weights, const LocalWork& work, std::size_t step) {
  const std::vector<Batch>& batches = work.batches[step];
  Values mean = batch_gradient(learner, weights, work, batches.front());
  if (batches.size() == 1) return mean;
  for (std::size_t i = 1; i < batches.size(); ++i)
    add(mean, 1, batch_gradient(learner, weights, work, batches[i]));
  scale(mean, 1.0 / static_cast<double>(batches.size()));
  return mean;
}

}  // namespace

Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local) {
  if (work.batches.size() == 1 && !work.keep) {
    const bool is_plain = work.batches.front().size() == 1 && !work.keys && work.devices == 1 &&
                          !work.batches.front().front().empty();
    if (!is_plain) return mean_gradient(learner, weights->get(), work, 0);
    std::optional<Values> own = weights->take();
    if (!own) return learner.gradient(weights->get(), work.batches.front().front());
    learner.to_gradient(*own, work.batches.front().front());
    return std::move(*own);
  }
  Values current = local.weights ? std::move(*local.weights) : Values(weights->get());
  Values sum;
  for (std::size_t h = 0; h < work.batches.size(); ++h) {
    Values gradient = mean_gradient(learner, current, work, h);
    if (const auto spring = std::exchange(local.spring, nullptr); spring) add(current, 1, *spring);
    if (h + 1 < work.batches.size() || work.keep) add(current, -work.rate, gradient);
    if (h == 0) sum = std::move(gradient);
    else add(sum, 1, gradient);
  }
  if (work.keep) local.weights = std::make_shared<Values>(std::move(current));
  return sum;
}

std::shared_ptr<Values> elastic_step(const Values& centre, double alpha, LocalCopy& local) {
  if (!local.weights) local.weights = std::make_shared<Values>(centre);
  auto move = std::make_shared<Values>(centre.precision(), centre.size());
  with_scalar(centre.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto x = std::as_const(*local.weights).as<Scalar>();
    const auto c = centre.as<Scalar>();
    const auto out = move->as<Scalar>();
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = -static_cast<Scalar>(alpha) * (x[i] - c[i]);
  });
  local.spring = move;
  return move;
}

}  // namespace psim
