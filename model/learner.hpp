// A worker's computation on weights and a batch, for all models and precisions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/dataset.hpp"
#include "model/model_spec.hpp"
#include "model/numerics/matrices.hpp"
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

// Binary logistic regression on sparse samples, the model of click prediction: P(1) = 1 / (1 + exp(-w.x)),
// mean loss log(1 + exp(-y w.x)) with y = +1 or -1, all weights 0 at the start. A bias is one more feature
// that every sample has with value 1. It is the last weight, and optimizers treat it like the others.
//
// A batch touches few weights. Learner::keys names them, Learner::gradient_of computes the gradient from
// these weights alone, and the optimizer updates only the weights that the keys of a group name. All three do
// the arithmetic of their dense counterparts in the same order, so dense and sparse runs of plain SGD have
// the same bits. Optimizer state, weight decay and the proximal operator wait until a weight is touched
// (MXNet's lazy_update); there dense and sparse differ, as they do in practice. The data source clicks gives
// every sample one feature of each of its categorical fields, Zipf-distributed within the field. So the
// number of nonzeros is exact, and frequent features are spread over the weights: no single server or block
// of features gets all of them.

// `data` must be sparse, have two classes, and outlive the learner.
std::unique_ptr<Learner> make_logistic(const ModelSpec& spec, const DataSplit& data);

// Area under the ROC curve of `scores`; equal scores count half (Mann, Whitney 1947). None if a class of
// `labels` (0 or 1) is missing.
std::optional<double> area_under_roc(std::span<const double> scores, std::span<const std::int32_t> labels);

// A multi-layer perceptron: forward and backward, for a batch, in float or double.
// No time, no network, no state: weights in, loss and gradient out.
struct LossAndHits {
  double loss = 0;        // summed over the samples
  std::int64_t hits = 0;  // samples whose largest output is their class (classification only)
};

template <class Scalar>
class Mlp {
 public:
  explicit Mlp(MlpShape shape);

  // Mean loss over `samples` of `data`, and its gradient with respect to every weight. weights, gradient:
  // parameters() values; the same array, or arrays that do not overlap.
  Scalar gradient(std::span<const Scalar> weights, const Dataset& data,
                  std::span<const std::uint32_t> samples, std::span<Scalar> gradient) const;

  // Sum of losses, and hits, over samples [begin, end).
  LossAndHits evaluate(std::span<const Scalar> weights, const Dataset& data, std::int64_t begin,
                       std::int64_t end) const;

  const MlpShape& shape() const { return shape_; }

 private:
  using Matrix = numerics::BatchMatrix<Scalar>;
  struct Scratch;

  template <class SampleAt>
  void gather(const Dataset& data, std::size_t batch, const SampleAt& sample_at,
              std::vector<Matrix>& h) const;
  void forward(std::span<const Scalar> weights, std::vector<Matrix>& h) const;
  // Turns outputs into d(sum of losses)/d(outputs) in place; returns the sum of losses.
  template <class SampleAt>
  LossAndHits output_error(Matrix& y, const Dataset& data, const SampleAt& sample_at) const;
  void weight_gradient(const MlpShape::Array& array, const Matrix& delta,
                       const std::vector<const Scalar*>& inputs, std::span<Scalar> gradient) const;

  MlpShape shape_;
  std::vector<MlpShape::Array> arrays_;
};

extern template class Mlp<float>;
extern template class Mlp<double>;

}  // namespace psim
