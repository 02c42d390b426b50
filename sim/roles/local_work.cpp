#include "sim/roles/local_work.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "sim/scenario/devices.hpp"

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

Values copy_of(const Values& values) {
  Values copy(values.precision(), values.size());
  copy.copy_from(values, 0, values.size(), 0);
  return copy;
}

// The mean of the devices' gradients, weighted by their parts of the batch, in device order.
Values batch_gradient(const Learner& learner, const Values& weights, const Batch& batch,
                      std::int64_t devices) {
  if (devices == 1) return learner.gradient(weights, batch);
  Values mean(weights.precision(), weights.size());
  with_scalar(mean.precision(), [&](auto zero) { std::ranges::fill(mean.as<decltype(zero)>(), zero); });
  const auto samples = static_cast<std::int64_t>(batch.size());
  std::span<const std::uint32_t> rest = batch;
  for (const std::int64_t part : device_parts(samples, devices)) {
    if (part == 0) continue;
    const auto own = rest.first(static_cast<std::size_t>(part));
    rest = rest.subspan(own.size());
    add(mean, static_cast<double>(part) / static_cast<double>(samples), learner.gradient(weights, own));
  }
  return mean;
}

Values mean_gradient(const Learner& learner, const Values& weights, const std::vector<Batch>& batches,
                     std::int64_t devices) {
  Values mean = batch_gradient(learner, weights, batches.front(), devices);
  if (batches.size() == 1) return mean;
  for (std::size_t i = 1; i < batches.size(); ++i)
    add(mean, 1, batch_gradient(learner, weights, batches[i], devices));
  scale(mean, 1.0 / static_cast<double>(batches.size()));
  return mean;
}

}  // namespace

Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local) {
  if (work.batches.size() == 1 && !work.keep) {
    if (work.batches.front().size() > 1 || work.devices > 1)
      return mean_gradient(learner, weights->get(), work.batches.front(), work.devices);
    std::optional<Values> own = weights->take();
    if (!own) return learner.gradient(weights->get(), work.batches.front().front());
    learner.to_gradient(*own, work.batches.front().front());
    return std::move(*own);
  }
  Values current = local.weights ? std::move(*local.weights) : copy_of(weights->get());
  Values sum;
  for (std::size_t h = 0; h < work.batches.size(); ++h) {
    Values gradient = mean_gradient(learner, current, work.batches[h], work.devices);
    if (h + 1 < work.batches.size() || work.keep) add(current, -work.rate, gradient);
    if (h == 0) sum = std::move(gradient);
    else add(sum, 1, gradient);
  }
  if (work.keep) local.weights = std::make_shared<Values>(std::move(current));
  return sum;
}

Values elastic_step(const Values& centre, double alpha, LocalCopy& local) {
  if (!local.weights) local.weights = std::make_shared<Values>(copy_of(centre));
  Values push(centre.precision(), centre.size());
  with_scalar(centre.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto x = local.weights->as<Scalar>();
    const auto c = centre.as<Scalar>();
    const auto out = push.as<Scalar>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Scalar pull = static_cast<Scalar>(alpha) * (x[i] - c[i]);
      x[i] -= pull;
      out[i] = -pull;
    }
  });
  return push;
}

}  // namespace psim
