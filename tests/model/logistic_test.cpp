// Goal: logistic regression on sparse data has the right loss, gradient and minimum, and what it says about
// its keys is exact. Method: finite differences, batches against the dense gradient, and Newton's method.
#include "model/dataset.hpp"
#include "model/learner.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "model/base/random.hpp"
#include "model/optimizer.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// `samples` rows with 0 to 6 of `features` features and a value that is not 1; training set only.
DataSplit some_data(std::uint32_t samples, std::uint32_t features) {
  DataSplit split;
  split.train.classes = 2;
  split.train.sparse_inputs.cols = features;
  for (std::uint32_t i = 0; i < samples; ++i) {
    Stream stream(3, "logistic_test", i);
    Keys index = permutation(features, Stream(3, "logistic_test.features", i));
    index.resize(stream.below(7));
    std::ranges::sort(index);
    std::vector<float> value(index.size());
    for (float& x : value) x = static_cast<float>(stream.normal());
    split.train.sparse_inputs.add_row({index, value});
    split.train.labels.push_back(static_cast<std::int32_t>(stream.below(2)));
  }
  return split;
}

ModelSpec spec_of(Precision precision, bool bias = true) {
  ModelSpec spec{.kind = ModelKind("logistic"), .precision = precision};
  spec.mlp.bias = bias;
  return spec;
}

Keys everything(const DataSplit& data) {
  Keys all(static_cast<std::size_t>(data.train.size()));
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

template <class Scalar>
Values random_weights(std::size_t n) {
  Values weights(sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64, n);
  Stream stream(5, "logistic_test.weights");
  for (Scalar& w : weights.as<Scalar>()) w = static_cast<Scalar>(stream.normal());
  return weights;
}

template <class Scalar>
Values at(const Values& weights, const Keys& keys) {
  Values result(weights.precision(), keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) result.as<Scalar>()[k] = weights.as<Scalar>()[keys[k]];
  return result;
}

template <class Scalar>
void check_sparse_is_dense(bool bias) {
  const DataSplit data = some_data(60, 40);
  const auto learner =
      make_learner(spec_of(sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64, bias), data);
  const std::size_t n = 40 + (bias ? 1 : 0);
  const Values weights = random_weights<Scalar>(n);
  const Keys batch{7, 3, 59, 7, 20, 31};  // in any order, one twice
  const Values dense = learner->gradient(weights, batch);
  REQUIRE(dense.size() == n);
  const Keys keys = learner->keys(batch);
  CHECK(std::ranges::adjacent_find(keys, std::greater_equal<>()) == keys.end());
  const Values sparse = learner->gradient_of(at<Scalar>(weights, keys), keys, batch);
  std::vector<Scalar> scattered(n);
  for (std::size_t k = 0; k < keys.size(); ++k) scattered[keys[k]] = sparse.as<Scalar>()[k];
  CHECK(std::ranges::equal(scattered, dense.as<Scalar>()));
  Values in_place = random_weights<Scalar>(n);
  learner->to_gradient(in_place, batch);
  CHECK(std::ranges::equal(std::as_const(in_place).as<Scalar>(), dense.as<Scalar>()));
}

}  // namespace

TEST_CASE("weights start at zero, where the loss is ln 2 and no sample is told from another", "[logistic]") {
  const DataSplit data = some_data(50, 30);
  const auto learner = make_learner(spec_of(GENERATE(Precision::float32, Precision::float64)), data);
  const Values start = learner->initial_weights(1);
  CHECK(start.size() == 31);
  const Evaluation result = learner->evaluate(start, data.train);
  CHECK(result.loss == Approx(std::numbers::ln2).epsilon(1e-15));
  CHECK(result.accuracy == static_cast<double>(std::ranges::count(data.train.labels, 0)) / 50);
  CHECK(result.auc == 0.5);
  CHECK(result.nonzero_weights == 0);
}

