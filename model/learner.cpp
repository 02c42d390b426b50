#include "model/learner.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "model/data_shape.hpp"
#include "model/dataset.hpp"
#include "model/logistic.hpp"
#include "model/mlp.hpp"
#include "model/random.hpp"
#include "model/rounding.hpp"

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

}  // namespace psim
