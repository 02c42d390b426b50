#include "model/mlp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "model/dataset.hpp"

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

template <class Matrix>
void activate(Activation kind, Matrix& h) {
  using Scalar = typename Matrix::Scalar;
  switch (kind) {
    case Activation::identity: break;
    case Activation::relu: h = h.cwiseMax(Scalar(0)); break;
    case Activation::tanh: h = h.array().tanh(); break;
    case Activation::sigmoid: h = (Scalar(1) + (-h.array()).exp()).inverse(); break;
  }
}

// delta *= activation'(z), expressed by the activation's value h.
template <class Matrix>
void times_slope(Activation kind, const Matrix& h, Matrix& delta) {
  using Scalar = typename Matrix::Scalar;
  switch (kind) {
    case Activation::identity: break;
    case Activation::relu: delta = (h.array() > Scalar(0)).select(delta, Scalar(0)); break;
    case Activation::tanh: delta.array() *= Scalar(1) - h.array().square(); break;
    case Activation::sigmoid: delta.array() *= h.array() * (Scalar(1) - h.array()); break;
  }
}

}  // namespace

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
    const Eigen::Map<const RowMatrix> W(weights.data() + a.begin, a.rows, a.cols);
    // Eigen packs all rows of the left side at once, which would copy a large part of the model. The height
    // of every kernel divides 480.
    constexpr Eigen::Index block = 240;
    h[l].resize(W.rows(), h[l - 1].cols());
    for (Eigen::Index row = 0; row < W.rows(); row += block) {
      const Eigen::Index rows = std::min(block, W.rows() - row);
      h[l].middleRows(row, rows).noalias() = W.middleRows(row, rows) * h[l - 1];
    }
    if (shape_.bias) {
      const Eigen::Map<const Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> b(weights.data() + a.begin + a.size(),
                                                                         a.rows);
      h[l].colwise() += b;
    }
    if (l < depth) activate(shape_.activation, h[l]);
  }
}

template <class Scalar>
template <class SampleAt>
LossAndHits Mlp<Scalar>::output_error(Matrix& y, const Dataset& data, const SampleAt& sample_at) const {
  LossAndHits result;
  for (Eigen::Index j = 0; j < y.cols(); ++j) {
    const Eigen::Index sample = sample_at(j);
    const Eigen::Index label = data.labels.empty() ? -1 : data.labels[static_cast<std::size_t>(sample)];
    if (label >= 0) {
      Eigen::Index best = 0;
      y.col(j).maxCoeff(&best);
      if (best == label) ++result.hits;
    }
    if (shape_.loss == Loss::cross_entropy) {
      // Softmax and its cross-entropy with the label: loss = log(sum(exp(y))) - y[label], error = p -
      // e_label.
      const Scalar top = y.col(j).maxCoeff();
      const Scalar of_label = y(label, j) - top;
      y.col(j) = (y.col(j).array() - top).exp();
      const Scalar sum = y.col(j).sum();
      result.loss += static_cast<double>(std::log(sum) - of_label);
      y.col(j) /= sum;
      y(label, j) -= Scalar(1);
    } else {
      if (label >= 0) {
        y(label, j) -= Scalar(1);  // one-hot target
      } else {
        y.col(j) -= data.targets.row(sample).transpose().template cast<Scalar>();
      }
      result.loss += 0.5 * static_cast<double>(y.col(j).squaredNorm());
    }
  }
  return result;
}

template <class Scalar>
Scalar Mlp<Scalar>::gradient(std::span<const Scalar> weights, const Dataset& data,
                             std::span<const std::uint32_t> samples, std::span<Scalar> gradient) const {
  const auto batch = static_cast<Eigen::Index>(samples.size());
  const std::size_t depth = shape_.layers.size() - 1;
  const std::size_t stride = shape_.bias ? 2 : 1;
  std::vector<Matrix> h(depth + 1);
  h[0].resize(data.features(), batch);
  for (Eigen::Index j = 0; j < batch; ++j) {
    // The samples lie anywhere in the data: the next samples are fetched while this sample is copied.
    const float* ahead =
        data.inputs.row(samples[static_cast<std::size_t>(std::min(j + 2, batch - 1))]).data();
    for (Eigen::Index k = 0; k < data.features(); k += 16) __builtin_prefetch(ahead + k);
    h[0].col(j) = data.inputs.row(samples[static_cast<std::size_t>(j)]).transpose().template cast<Scalar>();
  }
  forward(weights, h);

  Matrix delta = std::move(h[depth]);
  const auto sample_at = [&](Eigen::Index j) -> Eigen::Index { return samples[static_cast<std::size_t>(j)]; };
  const double loss = output_error(delta, data, sample_at).loss;
  delta /= static_cast<Scalar>(batch);

  Matrix below;
  for (std::size_t l = depth; l >= 1; --l) {
    const MlpShape::Array& a = arrays_[(l - 1) * stride];
    if (l > 1) {  // before the gradient, which may overwrite the weights
      const Eigen::Map<const RowMatrix> W(weights.data() + a.begin, a.rows, a.cols);
      below.noalias() = W.transpose() * delta;  // in x batch
      times_slope(shape_.activation, h[l - 1], below);
    }
    Eigen::Map<RowMatrix> grad_W(gradient.data() + a.begin, a.rows, a.cols);
    grad_W.noalias() = delta * h[l - 1].transpose();  // out x in
    if (shape_.bias) {
      Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> grad_b(gradient.data() + a.begin + a.size(),
                                                                  a.rows);
      grad_b = delta.rowwise().sum();
    }
    delta.swap(below);
  }
  return static_cast<Scalar>(loss / static_cast<double>(batch));
}

template <class Scalar>
LossAndHits Mlp<Scalar>::evaluate(std::span<const Scalar> weights, const Dataset& data, std::int64_t begin,
                                  std::int64_t end) const {
  LossAndHits total;
  constexpr std::int64_t chunk = 32;  // samples; few, because the outputs of every layer are kept for them
  std::vector<Matrix> h;
  for (std::int64_t first = begin; first < end; first += chunk) {
    const std::int64_t count = std::min(chunk, end - first);
    h.resize(1);
    h[0] = data.inputs.middleRows(first, count).transpose().template cast<Scalar>();
    forward(weights, h);
    const LossAndHits part = output_error(h.back(), data, [&](Eigen::Index j) { return first + j; });
    total.loss += part.loss;
    total.hits += part.hits;
  }
  return total;
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace psim
