#include "model/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "model/base/random.hpp"
#include "model/data_spec.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"
#include "model/numerics/matrices.hpp"
#include "model/numerics/product.hpp"
#include "model/parameters.hpp"

namespace psim {
namespace {

// Glorot, Bengio 2010 (uniform, fan in + fan out) and He et al. 2015 (uniform, fan in).
double init_limit(Init init, const MlpShape::Array& array) {
  const auto in = static_cast<double>(array.cols), out = static_cast<double>(array.rows);
  switch (init) {
    case Init::glorot: return std::sqrt(6.0 / (in + out));
    case Init::he: return std::sqrt(6.0 / in);
    case Init::zeros: return 0.0;
  }
  return 0.0;
}

template <class Scalar>
class MlpLearner final : public Learner {
 public:
  MlpLearner(const ModelSpec& spec, const DataSplit& data) : spec_(spec), data_(data), mlp_(spec.mlp) {}

  Values initial_weights(std::uint64_t seed) const override {
    Values values = Values::zeros(spec_.precision, static_cast<std::size_t>(spec_.mlp.parameters()));
    Scalar* w = values.as<Scalar>().data();
    std::size_t matrices = 0;
    for (const MlpShape::Array& array : spec_.mlp.arrays()) {
      const bool is_bias = array.name.front() == 'b';
      const std::size_t layer = is_bias ? matrices - 1 : matrices++;
      for (std::int64_t i = 0; i < array.size(); ++i) {
        w[array.begin + i] =
            static_cast<Scalar>(is_bias ? given_bias(layer, i) : weight(array, layer, i, seed));
      }
    }
    return values;
  }

  Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const override {
    Values result(spec_.precision, weights.size());
    mlp_.gradient(weights.as<Scalar>(), data_.train, samples, result.as<Scalar>());
    return result;
  }

  void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const override {
    mlp_.gradient(std::as_const(weights).as<Scalar>(), data_.train, samples, weights.as<Scalar>());
  }

  Evaluation evaluate(const Values& weights, const Dataset& set) const override {
    const LossAndHits sum = mlp_.evaluate(weights.as<Scalar>(), set, 0, set.size());
    const auto n = static_cast<double>(set.size());
    Evaluation result{.loss = sum.loss / n, .accuracy = {}};
    if (set.classes > 0) result.accuracy = static_cast<double>(sum.hits) / n;
    return result;
  }

  std::int64_t hits(const Values& weights, const Dataset& set,
                    std::span<const std::uint32_t> samples) const override {
    std::int64_t result = 0;
    for (const std::uint32_t sample : samples)
      result += mlp_.evaluate(weights.as<Scalar>(), set, sample, sample + 1).hits;
    return result;
  }

 private:
  double weight(const MlpShape::Array& array, std::size_t layer, std::int64_t i, std::uint64_t seed) const {
    if (!spec_.weights.empty()) {
      return spec_
          .weights[layer][static_cast<std::size_t>(i / array.cols)][static_cast<std::size_t>(i % array.cols)];
    }
    const double limit = init_limit(spec_.init, array);
    return Stream(seed, "model.init", layer, static_cast<std::uint64_t>(i)).uniform(-limit, limit);
  }

  double given_bias(std::size_t layer, std::int64_t i) const {
    return spec_.biases.empty() ? 0.0 : spec_.biases[layer][static_cast<std::size_t>(i)];
  }