TEST_CASE("the logistic gradient is the derivative of the loss", "[logistic]") {
  const bool bias = GENERATE(false, true);
  const DataSplit data = some_data(40, 12);
  const auto learner = make_learner(spec_of(Precision::float64, bias), data);
  Values weights = random_weights<double>(bias ? 13 : 12);
  const Values gradient = learner->gradient(weights, everything(data));
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double& w = weights.as<double>()[i];
    const double middle = w;
    w = middle + h;
    const double above = learner->evaluate(weights, data.train).loss;
    w = middle - h;
    const double below = learner->evaluate(weights, data.train).loss;
    w = middle;
    CHECK(std::as_const(gradient).as<double>()[i] ==
          Approx((above - below) / (2 * h)).margin(1e-9).epsilon(1e-7));
  }
}

TEST_CASE("a sparse gradient is the dense one, bit for bit", "[logistic]") {
  const bool bias = GENERATE(false, true);
  check_sparse_is_dense<float>(bias);
  check_sparse_is_dense<double>(bias);
}

TEST_CASE("keys that a batch does not need have gradient zero, and missing ones are refused", "[logistic]") {
  const DataSplit data = some_data(60, 40);
  const auto learner = make_learner(spec_of(Precision::float64), data);
  const Values weights = random_weights<double>(41);
  const Keys batch{1, 2, 3};
  Keys all(41);
  std::iota(all.begin(), all.end(), 0U);
  const Values wide = learner->gradient_of(weights, all, batch);
  CHECK(std::ranges::equal(wide.as<double>(), learner->gradient(weights, batch).as<double>()));
  Keys keys = learner->keys(batch);
  keys.erase(keys.begin());
  CHECK_THROWS_AS(learner->gradient_of(at<double>(weights, keys), keys, batch), std::logic_error);
  keys = learner->keys(batch);
  CHECK_THROWS_AS(learner->gradient_of(weights, keys, batch), std::logic_error);
}

TEST_CASE("blocks of features divide the keys of a batch", "[logistic]") {
  const std::int64_t blocks = GENERATE(1, 2, 7, 41);
  const DataSplit data = some_data(60, 40);
  const auto learner = make_learner(spec_of(Precision::float32), data);
  const Keys batch = everything(data), all = learner->keys(batch);
  REQUIRE(all.size() == 41);
  Keys together;
  for (std::int64_t clock = 0; clock < blocks; ++clock) {
    const KeyRange range = feature_block(41, blocks, clock);
    const Keys part = learner->keys(batch, range);
    CHECK(
        std::ranges::all_of(part, [&](std::uint32_t key) { return key >= range.begin && key < range.end; }));
    CHECK(std::abs(static_cast<double>(part.size()) - 41.0 / static_cast<double>(blocks)) < 1);
    CHECK(part == learner->keys(batch, feature_block(41, blocks, clock + 3 * blocks)));
    together.insert(together.end(), part.begin(), part.end());
  }
  CHECK(together == all);
}

TEST_CASE("margins of any size have finite losses and gradients", "[logistic]") {
  DataSplit data;
  data.train = {.classes = 2};
  data.train.labels = {1, 0};
  data.train.sparse_inputs.cols = 1;
  const Keys feature{0};
  const std::vector<float> value{1.0F};
  for (int i = 0; i < 2; ++i) data.train.sparse_inputs.add_row({feature, value});
  const auto learner = make_learner(spec_of(Precision::float32, false), data);
  Values weights(Precision::float32, 1);
  weights.as<float>()[0] = GENERATE(-2000.0F, 2000.0F);
  CHECK(learner->evaluate(weights, data.train).loss == 1000);  // one sample loses 2000, the other nothing
  CHECK(learner->gradient(weights, everything(data)).as<float>()[0] ==
        (weights.as<float>()[0] > 0 ? 0.5F : -0.5F));
}

TEST_CASE("the area under the ROC curve counts pairs", "[logistic]") {
  const auto area = [](const std::vector<double>& scores, const std::vector<std::int32_t>& labels) {
    return area_under_roc(scores, labels);
  };
  CHECK(area({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1}) == 0.75);  // the example of scikit-learn's roc_auc_score
  CHECK(area({3, 1, 2}, {1, 0, 0}) == 1.0);
  CHECK(area({3, 1, 2}, {0, 1, 1}) == 0.0);
  CHECK(area({5, 5, 5, 5}, {0, 1, 1, 0}) == 0.5);
  CHECK(area({1, 2, 2, 3}, {0, 1, 0, 1}) == 0.875);  // one pair of four is tied
  CHECK(!area({1, 2}, {1, 1}));
  CHECK(!area({1, 2}, {0, 0}));
}

