// Goal: gradients that are derivatives. Method: central differences in double precision, for every
// combination of activation, loss and bias; single precision against double; batches against single samples.
#include "model/dataset.hpp"
#include "model/learner.hpp"

#include <cmath>
#include <numeric>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

enum class Kind { classes, targets };

Dataset some_data(std::int64_t samples, std::int64_t features, std::int64_t outputs, Kind kind) {
  Stream stream(11, "mlp_test.data");
  Dataset data;
  data.inputs.resize(samples, features);
  for (float& x : data.inputs.reshaped()) x = static_cast<float>(stream.normal());
  if (kind == Kind::classes) {
    data.classes = static_cast<int>(outputs);
    for (std::int64_t i = 0; i < samples; ++i)
      data.labels.push_back(static_cast<std::int32_t>(stream.below(outputs)));
  } else {
    data.targets.resize(samples, outputs);
    for (float& y : data.targets.reshaped()) y = static_cast<float>(stream.normal());
  }
  return data;
}

template <class Scalar>
std::vector<Scalar> some_weights(const MlpShape& shape) {
  Stream stream(12, "mlp_test.weights");
  std::vector<Scalar> weights(static_cast<std::size_t>(shape.parameters()));
  for (Scalar& w : weights) w = static_cast<Scalar>(stream.uniform(-0.8, 0.8));
  return weights;
}

std::vector<std::uint32_t> samples_of(const Dataset& data) {
  std::vector<std::uint32_t> all(static_cast<std::size_t>(data.size()));
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

double norm(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

// Compares each array's gradient (W1, b1, ...) with central differences of the mean loss.
void check_gradient(const MlpShape& shape, const Dataset& data) {
  const Mlp<double> mlp(shape);
  std::vector<double> weights = some_weights<double>(shape);
  const auto samples = samples_of(data);
  std::vector<double> gradient(weights.size(), NAN), unused(weights.size()), numeric(weights.size());
  const double loss = mlp.gradient(weights, data, samples, gradient);
  CHECK(loss == Approx(mlp.evaluate(weights, data, 0, data.size()).loss / static_cast<double>(data.size()))
                    .epsilon(1e-13));
  constexpr double h = 6e-6;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double w = weights[i];
    weights[i] = w + h;
    const double above = mlp.gradient(weights, data, samples, unused);
    weights[i] = w - h;
    const double below = mlp.gradient(weights, data, samples, unused);
    weights[i] = w;
    numeric[i] = (above - below) / (2 * h);
  }
  for (const MlpShape::Array& array : shape.arrays()) {
    const auto begin = static_cast<std::size_t>(array.begin), size = static_cast<std::size_t>(array.size());
    std::vector<double> difference(size);
    for (std::size_t i = 0; i < size; ++i) difference[i] = gradient[begin + i] - numeric[begin + i];
    const double magnitude = norm(std::span(numeric).subspan(begin, size));
    CAPTURE(array.name, magnitude);
    CHECK(magnitude > 1e-3);
    CHECK(norm(difference) <= 1e-7 * magnitude);
  }
}

}  // namespace

TEST_CASE("gradients are derivatives: every activation, loss and bias, one to four layers", "[mlp]") {
  const auto activation =
      GENERATE(Activation::identity, Activation::relu, Activation::tanh, Activation::sigmoid);
  const auto depth = GENERATE(1U, 2U, 3U, 4U);
  const bool bias = GENERATE(false, true);
  const std::vector<std::int64_t> widths{4, 5, 6, 4, 3};
  std::vector<std::int64_t> layers(widths.begin(), widths.begin() + depth);
  layers.push_back(3);
  CAPTURE(static_cast<int>(activation), depth, bias);
  const MlpShape by_class{
      .layers = layers, .bias = bias, .activation = activation, .loss = Loss::cross_entropy};
  check_gradient(by_class, some_data(7, 4, 3, Kind::classes));
  MlpShape by_distance = by_class;
  by_distance.loss = Loss::half_sse;
  check_gradient(by_distance, some_data(7, 4, 3, Kind::targets));
  check_gradient(by_distance, some_data(7, 4, 3, Kind::classes));  // labels as one-hot targets
}