  ModelSpec spec_;
  const DataSplit& data_;
  Mlp<Scalar> mlp_;
};

void add_array(std::vector<ParameterArray>& arrays, std::string name, std::int64_t size,
               std::uint32_t layer) {
  const std::size_t begin = arrays.empty() ? 0 : arrays.back().range.begin + arrays.back().range.count;
  arrays.push_back({std::move(name), {begin, static_cast<std::size_t>(size)}, layer});
}

}  // namespace

KeyRange feature_block(std::int64_t parameters, std::int64_t blocks, std::int64_t clock) {
  const std::int64_t block = clock % blocks;
  return {static_cast<std::uint32_t>(parameters * block / blocks),
          static_cast<std::uint32_t>(parameters * (block + 1) / blocks)};
}

Keys Learner::keys(std::span<const std::uint32_t>, KeyRange) const {
  throw std::logic_error("a dense model has no keys");
}

Values Learner::gradient_of(const Values&, const Keys&, std::span<const std::uint32_t>) const {
  throw std::logic_error("a dense model has no keys");
}

namespace {

std::int64_t bias_of(const ModelSpec& spec) { return spec.mlp.bias ? 1 : 0; }

std::vector<ParameterArray> mlp_arrays(const ModelSpec& spec) {
  std::vector<ParameterArray> arrays;
  const std::uint32_t per_layer = spec.mlp.bias ? 2 : 1;
  for (const MlpShape::Array& array : spec.mlp.arrays()) {
    add_array(arrays, array.name, array.size(), static_cast<std::uint32_t>(arrays.size()) / per_layer);
    if (array.name.front() == 'W')
      arrays.back().shape = {static_cast<std::size_t>(array.rows), static_cast<std::size_t>(array.cols)};
  }
  return arrays;
}

std::vector<double> mlp_products(const ModelSpec& spec) {
  std::vector<double> products;
  for (std::size_t l = 1; l < spec.mlp.layers.size(); ++l)
    products.push_back(static_cast<double>(spec.mlp.layers[l]) * static_cast<double>(spec.mlp.layers[l - 1]));
  return products;
}

std::vector<ParameterArray> phantom_arrays(const ModelSpec& spec) {
  std::vector<ParameterArray> arrays;
  if (spec.phantom_arrays.empty()) add_array(arrays, "w", spec.parameters, 0);
  for (const std::int64_t size : spec.phantom_arrays) {
    const auto layer = static_cast<std::uint32_t>(arrays.size());
    add_array(arrays, fmt::format("w{}", layer + 1), size, layer);
  }
  return arrays;
}

std::int64_t phantom_parameters(const ModelSpec& spec) {
  if (spec.phantom_arrays.empty()) return spec.parameters;
  return std::accumulate(spec.phantom_arrays.begin(), spec.phantom_arrays.end(), std::int64_t{0});
}

// The parts of a step's work. A layer's product is computed two or three times in a step.
std::vector<double> phantom_products(const ModelSpec& spec) {
  std::vector<double> products;
  for (std::size_t l = 0; l < spec.phantom_work.size(); ++l)
    products.push_back(spec.phantom_work[l] / (l == 0 ? 2 : 3));
  return products;
}

}  // namespace

template <>
std::deque<ModelRow> built_in_rows() {
  return {
      {.name = "mlp",
       .doc = "a multi-layer perceptron with real gradients",
       .has_layers = true,
       .fields = "layers bias activation loss init weights biases",
       .size_field = "model.layers",
       .arrays = mlp_arrays,
       .products = mlp_products,
       .parameters = [](const ModelSpec& spec) { return spec.mlp.parameters(); },
       .flops_per_sample = [](const ModelSpec& spec) { return spec.mlp.flops_per_sample(); },
       .learner =
           [](const ModelSpec& spec, const DataSplit& data) {
             return with_scalar(spec.precision, [&](auto zero) -> std::unique_ptr<Learner> {
               return std::make_unique<MlpLearner<decltype(zero)>>(spec, data);
             });
           }},
      {.name = "logistic",
       .doc = "binary logistic regression on sparse data (libsvm, clicks): log(1 + exp(-y w.x)), from w = 0",
       .is_sparse = true,
       .learns = Learns::two_classes,
       .fields = "bias",
       .size_field = "data.features",
       .parameters = [](const ModelSpec& spec) { return spec.features + bias_of(spec); },
       .flops_per_sample =
           [](const ModelSpec& spec) { return 4.0 * (spec.nonzeros + static_cast<double>(bias_of(spec))); },
       .learner = make_logistic},
      {.name = "phantom",
       .doc = "messages of the right sizes without numbers, for timing and large runs",
       .has_numbers = false,
       .fields = "parameters arrays work flops_per_sample activations activations_per_sample",
       .size_field = "model.parameters",
       .arrays = phantom_arrays,
       .products = phantom_products,
       .parameters = phantom_parameters,
       .flops_per_sample = [](const ModelSpec& spec) { return spec.flops_per_sample; }}};
}

Values Learner::first_weights(Precision precision, std::uint64_t seed) const {
  Values weights = initial_weights(seed);
  round_to(precision, weights);
  return weights;
}

std::unique_ptr<Learner> make_learner(const ModelSpec& spec, const DataSplit& data) {
  return spec.kind->learner != nullptr ? spec.kind->learner(spec, data) : nullptr;
}

std::vector<ParameterArray> parameter_arrays(const ModelSpec& spec) {
  if (spec.kind->arrays != nullptr) return spec.kind->arrays(spec);
  std::vector<ParameterArray> one;
  add_array(one, "w", parameter_count(spec), 0);
  return one;
}

std::optional<std::vector<ArrayShape>> arrays_in(const ModelSpec& spec, std::span<const Range> ranges) {
  const std::vector<ParameterArray> all = parameter_arrays(spec);
  std::vector<ArrayShape> shapes;
  std::size_t before = 0;
  for (const Range& range : ranges) {
    const std::size_t end = range.begin + range.count;
    std::size_t next = range.begin;
    for (const ParameterArray& array : all) {
      if (array.range.begin != next || array.range.begin + array.range.count > end) continue;
      const bool is_matrix = array.shape.size() == 2;
      shapes.push_back({.begin = before + next - range.begin,
                        .rows = is_matrix ? array.shape[0] : array.range.count,
                        .columns = is_matrix ? array.shape[1] : 1});
      next += array.range.count;
    }
    if (next != end) return std::nullopt;
    before += range.count;
  }
  return shapes;
}

// A product with a weight matrix costs the same forward, for the weights' gradient, and for passing the error
// on; the first layer need not pass it on. Phantom layers cost in proportion to their size, unless the
// scenario gives their shares of the computing.
std::vector<LayerWork> layer_work(const ModelSpec& spec) {
  std::vector<double> products;
  if (spec.kind->products != nullptr) products = spec.kind->products(spec);
  if (products.empty()) {
    for (const ParameterArray& array : parameter_arrays(spec))
      products.push_back(static_cast<double>(array.range.count));
  }
  double total = 0;
  for (std::size_t l = 0; l < products.size(); ++l) total += (l == 0 ? 2 : 3) * products[l];
  std::vector<LayerWork> work;
  for (std::size_t l = 0; l < products.size(); ++l)
    work.push_back({products[l] / total, (l == 0 ? 1 : 2) * products[l] / total});
  return work;
}

void adapt_to(const Dataset& train, ModelSpec& spec) { adapt_to(shape_of(train), spec); }

void adapt_to(const DataShape& train, ModelSpec& spec) {
  spec.features = train.features;
  spec.outputs = train.outputs;
  spec.nonzeros = train.nonzeros;
}

std::int64_t parameter_count(const ModelSpec& spec) { return spec.kind->parameters(spec); }

double flops_per_sample(const ModelSpec& spec) { return spec.kind->flops_per_sample(spec); }

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
