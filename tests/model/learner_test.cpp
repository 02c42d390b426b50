// Goal: the model that a scenario describes is the model that is trained. Method: small models whose
// weights, losses and accuracies are known.
#include "model/learner.hpp"

#include "model/dataset.hpp"
#include "model/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Three samples to train on, two to test on; two features, two classes.
DataSplit two_classes() {
  DataSplit split;
  split.train.inputs.resize(3, 2);
  split.train.inputs << 1, 0, 0, 1, 1, 1;
  split.train.labels = {0, 1, 0};
  split.train.classes = 2;
  split.test.inputs.resize(2, 2);
  split.test.inputs << 1, 0, 0, 2;
  split.test.labels = {0, 0};
  split.test.classes = 2;
  return split;
}

std::vector<double> list(const Values& values) {
  return with_scalar(values.precision(), [&](auto zero) {
    const auto span = values.as<decltype(zero)>();
    return std::vector<double>(span.begin(), span.end());
  });
}

}  // namespace

TEST_CASE("given weights and biases land where the layers are", "[learner]") {
  const DataSplit split = two_classes();
  const ModelSpec spec{.mlp = {.layers = {2, 3, 2}},
                       .precision = Precision::float64,
                       .weights = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8, 9}, {10, 11, 12}}},
                       .biases = {{.1, .2, .3}, {.4, .5}}};
  CHECK(list(make_learner(spec, split)->initial_weights(1)) ==
        std::vector<double>{1, 2, 3, 4, 5, 6, .1, .2, .3, 7, 8, 9, 10, 11, 12, .4, .5});
}

TEST_CASE("drawn weights keep within their limits, fill them, and biases are zero", "[learner]") {
  const DataSplit split = two_classes();
  const Init init = GENERATE(Init::glorot, Init::he, Init::zeros);
  const ModelSpec spec{.mlp = {.layers = {300, 50, 2}}, .precision = Precision::float64, .init = init};
  const auto weights = list(make_learner(spec, split)->initial_weights(5));
  for (const MlpShape::Array& array : spec.mlp.arrays()) {
    const bool bias = array.name.front() == 'b';
    const double fan = static_cast<double>(init == Init::he ? array.cols : array.cols + array.rows);
    const double limit = bias || init == Init::zeros ? 0 : std::sqrt(6 / fan);
    double largest = 0, sum = 0, squares = 0;
    for (std::int64_t i = array.begin; i < array.begin + array.size(); ++i) {
      const double w = weights[static_cast<std::size_t>(i)];
      largest = std::max(largest, std::abs(w));
      sum += w;
      squares += w * w;
    }
    const auto n = static_cast<double>(array.size());
    CAPTURE(array.name, limit);
    CHECK(largest <= limit);
    CHECK(largest >= 0.9 * limit);
    CHECK(std::abs(sum / n) <= 4 * limit / std::sqrt(3 * n));
    CHECK(std::abs(squares / n - limit * limit / 3) <= 4 * 0.3 * limit * limit / std::sqrt(n));
  }
}

TEST_CASE("a kind of model says which data it can learn from", "[learner]") {
  const auto learns = [](Learns what, std::int64_t classes) {
    return ModelRow{.name = "a", .doc = "", .learns = what}.can_learn(classes);
  };
  for (const std::int64_t classes : {0, 2, 3}) {
    CAPTURE(classes);
    CHECK(learns(Learns::anything, classes));
    CHECK(learns(Learns::classes, classes) == (classes > 0));
    CHECK(learns(Learns::two_classes, classes) == (classes == 2));
    CHECK(learns(Learns::targets, classes) == (classes == 0));
  }
}

TEST_CASE("a model that learns no classes has no hits", "[learner]") {
  class Regression final : public Learner {
   public:
    Values initial_weights(std::uint64_t) const override { return {Precision::float32, 1}; }
    Values gradient(const Values&, std::span<const std::uint32_t>) const override { return {}; }
    void to_gradient(Values&, std::span<const std::uint32_t>) const override {}
    Evaluation evaluate(const Values&, const Dataset&) const override { return {}; }
  };
  const Regression model;
  const std::vector<std::uint32_t> samples{0, 1};
  CHECK(model.hits(model.initial_weights(1), {}, samples) == 0);
}

TEST_CASE("first weights are rounded to the model's precision", "[learner]") {
  const DataSplit split = two_classes();
  const ModelSpec spec{.mlp = {.layers = {2, 4, 2}}, .precision = Precision::bfloat16};
  const std::unique_ptr<Learner> learner = make_learner(spec, split);
  Values drawn = learner->initial_weights(1);
  const Values first = learner->first_weights(Precision::bfloat16, 1);
  CHECK_FALSE(list(first) == list(drawn));
  round_to(Precision::bfloat16, drawn);
  CHECK(list(first) == list(drawn));
}

TEST_CASE("drawn weights depend on the seed, not on the precision", "[learner]") {
  const DataSplit split = two_classes();
  ModelSpec spec{.mlp = {.layers = {2, 4, 2}}, .precision = Precision::float64};
  const auto exact = list(make_learner(spec, split)->initial_weights(1));
  CHECK(list(make_learner(spec, split)->initial_weights(1)) == exact);
  CHECK(list(make_learner(spec, split)->initial_weights(2)) != exact);
  spec.precision = Precision::float32;
  const auto rounded = list(make_learner(spec, split)->initial_weights(1));
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(rounded[i] == static_cast<float>(exact[i]));
}

