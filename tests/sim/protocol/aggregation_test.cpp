// Goal: the calculations of the article "Synchrone Gradientenaggregation bei Parameter-Servern" (2024),
// number for number: the aggregation of two workers' gradients, layer by layer, and one step of its whole
// network. Method: its tables, once through the optimizer and once through a server that is sent two pushes;
// for the network, a calculation by hand. Every entry of the printed tables follows from its gradients.

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

struct Layer {
  Numbers weights, g1, g2, updated;
};

const Numbers first_weights{.1,  .2,  .3,  .4,  .5,  .6,  .7,  .8,  .9,  1.0,
                            1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0};
const Numbers second_weights{.2, .3, .4, .5, .6, .7, .8, .9, 1.0, 1.1, 1.2, 1.3};
const Numbers third_weights{.3, .4, .5, .6, .7, .8};

std::vector<Layer> layers() {
  return {
      {first_weights,
       {.2, .1, -.1, 0, .1, .3, -.2, .1, -.1, .2, -.1, .3, .2, -.3, .1, .2, -.1, 0, .1, -.2},
       {-.2, 0, .1, -.2, .3, .1, -.1, .3, 0, .1, .2, -.3, 0, .1, -.1, .1, .2, -.2, 0, .2},
       {.1,     .1995, .3,    .401,  .498, .598,   .7015,  .798,  .9005,  .9985,
        1.0995, 1.2,   1.299, 1.401, 1.5,  1.5985, 1.6995, 1.801, 1.8995, 2}},
      {second_weights,
       {.2, .1, -.2, .3, -.3, .2, .1, -.1, .1, -.2, 0, .2},
       {-.1, .3, .2, .1, .2, -.1, 0, .2, 0, .1, -.2, -.3},
       {.1995, .298, .4, .498, .6005, .6995, .7995, .8995, .9995, 1.1005, 1.201, 1.3005}},
      // The third layer's result is not printed; it is calculated here.
      {third_weights,
       {.3, -.2, .1, -.1, .4, .2},
       {-.2, .1, -.3, .1, -.2, .3},
       {.2995, .4005, .501, .6, .699, .7975}},
  };
}

void check_equal(const Numbers& actual, const Numbers& expected, double tolerance = 1e-12) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(actual[i] == Approx(expected[i]).epsilon(tolerance).margin(1e-14));
  }
}

struct Network {
  DataSplit data;
  ModelSpec spec;
};

// x = (1, 0, 1, 0, 1), y = (0, 1), identity activations, no biases, half the squared error.
Network network() {
  Network n;
  n.data.train.inputs.resize(1, 5);
  n.data.train.inputs << 1, 0, 1, 0, 1;
  n.data.train.targets.resize(1, 2);
  n.data.train.targets << 0, 1;
  n.spec.mlp = {
      .layers = {5, 4, 3, 2}, .bias = false, .activation = Activation::identity, .loss = Loss::half_sse};
  n.spec.precision = Precision::float64;
  for (const auto& [weights, columns] :
       {std::pair{first_weights, 5}, {second_weights, 4}, {third_weights, 3}}) {
    std::vector<Numbers> rows;
    for (auto row = weights.begin(); row != weights.end(); row += columns)
      rows.emplace_back(row, row + columns);
    n.spec.weights.push_back(std::move(rows));
  }
  return n;
}

const Numbers gradient_by_hand{
    39.31192, 0,         39.31192, 0,        39.31192,  45.40156,  0,        45.40156,  0,        45.40156,
    51.4912,  0,         51.4912,  0,        51.4912,   57.58084,  0,        57.58084,  0,        57.58084,
    15.14808, 40.39488,  65.64168, 90.88848, 18.26892,  48.71712,  79.16532, 109.61352, 21.38976, 57.03936,
    92.68896, 128.33856, 68.35968, 135.1296, 201.89952, 110.56848, 218.5656, 326.56272};

