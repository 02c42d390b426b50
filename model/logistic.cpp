#include "model/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "model/numerics/functions.hpp"

namespace psim {
namespace {

// The places of a batch's nonzeros in an array of weights, sample after sample; each sample ends with its
// bias.
struct Batch {
  std::vector<std::uint32_t> position;
  std::vector<float> value;
  std::vector<std::size_t> end;  // of each sample
};

template <class Scalar>
Scalar margin(const Scalar* weights, const Batch& batch, std::size_t begin, std::size_t end) {
  Scalar sum = 0;
  for (std::size_t k = begin; k < end; ++k)
    sum += weights[batch.position[k]] * static_cast<Scalar>(batch.value[k]);
  return sum;
}

// d(mean loss)/d(margin) of every sample: -y / (1 + exp(y margin)), divided by the size of the batch.
template <class Scalar>
std::vector<Scalar> errors(const Scalar* weights, const Batch& batch, const std::vector<Scalar>& y) {
  std::vector<Scalar> result;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Scalar m = margin(weights, batch, begin, batch.end[i]);
    result.push_back(-y[i] / (Scalar(1) + numerics::exp(y[i] * m)) / static_cast<Scalar>(y.size()));
    begin = batch.end[i];
  }
  return result;
}

// Sums error * value in the order of the samples. Dense and sparse gradients use this function, so both have
// the same bits.
template <class Scalar>
void add_gradient(const Batch& batch, const std::vector<Scalar>& errors, Scalar* gradient) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < errors.size(); ++i)
    for (; k < batch.end[i]; ++k)
      gradient[batch.position[k]] += errors[i] * static_cast<Scalar>(batch.value[k]);
}

// log(1 + exp(-z)) without overflow.
double logistic_loss(double z) { return std::max(0.0, -z) + numerics::log1p(numerics::exp(-std::abs(z))); }

template <class Scalar>
class LogisticLearner final : public Learner {
 public:
  LogisticLearner(const ModelSpec& spec, const DataSplit& data)
      : bias_(spec.mlp.bias), features_(static_cast<std::uint32_t>(data.train.features())), data_(data) {
    if (!data.train.is_sparse() || data.train.classes != 2)
      throw std::logic_error("a logistic model needs sparse samples of two classes");
  }

  Values initial_weights(std::uint64_t) const override {
    return Values::zeros(precision, features_ + (bias_ ? 1 : 0));
  }

  Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const override {
    Values result = Values::zeros(precision, weights.size());
    const Batch batch = located(samples, [](std::uint32_t feature) { return feature; });
    add_gradient(batch, errors(weights.as<Scalar>().data(), batch, signs(samples)),
                 result.as<Scalar>().data());
    return result;
  }

  void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const override {
    const Batch batch = located(samples, [](std::uint32_t feature) { return feature; });
    const std::span<Scalar> w = weights.as<Scalar>();
    const std::vector<Scalar> e = errors(std::as_const(w).data(), batch, signs(samples));
    std::ranges::fill(w, Scalar(0));
    add_gradient(batch, e, w.data());
  }

  bool sparse() const override { return true; }

