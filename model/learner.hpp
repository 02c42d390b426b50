// A worker's computation on weights and a batch, for all models and precisions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/model_spec.hpp"
#include "model/values.hpp"

namespace psim {

struct Dataset;
struct DataSplit;

// Block coordinate descent: the weights that clock `clock` may change. The weights are cut into `blocks`
// blocks of consecutive weights that take turns.
KeyRange feature_block(std::int64_t parameters, std::int64_t blocks, std::int64_t clock);

// Gradients and evaluations of one model on one data set. Any thread may call any member, so the object does
// not change after construction.
class Learner {
 public:
  virtual ~Learner() = default;
  // The first weights of a run: initial_weights, rounded to the precision.
  Values first_weights(Precision precision, std::uint64_t seed) const;
  // Random draws depend on `seed` alone.
  virtual Values initial_weights(std::uint64_t seed) const = 0;
  // Mean gradient over `samples` of the training set.
  virtual Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const = 0;
  // The same gradient, to the last bit. It replaces the weights.
  virtual void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const = 0;
  virtual Evaluation evaluate(const Values& weights, const Dataset& set) const = 0;
  // The number of samples among `samples` of `set` that the model classifies correctly. A model without
  // classes has none.
  virtual std::int64_t hits(const Values& /*weights*/, const Dataset& /*set*/,
                            std::span<const std::uint32_t> /*samples*/) const {
    return 0;
  }

  // Whether a batch's gradient is zero except for few weights, so that the next two functions may be called.
  virtual bool sparse() const { return false; }
  // The weights within `range` on which the gradient over `samples` depends; the gradient is zero at all
  // others.
  virtual Keys keys(std::span<const std::uint32_t> samples, KeyRange range) const;
  Keys keys(std::span<const std::uint32_t> samples) const { return keys(samples, KeyRange{}); }
  // The gradient's values at `keys`, to the last bit; `weights` holds the weights at these keys only. The
  // keys must include all of keys(samples), because a margin needs every feature, even if only a block of the
  // weights changes. (A block's part of the result is consecutive.)
  virtual Values gradient_of(const Values& weights, const Keys& keys,
                             std::span<const std::uint32_t> samples) const;
};

// `data` must outlive the learner. Returns null for a phantom model.
std::unique_ptr<Learner> make_learner(const ModelSpec& spec, const DataSplit& data);

// Fills in the sizes that a model takes from its data.
void adapt_to(const Dataset& train, ModelSpec& spec);

}  // namespace psim