TEST_CASE("single precision follows double precision", "[mlp]") {
  const MlpShape shape{.layers = {20, 30, 10}, .activation = GENERATE(Activation::relu, Activation::tanh)};
  const Dataset data = some_data(33, 20, 10, Kind::classes);
  const auto weights = some_weights<float>(shape);
  const std::vector<double> same(weights.begin(), weights.end());
  std::vector<float> gradient(weights.size(), NAN);
  std::vector<double> reference(weights.size(), NAN), difference(weights.size());
  const float loss = Mlp<float>(shape).gradient(weights, data, samples_of(data), gradient);
  CHECK(loss == Approx(Mlp<double>(shape).gradient(same, data, samples_of(data), reference)).epsilon(1e-6));
  for (std::size_t i = 0; i < weights.size(); ++i)
    difference[i] = static_cast<double>(gradient[i]) - reference[i];
  CHECK(norm(difference) < 2e-6 * norm(reference));
}

TEST_CASE("a batch's gradient is the mean of its samples' gradients, repeated samples included", "[mlp]") {
  const MlpShape shape{.layers = {4, 6, 3}, .activation = Activation::tanh};
  const Dataset data = some_data(5, 4, 3, Kind::classes);
  const Mlp<double> mlp(shape);
  const auto weights = some_weights<double>(shape);
  const std::vector<std::uint32_t> batch{3, 0, 3, 4};
  std::vector<double> together(weights.size()), one(weights.size()), mean(weights.size(), 0.0);
  const double loss = mlp.gradient(weights, data, batch, together);
  double mean_loss = 0;
  for (const std::uint32_t sample : batch) {
    mean_loss += mlp.gradient(weights, data, std::vector{sample}, one) / 4;
    for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / 4;
  }
  CHECK(loss == Approx(mean_loss).epsilon(1e-13));
  for (std::size_t i = 0; i < mean.size(); ++i)
    CHECK(together[i] == Approx(mean[i]).epsilon(1e-11).margin(1e-14));
}

TEST_CASE("zero weights lose ln 10 on ten classes", "[mlp]") {
  const MlpShape shape{.layers = {6, 8, 10}, .bias = GENERATE(false, true)};
  const Dataset data = some_data(40, 6, 10, Kind::classes);
  const std::vector<double> zeros(static_cast<std::size_t>(shape.parameters()), 0.0);
  CHECK(Mlp<double>(shape).evaluate(zeros, data, 0, 40).loss / 40 == Approx(std::log(10.0)).epsilon(1e-14));
}

TEST_CASE("softmax survives outputs of any size", "[mlp]") {
  // Weights are outputs: one feature of 1, no hidden layer, no bias.
  const MlpShape shape{.layers = {1, 3}, .bias = false};
  Dataset data{.inputs = SampleMatrix::Ones(2, 1), .labels = {0, 1}, .targets = {}, .classes = 3};
  const std::vector<std::uint32_t> winner{0}, loser{1};
  const auto check = [&](auto scalar, double large) {
    using Scalar = decltype(scalar);
    const auto l = static_cast<Scalar>(large);
    const std::vector<Scalar> weights{l, -l, 0};
    std::vector<Scalar> gradient(3);
    const Mlp<Scalar> mlp(shape);
    CHECK(mlp.gradient(weights, data, winner, gradient) == Scalar(0));
    CHECK(gradient == std::vector<Scalar>{0, 0, 0});
    CHECK(mlp.gradient(weights, data, loser, gradient) == 2 * l);
    CHECK(gradient == std::vector<Scalar>{1, -1, 0});
  };
  check(float{}, 1e4);
  check(double{}, 1e5);
}