  using Learner::keys;
  Keys keys(std::span<const std::uint32_t> samples, KeyRange range) const override {
    Keys result;
    const auto add = [&](std::uint32_t feature) {
      if (feature >= range.begin && feature < range.end) result.push_back(feature);
    };
    for (const std::uint32_t sample : samples)
      for (const std::uint32_t feature : data_.train.sparse_inputs.row(sample).index) add(feature);
    if (bias_ && !samples.empty()) add(features_);
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  Values gradient_of(const Values& weights, const Keys& keys,
                     std::span<const std::uint32_t> samples) const override {
    if (weights.size() != keys.size()) throw std::logic_error("not one weight for each key");
    const Batch batch = located(samples, [&](std::uint32_t feature) {
      const auto at = std::lower_bound(keys.begin(), keys.end(), feature);
      if (at == keys.end() || *at != feature) throw std::logic_error("a feature without its key");
      return static_cast<std::uint32_t>(at - keys.begin());
    });
    Values result = Values::zeros(precision, keys.size());
    add_gradient(batch, errors(weights.as<Scalar>().data(), batch, signs(samples)),
                 result.as<Scalar>().data());
    return result;
  }

  Evaluation evaluate(const Values& weights, const Dataset& set) const override {
    const std::span<const Scalar> w = weights.as<Scalar>();
    std::vector<double> margins;
    double loss = 0;
    std::int64_t hits = 0;
    for (std::size_t i = 0; i < set.labels.size(); ++i) {
      const Scalar m = output(w, set.sparse_inputs.row(i));
      margins.push_back(static_cast<double>(m));
      const bool positive = set.labels[i] == 1;
      loss += logistic_loss(positive ? margins.back() : -margins.back());
      if ((m > Scalar(0)) == positive) ++hits;
    }
    const auto n = static_cast<double>(set.size());
    return {.loss = loss / n,
            .accuracy = static_cast<double>(hits) / n,
            .auc = area_under_roc(margins, set.labels),
            .nonzero_weights = std::ranges::count_if(w, [](Scalar x) { return x != Scalar(0); })};
  }

  std::int64_t hits(const Values& weights, const Dataset& set,
                    std::span<const std::uint32_t> samples) const override {
    return std::ranges::count_if(samples, [&](std::uint32_t sample) {
      const Scalar m = output(weights.as<Scalar>(), set.sparse_inputs.row(sample));
      return (m > Scalar(0)) == (set.labels[sample] == 1);
    });
  }

 private:
  Scalar output(std::span<const Scalar> w, const SparseMatrix::Row& row) const {
    Scalar m = bias_ ? w[features_] : Scalar(0);
    for (std::size_t k = 0; k < row.index.size(); ++k)
      m += w[row.index[k]] * static_cast<Scalar>(row.value[k]);
    return m;
  }

  static constexpr Precision precision = sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64;

  // The samples of the training set; the weight of feature j is at position of(j).
  template <class PositionOf>
  Batch located(std::span<const std::uint32_t> samples, const PositionOf& of) const {
    Batch batch;
    const std::uint32_t bias_position = bias_ ? of(features_) : 0;
    for (const std::uint32_t sample : samples) {
      const SparseMatrix::Row row = data_.train.sparse_inputs.row(sample);
      for (const std::uint32_t feature : row.index) batch.position.push_back(of(feature));
      batch.value.insert(batch.value.end(), row.value.begin(), row.value.end());
      if (bias_) {
        batch.position.push_back(bias_position);
        batch.value.push_back(1.0F);
      }
      batch.end.push_back(batch.position.size());
    }
    return batch;
  }

  std::vector<Scalar> signs(std::span<const std::uint32_t> samples) const {
    std::vector<Scalar> y;
    for (const std::uint32_t sample : samples) y.push_back(data_.train.labels[sample] == 1 ? 1 : -1);
    return y;
  }

  bool bias_;
  std::uint32_t features_;
  const DataSplit& data_;
};

}  // namespace

std::unique_ptr<Learner> make_logistic(const ModelSpec& spec, const DataSplit& data) {
  return with_scalar(spec.precision, [&](auto zero) -> std::unique_ptr<Learner> {
    return std::make_unique<LogisticLearner<decltype(zero)>>(spec, data);
  });
}

std::optional<double> area_under_roc(std::span<const double> scores, std::span<const std::int32_t> labels) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return scores[i]; });
  // Pairs (sample of class 1, sample of class 0) in the right order, ties as halves.
  double pairs = 0, positives = 0, negatives = 0;
  for (std::size_t i = 0; i < order.size();) {
    double tied_positives = 0, tied_negatives = 0;
    const double score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i)
      (labels[order[i]] == 1 ? tied_positives : tied_negatives) += 1;
    pairs += tied_positives * (negatives + tied_negatives / 2);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return pairs / (positives * negatives);
}

}  // namespace psim
