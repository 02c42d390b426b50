#include "sim/nodes/worker/local_work.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "model/learner.hpp"
#include "model/parameters.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {

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

namespace {

// `keys`: of the weights, for a sparse model.
Values gradient_of(const Learner& learner, const Values& weights, const Keys* keys,
                   std::span<const std::uint32_t> samples) {
  if (samples.empty()) return Values::zeros(weights.precision(), weights.size());
  return keys != nullptr ? learner.gradient_of(weights, *keys, samples) : learner.gradient(weights, samples);
}

// The mean of the devices' gradients, in device order, weighted by their parts of the batch.
Values batch_gradient(const Learner& learner, const Values& weights, const LocalWork& work, const Keys* keys,
                      const Batch& batch) {
  if (work.devices == 1) return gradient_of(learner, weights, keys, batch);
  Values mean = Values::zeros(weights.precision(), weights.size());
  const auto samples = static_cast<std::int64_t>(batch.size());
  std::span<const std::uint32_t> rest = batch;
  for (const std::int64_t part : device_parts(samples, work.devices)) {
    if (part == 0) continue;
    const auto own = rest.first(static_cast<std::size_t>(part));
    rest = rest.subspan(own.size());
    add(mean, static_cast<double>(part) / static_cast<double>(samples),
        gradient_of(learner, weights, keys, own));
  }
  return mean;
}

Values mean_gradient(const Learner& learner, const Values& weights, const LocalWork& work, const Keys* keys,
                     std::size_t step) {
  const std::vector<Batch>& batches = work.batches[step];
  Values mean = batch_gradient(learner, weights, work, keys, batches.front());
  if (batches.size() == 1) return mean;
  for (std::size_t i = 1; i < batches.size(); ++i)
    add(mean, 1, batch_gradient(learner, weights, work, keys, batches[i]));
  scale(mean, 1.0 / static_cast<double>(batches.size()));
  return mean;
}

// The moves of a sparse model: each own step changes the weights of its own batches only.
Values sparse_moves(const Learner& learner, const Values& before, const LocalWork& work, LocalCopy& local) {
  const Keys& all = work.keys->keys;
  Values model = Values::zeros(before.precision(), work.own->parameters);
  with_scalar(before.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    for (std::size_t i = 0; i < all.size(); ++i) model.as<Scalar>()[all[i]] = before.as<Scalar>()[i];
  });
  for (std::size_t h = 0; h < work.batches.size(); ++h) {
    Batch samples;
    for (const Batch& batch : work.batches[h]) samples.insert(samples.end(), batch.begin(), batch.end());
    const Keys keys = learner.keys(samples);
    const auto gradient =
        std::make_shared<Values>(mean_gradient(learner, gather(model, keys), work, &keys, h));
    step_alone(model, gradient, *work.own, h, local, &keys);
  }
  return move_between(before, gather(model, all));
}

}  // namespace

void step_alone(Values& weights, const std::shared_ptr<Values>& gradient, const OwnSteps& own,
                std::size_t step, LocalCopy& local, const Keys* keys) {
  if (round_to(own.storage.precision, *gradient, own.loss_scale)) local.overflows = true;
  if (!local.optimizer) local.optimizer.emplace(own.optimizer, weights.precision(), own.parameters);
  const Slice slice{gradient, 0, keys != nullptr ? keys->size() : weights.size()};
  local.optimizer->apply(weights, std::array{WeightedGradient{slice, 1.0, keys}}, own.rates[step]);
  if (!own.storage.master_copy) round_to(own.storage.precision, weights);
}

Values move_between(const Values& before, const Values& after) {
  Values move(before);
  add(move, -1, after);
  return move;
}

Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local) {
  const Keys* keys = work.keys ? &work.keys->keys : nullptr;
  if (!work.own) {
    const bool is_plain = work.batches.front().size() == 1 && !work.keys && work.devices == 1 &&
                          !work.batches.front().front().empty();
    if (!is_plain) return mean_gradient(learner, weights->get(), work, keys, 0);
    std::optional<Values> own = weights->take();
    if (!own) return learner.gradient(weights->get(), work.batches.front().front());
    learner.to_gradient(*own, work.batches.front().front());
    return std::move(*own);
  }
  if (work.own->fresh) local.optimizer.reset();
  if (keys != nullptr) return sparse_moves(learner, weights->get(), work, local);
  Values current = local.weights ? std::move(*local.weights) : Values(weights->get());
  const Values before = work.moves ? Values(current) : Values();
  std::shared_ptr<Values> gradient;
  for (std::size_t h = 0; h < work.batches.size(); ++h) {
    gradient = std::make_shared<Values>(mean_gradient(learner, current, work, keys, h));
    if (const auto spring = std::exchange(local.spring, nullptr); spring) add(current, 1, *spring);
    step_alone(current, gradient, *work.own, h, local);
  }
  Values result = work.moves ? move_between(before, current) : std::move(*gradient);
  if (work.keep) local.weights = std::make_shared<Values>(std::move(current));
  return result;
}

std::shared_ptr<Values> elastic_step(const Values& centre, double alpha, LocalCopy& local) {
  if (!local.weights) local.weights = std::make_shared<Values>(centre);
  auto move = std::make_shared<Values>(move_between(centre, *local.weights));
  scale(*move, alpha);
  local.spring = move;
  return move;
}

}  // namespace psim