TEST_CASE("a sample is a hit when its class has the largest output", "[mlp]") {
  const MlpShape shape{.layers = {2, 2}, .bias = true, .loss = GENERATE(Loss::cross_entropy, Loss::half_sse)};
  Dataset data{.inputs = SampleMatrix(4, 2), .labels = {0, 1, 1, 1}, .targets = {}, .classes = 2};
  data.inputs << 2, 1, 1, 2, 3, 1, 5, 5.5;
  // W is out x in, row by row, then b: outputs are (x0, x1 + 1).
  const std::vector<double> weights{1, 0, 0, 1, 0, 1};
  CHECK(Mlp<double>(shape).evaluate(weights, data, 0, 4).hits ==
        3);  // sample 0 is a draw, the first class has it
  data.labels[0] = 1;
  CHECK(Mlp<double>(shape).evaluate(weights, data, 0, 1).hits == 0);
}

TEST_CASE("a squared error against labels is against one-hot targets", "[mlp]") {
  const MlpShape shape{.layers = {1, 3}, .bias = false, .loss = Loss::half_sse};
  const Dataset data{.inputs = SampleMatrix::Ones(1, 1), .labels = {1}, .targets = {}, .classes = 3};
  const std::vector<double> weights{2, 4, 0.5};
  std::vector<double> gradient(3);
  CHECK(Mlp<double>(shape).gradient(weights, data, std::vector<std::uint32_t>{0}, gradient) ==
        0.5 * (4 + 9 + 0.25));
  CHECK(gradient == std::vector<double>{2, 3, 0.5});
}

TEST_CASE("evaluating many samples is the sum over single ones", "[mlp]") {
  const auto kind = GENERATE(Kind::classes, Kind::targets);
  const MlpShape shape{.layers = {4, 5, 3},
                       .loss = kind == Kind::classes ? Loss::cross_entropy : Loss::half_sse};
  const Dataset data = some_data(1100, 4, 3, kind);  // more than two chunks of 512
  const Mlp<double> mlp(shape);
  const auto weights = some_weights<double>(shape);
  for (const auto& [begin, end] : {std::pair{0, 1100}, {3, 3}, {511, 1025}, {1099, 1100}}) {
    LossAndHits sum;
    for (std::int64_t i = begin; i < end; ++i) {
      const LossAndHits one = mlp.evaluate(weights, data, i, i + 1);
      sum.loss += one.loss;
      sum.hits += one.hits;
    }
    const LossAndHits all = mlp.evaluate(weights, data, begin, end);
    CHECK(all.loss == Approx(sum.loss).epsilon(1e-12));
    CHECK(all.hits == sum.hits);
  }
}

TEST_CASE("784-128-10 has 101,770 parameters in four arrays, one behind the other", "[mlp]") {
  const MlpShape shape{.layers = {784, 128, 10}};
  CHECK(shape.parameters() == 101'770);
  const auto arrays = shape.arrays();
  REQUIRE(arrays.size() == 4);
  CHECK(arrays[0].name == "W1");
  CHECK(arrays[0].rows == 128);
  CHECK(arrays[0].cols == 784);
  CHECK(arrays[1].name == "b1");
  CHECK(arrays[2].name == "W2");
  CHECK(arrays[3].name == "b2");
  CHECK(arrays[3].size() == 10);
  std::int64_t begin = 0;
  for (const MlpShape::Array& array : arrays) {
    CHECK(array.begin == begin);
    begin += array.size();
  }
  CHECK(MlpShape{.layers = {784, 128, 10}, .bias = false}.parameters() == 101'632);
}

TEST_CASE("a gradient costs six operations a weight, four in the first layer", "[mlp]") {
  CHECK(MlpShape{.layers = {784, 128, 10}}.flops_per_sample() == 4.0 * 784 * 128 + 6.0 * 128 * 10);
  CHECK(MlpShape{.layers = {5, 4, 3, 2}}.flops_per_sample() == 4 * 20 + 6 * 12 + 6 * 6);
  CHECK(MlpShape{.layers = {5, 4}, .bias = false}.flops_per_sample() == 80);
}