// The loss is convex, so there is one minimum to find, whatever the way.
TEST_CASE("gradient descent reaches the loss that Newton's method finds", "[logistic]") {
  const DataSplit data = some_data(300, 8);
  const Dataset& train = data.train;
  const auto n = static_cast<Eigen::Index>(train.size());
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(n, 9);
  Eigen::VectorXd y(n);
  x.col(8).setOnes();
  for (Eigen::Index i = 0; i < n; ++i) {
    const SparseMatrix::Row row = train.sparse_inputs.row(static_cast<std::size_t>(i));
    for (std::size_t k = 0; k < row.index.size(); ++k) x(i, row.index[k]) = row.value[k];
    y[i] = train.labels[static_cast<std::size_t>(i)];
  }
  Eigen::VectorXd w = Eigen::VectorXd::Zero(9);
  for (int step = 0; step < 20; ++step) {
    const Eigen::ArrayXd p = 1 / (1 + (-(x * w).array()).exp());
    const Eigen::MatrixXd hessian = x.transpose() * (p * (1 - p)).matrix().asDiagonal() * x;
    w -= hessian.ldlt().solve(x.transpose() * (p.matrix() - y));
  }
  const Eigen::ArrayXd margins = (2 * y.array() - 1) * (x * w).array();
  const double least = (-margins).exp().log1p().mean();

  const auto learner = make_learner(spec_of(Precision::float64), data);
  Values weights = learner->initial_weights(1);
  Optimizer optimizer({}, Precision::float64, 9);
  const Keys all = everything(data);
  for (int step = 0; step < 1000; ++step) {
    const auto gradient = std::make_shared<const Values>(learner->gradient(weights, all));
    optimizer.apply(weights, std::vector<WeightedGradient>{{{gradient, 0, 9}}}, 2.0);
  }
  CHECK(learner->evaluate(weights, data.train).loss == Approx(least).epsilon(1e-12));
  CHECK(least < 0.69);
  for (int i = 0; i < 9; ++i)
    CHECK(weights.as<double>()[static_cast<std::size_t>(i)] == Approx(w[i]).epsilon(1e-6));
}

TEST_CASE("a logistic model takes its sizes from the data", "[logistic]") {
  const bool bias = GENERATE(false, true);
  const DataSplit data = some_data(10, 40);
  ModelSpec spec = spec_of(Precision::float32, bias);
  adapt_to(data.train, spec);
  CHECK(parameter_count(spec) == (bias ? 41 : 40));
  double nonzeros = 0;
  for (std::size_t i = 0; i < 10; ++i)
    nonzeros += static_cast<double>(data.train.sparse_inputs.row(i).index.size());
  CHECK(flops_per_sample(spec) == Approx(4 * (nonzeros / 10 + (bias ? 1 : 0))));
}

TEST_CASE("a dense model has no keys", "[logistic]") {
  DataSplit data;
  data.train.inputs = SampleMatrix::Ones(1, 2);
  data.train.labels = {0};
  data.train.classes = 2;
  const auto learner = make_learner({.mlp = {.layers = {2, 2}}}, data);
  CHECK(!learner->sparse());
  CHECK_THROWS_AS(learner->keys(Keys{0}), std::logic_error);
}

TEST_CASE("hits of single samples make the logistic model's accuracy", "[logistic]") {
  const DataSplit data = some_data(60, 20);
  const auto learner = make_logistic(spec_of(Precision::float64), data);
  const Values weights = random_weights<double>(21);
  const Keys all = everything(data);
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t hit = learner->hits(weights, data.train, std::span(all).subspan(i, 1));
    CHECK((hit == 0 || hit == 1));
    hits += hit;
  }
  CHECK(hits > 0);
  CHECK(learner->hits(weights, data.train, all) == hits);
  CHECK(learner->evaluate(weights, data.train).accuracy == static_cast<double>(hits) / 60);
}
