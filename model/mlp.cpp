#include "model/mlp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "model/dataset.hpp"
#include "model/numerics/arrays.hpp"
#include "model/numerics/functions.hpp"
#include "model/numerics/product.hpp"
#include "model/numerics/transpose.hpp"

namespace psim {

std::vector<MlpShape::Array> MlpShape::arrays() const {
  std::vector<Array> result;
  std::int64_t begin = 0;
  for (std::size_t l = 1; l < layers.size(); ++l) {
    result.push_back({fmt::format("W{}", l), layers[l], layers[l - 1], begin});
    begin += result.back().size();
    if (!bias) continue;
    result.push_back({fmt::format("b{}", l), layers[l], 1, begin});
    begin += result.back().size();
  }
  return result;
}

std::int64_t MlpShape::parameters() const {
  std::int64_t total = 0;
  for (const Array& array : arrays()) total += array.size();
  return total;
}

double MlpShape::flops_per_sample() const {
  double total = 0;
  for (std::size_t l = 1; l < layers.size(); ++l) {
    const double weights = static_cast<double>(layers[l]) * static_cast<double>(layers[l - 1]);
    total += (l == 1 ? 4.0 : 6.0) * weights;
  }
  return total;
}

namespace {

using numerics::BatchMatrix;
using numerics::Product;

template <class Scalar>
void activate(Activation kind, BatchMatrix<Scalar>& h) {
  const std::span<Scalar> values(h.data(), h.size());
  switch (kind) {
    case Activation::identity: break;
    case Activation::relu:
      for (Scalar& x : values) x = x > Scalar(0) ? x : Scalar(0);
      break;
    case Activation::tanh: numerics::tanh_of_each(values); break;
    case Activation::sigmoid: numerics::sigmoid_of_each(values); break;
  }
}

// delta *= activation'(z), expressed by the activation's value h.
template <class Scalar>
void times_slope(Activation kind, const BatchMatrix<Scalar>& h, BatchMatrix<Scalar>& delta) {
  const Scalar* value = h.data();
  Scalar* d = delta.data();
  const std::size_t n = delta.size();
  switch (kind) {
    case Activation::identity: break;
    case Activation::relu:
      for (std::size_t i = 0; i < n; ++i) d[i] = value[i] > Scalar(0) ? d[i] : Scalar(0);
      break;
    case Activation::tanh:
      for (std::size_t i = 0; i < n; ++i) d[i] *= Scalar(1) - value[i] * value[i];
      break;
    case Activation::sigmoid:
      for (std::size_t i = 0; i < n; ++i) d[i] *= value[i] * (Scalar(1) - value[i]);
      break;
  }
}

// True if `row` is the first of the largest outputs of sample j.
template <class Scalar>
bool is_first(const BatchMatrix<Scalar>& y, std::size_t j, std::int32_t row, Scalar largest) {
  for (std::int32_t i = 0; i < row; ++i)
    if (y.row(static_cast<std::size_t>(i))[j] == largest) return false;
  return y.row(static_cast<std::size_t>(row))[j] == largest;
}

// The columns of h as rows, which are written to `columns`.
template <class Scalar>
std::vector<const Scalar*> transposed(const BatchMatrix<Scalar>& h, BatchMatrix<Scalar>& columns) {
  columns.resize(h.samples(), h.rows());
  const std::vector<const Scalar*> rows = h.row_pointers();
  numerics::transpose(rows.data(), rows.size(), h.samples(), columns.data(), columns.stride());
  return columns.row_pointers();
}

// The rows of the samples: the data's own rows, or copies in double precision.
template <class Scalar>
std::vector<const Scalar*> input_rows(const Dataset& data, std::span<const std::uint32_t> samples,
                                      const BatchMatrix<Scalar>& inputs, BatchMatrix<Scalar>& columns) {
  if constexpr (std::is_same_v<Scalar, float>) {
    std::vector<const float*> rows;
    for (const std::uint32_t sample : samples) rows.push_back(data.inputs.row(sample).data());
    return rows;
  } else {
    return transposed(inputs, columns);
  }
}

}  // namespace

// Each thread keeps these arrays between two gradients. So it need not ask for memory each time.
template <class Scalar>
struct Mlp<Scalar>::Scratch {
  std::vector<Matrix> h;  // of each layer: its outputs; first the inputs
  Matrix delta, below;    // d(loss)/d(outputs) of a layer, and of the layer below
  Matrix columns;         // a layer's outputs, one row for each sample
};

template <class Scalar>
Mlp<Scalar>::Mlp(MlpShape shape) : shape_(std::move(shape)), arrays_(shape_.arrays()) {}

// h[0] is the input (features x batch); fills h[1..L]. h[L] is the linear output.
template <class Scalar>
void Mlp<Scalar>::forward(std::span<const Scalar> weights, std::vector<Matrix>& h) const {
  const std::size_t depth = shape_.layers.size() - 1;
  const std::size_t stride = shape_.bias ? 2 : 1;
  h.resize(depth + 1);
  for (std::size_t l = 1; l <= depth; ++l) {
    const MlpShape::Array& a = arrays_[(l - 1) * stride];
    const std::vector<const Scalar*> below = h[l - 1].row_pointers();
    h[l].resize(static_cast<std::size_t>(a.rows), h[0].samples());
    multiply(Product<Scalar>{.rows = h[l].rows(),
                             .steps = below.size(),
                             .lanes = h[l].stride(),
                             .a = weights.data() + a.begin,
                             .a_row = a.cols,
                             .a_step = 1,
                             .b = below.data(),
                             .c = h[l].data(),
                             .c_row = static_cast<std::ptrdiff_t>(h[l].stride()),
                             .first = shape_.bias ? weights.data() + a.begin + a.size() : nullptr});
    if (l < depth) activate(shape_.activation, h[l]);
  }
}

template <class Scalar>
template <class SampleAt>
LossAndHits Mlp<Scalar>::output_error(Matrix& y, const Dataset& data, const SampleAt& sample_at) const {
  LossAndHits result;
  const std::size_t outputs = y.rows(), batch = y.samples();
  std::vector<Scalar> top(batch), sum(batch);
  std::vector<std::int32_t> label(batch, -1);
  for (std::size_t j = 0; j < batch && !data.labels.empty(); ++j)
    label[j] = data.labels[static_cast<std::size_t>(sample_at(j))];
  const auto of_label = [&](std::size_t j) -> Scalar& {
    return y.row(static_cast<std::size_t>(label[j]))[j];
  };

  if (!data.labels.empty()) {
    std::copy_n(y.row(0), batch, top.begin());
    for (std::size_t i = 1; i < outputs; ++i)
      for (std::size_t j = 0; j < batch; ++j) top[j] = y.row(i)[j] > top[j] ? y.row(i)[j] : top[j];
    for (std::size_t j = 0; j < batch; ++j) result.hits += is_first(y, j, label[j], top[j]) ? 1 : 0;
  }
  if (shape_.loss == Loss::cross_entropy) {
    // Softmax and its cross-entropy with the label: loss = log(sum(exp(y))) - y[label], error = p - e_label.
    for (std::size_t j = 0; j < batch; ++j) result.loss -= static_cast<double>(of_label(j) - top[j]);
    for (std::size_t i = 0; i < outputs; ++i) {
      Scalar* row = y.row(i);
      for (std::size_t j = 0; j < batch; ++j) row[j] -= top[j];
      numerics::exp_of_each(std::span(row, batch));
      for (std::size_t j = 0; j < batch; ++j) sum[j] += row[j];
    }
    for (std::size_t j = 0; j < batch; ++j) result.loss += numerics::log(static_cast<double>(sum[j]));
    for (std::size_t i = 0; i < outputs; ++i)
      for (std::size_t j = 0; j < batch; ++j) y.row(i)[j] /= sum[j];
    for (std::size_t j = 0; j < batch; ++j) of_label(j) -= Scalar(1);
    return result;
  }
  for (std::size_t j = 0; j < batch; ++j) {
    if (label[j] >= 0) {
      of_label(j) -= Scalar(1);  // one-hot target
    } else {
      const auto target = data.targets.row(sample_at(j));
      for (std::size_t i = 0; i < outputs; ++i)
        y.row(i)[j] -= static_cast<Scalar>(target(static_cast<Eigen::Index>(i)));
    }
    for (std::size_t i = 0; i < outputs; ++i) sum[j] += y.row(i)[j] * y.row(i)[j];
    result.loss += 0.5 * static_cast<double>(sum[j]);
  }
  return result;
}

// The samples of `data` as columns of h[0].
template <class Scalar>
template <class SampleAt>
void Mlp<Scalar>::gather(const Dataset& data, std::size_t batch, const SampleAt& sample_at,
                         std::vector<Matrix>& h) const {
  std::vector<const float*> rows(batch);
  for (std::size_t j = 0; j < batch; ++j) rows[j] = data.inputs.row(sample_at(j)).data();
  h.resize(shape_.layers.size());
  h[0].resize(static_cast<std::size_t>(data.features()), batch);
  numerics::transpose(rows.data(), batch, h[0].rows(), h[0].data(), h[0].stride());
}

// Fills the gradient of a layer's weights and bias. inputs: the layer's inputs, one row for each sample.
template <class Scalar>
void Mlp<Scalar>::weight_gradient(const MlpShape::Array& a, const Matrix& delta,
                                  const std::vector<const Scalar*>& inputs,
                                  std::span<Scalar> gradient) const {
  multiply(Product<Scalar>{.rows = delta.rows(),
                           .steps = inputs.size(),
                           .lanes = static_cast<std::size_t>(a.cols),
                           .a = delta.data(),
                           .a_row = static_cast<std::ptrdiff_t>(delta.stride()),
                           .a_step = 1,
                           .b = inputs.data(),
                           .c = gradient.data() + a.begin,
                           .c_row = a.cols});
  if (!shape_.bias) return;
  for (std::size_t i = 0; i < delta.rows(); ++i)
    gradient[static_cast<std::size_t>(a.begin + a.size()) + i] =
        numerics::sum(std::span(delta.row(i), delta.samples()));
}

template <class Scalar>
Scalar Mlp<Scalar>::gradient(std::span<const Scalar> weights, const Dataset& data,
                             std::span<const std::uint32_t> samples, std::span<Scalar> gradient) const {
  const std::size_t batch = samples.size(), depth = shape_.layers.size() - 1;
  thread_local Scratch scratch;
  auto& [h, delta, below, columns] = scratch;
  const auto sample_at = [&](std::size_t j) -> Eigen::Index { return samples[j]; };
  gather(data, batch, sample_at, h);
  forward(weights, h);
  std::swap(delta, h[depth]);
  const double loss = output_error(delta, data, sample_at).loss;
  for (Scalar& d : std::span(delta.data(), delta.size())) d /= static_cast<Scalar>(batch);

  for (std::size_t l = depth; l >= 1; --l) {
    const MlpShape::Array& a = arrays_[(l - 1) * (shape_.bias ? 2 : 1)];
    if (l > 1) {  // before the gradient, which may overwrite the weights
      const std::vector<const Scalar*> above = delta.row_pointers();
      below.resize(h[l - 1].rows(), batch);
      multiply(Product<Scalar>{.rows = below.rows(),
                               .steps = above.size(),
                               .lanes = below.stride(),
                               .a = weights.data() + a.begin,
                               .a_row = 1,
                               .a_step = a.cols,
                               .b = above.data(),
                               .c = below.data(),
                               .c_row = static_cast<std::ptrdiff_t>(below.stride())});
      times_slope(shape_.activation, h[l - 1], below);
    }
    const std::vector<const Scalar*> inputs =
        l == 1 ? input_rows(data, samples, h[0], columns) : transposed(h[l - 1], columns);
    weight_gradient(a, delta, inputs, gradient);
    std::swap(delta, below);
  }
  return static_cast<Scalar>(loss / static_cast<double>(batch));
}

template <class Scalar>
LossAndHits Mlp<Scalar>::evaluate(std::span<const Scalar> weights, const Dataset& data, std::int64_t begin,
                                  std::int64_t end) const {
  LossAndHits total;
  constexpr std::int64_t chunk = 64;  // samples; few, because the outputs of every layer are kept for them
  std::vector<Matrix> h;
  for (std::int64_t first = begin; first < end; first += chunk) {
    const auto sample_at = [first](std::size_t j) { return first + static_cast<std::int64_t>(j); };
    gather(data, static_cast<std::size_t>(std::min(chunk, end - first)), sample_at, h);
    forward(weights, h);
    const LossAndHits part = output_error(h.back(), data, sample_at);
    total.loss += part.loss;
    total.hits += part.hits;
  }
  return total;
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace psim