const Numbers weights_by_hand{-.2931192, .2,        -.0931192, .4,        .1068808,  .1459844,  .7,
                              .3459844,  .9,        .5459844,  .585088,   1.2,       .785088,   1.4,
                              .985088,   1.0241916, 1.7,       1.2241916, 1.9,       1.4241916, .0485192,
                              -.1039488, -.2564168, -.4088848, .4173108,  .2128288,  .0083468,  -.1961352,
                              .7861024,  .5296064,  .2731104,  .0166144,  -.3835968, -.951296,  -1.5189952,
                              -.5056848, -1.485656, -2.4656272};

Numbers list(const Values& values) {
  const auto span = values.as<double>();
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("the article's tables: the mean of two workers' gradients moves each layer", "[article]") {
  for (const Layer& layer : layers()) {
    const std::size_t n = layer.weights.size();
    const auto weights = values_of(layer.weights);
    const std::vector<WeightedGradient> group{{{values_of(layer.g1), 0, n}, 0.5},
                                              {{values_of(layer.g2), 0, n}, 0.5}};
    Optimizer({}, Precision::float64, n).apply(*weights, group, 0.01);
    check_equal(list(*weights), layer.updated);
  }
}

TEST_CASE("the article's tables: a synchronous server that is sent two pushes", "[article]") {
  for (const Layer& layer : layers()) {
    Driver d({.model = "bsp"}, 2, {.weights = layer.weights, .learning_rate = {.base = 0.01}});
    d.pull_all();
    d.push(1, layer.g2);
    CHECK(d.weights() == layer.weights);
    d.push(0, layer.g1);
    check_equal(d.weights(), layer.updated);
  }
}

TEST_CASE("the article's network: loss and gradients as calculated by hand", "[article]") {
  const Network n = network();
  const auto learner = make_learner(n.spec, n.data);
  const Values weights = learner->initial_weights(1);
  // At most 25 roundings: sums of 5, 4 and 3 products, a square and a sum of two.
  CHECK(learner->evaluate(weights, n.data.train).loss == Approx(317.334344).epsilon(3e-15));
  const Values gradient = learner->gradient(weights, std::vector<std::uint32_t>{0});
  check_equal(list(gradient), gradient_by_hand);
  for (const std::size_t row : {0U, 5U, 10U, 15U}) {  // inputs 1 and 3 are 0, and so is what they contribute
    CHECK(list(gradient)[row + 1] == 0);
    CHECK(list(gradient)[row + 3] == 0);
  }
}

TEST_CASE("the article's network: one step of two workers with the same sample", "[article]") {
  const Network n = network();
  const auto learner = make_learner(n.spec, n.data);
  const Numbers start = list(learner->initial_weights(1));
  Driver d({.model = "bsp"}, 2, {.weights = start, .learning_rate = {.base = 0.01}});
  d.pull_all();
  std::vector<double> losses{learner->evaluate(*values_of(d.weights()), n.data.train).loss};
  for (int step = 0; step < 5; ++step) {
    for (std::uint32_t w = 0; w < 2; ++w)
      d.push(w, list(learner->gradient(*values_of(d.weights()), std::vector<std::uint32_t>{0})));
    d.pull_all();
    if (step == 0) check_equal(d.weights(), weights_by_hand);
    losses.push_back(learner->evaluate(*values_of(d.weights()), n.data.train).loss);
  }
  check_equal(losses, {317.33434400000004, 1.1942811999281961, 3.5246454373735516, 11.254623592662233,
                       31.323827579200128, 55.13247552121236});
}

TEST_CASE("the article's network: adding the two gradients instead overshoots", "[article]") {
  const Network n = network();
  const auto learner = make_learner(n.spec, n.data);
  Driver d({.model = "bsp", .aggregation = {"sum"}}, 2,
           {.weights = list(learner->initial_weights(1)), .learning_rate = {.base = 0.01}});
  d.pull_all();
  for (std::uint32_t w = 0; w < 2; ++w) d.push(w, gradient_by_hand);
  CHECK(learner->evaluate(*values_of(d.weights()), n.data.train).loss ==
        Approx(1029.1927530654414).epsilon(1e-12));
}