TEST_CASE("evaluation is over the test set, and over the training set when there is none", "[learner]") {
  DataSplit split = two_classes();
  // Outputs are the features themselves.
  const ModelSpec spec{.mlp = {.layers = {2, 2}, .bias = false},
                       .precision = GENERATE(Precision::float32, Precision::float64),
                       .weights = {{{1, 0}, {0, 1}}}};
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const auto learner = make_learner(spec, split);
  const auto judged = [&] {
    return learner->evaluate(learner->initial_weights(1), split.part(split.judged_on()));
  };
  const Evaluation test = judged();
  CHECK(test.loss == Approx((softplus(-1) + softplus(2)) / 2).epsilon(1e-6));
  CHECK(test.accuracy == 0.5);
  split.test = {};
  const Evaluation train = judged();
  CHECK(train.loss == Approx((softplus(-1) + softplus(-1) + softplus(0)) / 3).epsilon(1e-6));
  CHECK(train.accuracy == 1.0);
}

TEST_CASE("a run is judged on the validation set, and reported on the test set", "[learner]") {
  DataSplit split = two_classes();
  CHECK(split.judged_on() == DataPart::test);
  CHECK(split.reported_on() == DataPart::test);
  split.validation = split.train;
  CHECK(split.judged_on() == DataPart::validation);
  CHECK(split.reported_on() == DataPart::test);
  CHECK(&split.part(DataPart::training) == &split.train);
  CHECK(&split.part(DataPart::validation) == &split.validation);
  CHECK(&split.part(DataPart::test) == &split.test);
  split.test = {};
  CHECK(split.judged_on() == DataPart::validation);
  CHECK(split.reported_on() == DataPart::validation);
  split.validation = {};
  CHECK(split.judged_on() == DataPart::training);
  CHECK(split.reported_on() == DataPart::training);
}

TEST_CASE("a regression has a loss and no accuracy", "[learner]") {
  DataSplit split;
  split.train.inputs = SampleMatrix::Ones(2, 1);
  split.train.targets.resize(2, 1);
  split.train.targets << 3, 5;
  const ModelSpec spec{.mlp = {.layers = {1, 1}, .bias = false, .loss = Loss::half_sse}, .weights = {{{2}}}};
  const auto learner = make_learner(spec, split);
  const Evaluation result = learner->evaluate(learner->initial_weights(1), split.train);
  CHECK(result.loss == 0.5 * (1 + 9) / 2);
  CHECK(!result.accuracy);
}

TEST_CASE("gradients are taken on the training set", "[learner]") {
  const DataSplit split = two_classes();
  const ModelSpec spec{
      .mlp = {.layers = {2, 2}, .bias = false}, .precision = Precision::float64, .init = Init::zeros};
  const auto learner = make_learner(spec, split);
  const std::vector<std::uint32_t> second{1};
  // Both classes have half; the sample is (0, 1) of class 1.
  CHECK(list(learner->gradient(learner->initial_weights(1), second)) == std::vector<double>{0, 0.5, 0, -0.5});
}

TEST_CASE("a phantom model has sizes and no numbers", "[learner]") {
  const DataSplit split = two_classes();
  const ModelSpec phantom{
      .kind = ModelKind("phantom"), .mlp = {.layers = {2, 2}}, .parameters = 1234, .flops_per_sample = 5e6};
  CHECK(make_learner(phantom, split) == nullptr);
  CHECK(parameter_count(phantom) == 1234);
  CHECK(flops_per_sample(phantom) == 5e6);
  ModelSpec real = phantom;
  real.kind = ModelKind("mlp");
  CHECK(parameter_count(real) == 6);
  CHECK(flops_per_sample(real) == 16);
}

TEST_CASE("hits of single samples make the accuracy of the set that is evaluated", "[learner]") {
  const DataSplit split = two_classes();
  const ModelSpec spec{.mlp = {.layers = {2, 2}}, .weights = {{{1, 0}, {0, 1}}}, .biases = {{0, 0}}};
  const auto learner = make_learner(spec, split);
  const Values weights = learner->initial_weights(1);
  const std::vector<std::uint32_t> first{0}, second{1}, again{0, 1, 0};
  CHECK(learner->hits(weights, split.test, first) == 1);   // (1, 0) is of class 0
  CHECK(learner->hits(weights, split.test, second) == 0);  // (0, 2) should be, too
  CHECK(learner->hits(weights, split.test, again) == 2);
  CHECK(learner->evaluate(weights, split.test).accuracy == 0.5);
  // Of the training set the first two samples are right, and a tie is class 0.
  const std::vector<std::uint32_t> all{0, 1, 2};
  CHECK(learner->hits(weights, split.train, all) == 3);
  CHECK(learner->evaluate(weights, split.train).accuracy == 1.0);
}

TEST_CASE("the first layer passes no error on", "[learner]") {
  const ModelSpec spec{.mlp = {.layers = {4, 3, 2}}};
  const std::vector<LayerWork> work = layer_work(spec);  // products of 12 and of 6
  REQUIRE(work.size() == 2);
  CHECK(work[0].forward == Approx(12.0 / 42));
  CHECK(work[0].backward == Approx(12.0 / 42));
  CHECK(work[1].forward == Approx(6.0 / 42));
  CHECK(work[1].backward == Approx(12.0 / 42));
}
