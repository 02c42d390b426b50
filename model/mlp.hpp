// A multi-layer perceptron: forward and backward, for a batch, in float or double.
// No time, no network, no state: weights in, loss and gradient out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/dataset.hpp"
#include "model/mlp_shape.hpp"
#include "model/numerics/batch_matrix.hpp"

namespace psim {

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
