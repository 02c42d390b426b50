// What workers compute between a pull and a push, on a learner whose gradients are known.
#include <numeric>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/nodes/worker/local_work.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Gradient slope * w + the mean of the samples' numbers, the same for every weight.
class Linear final : public Learner {
 public:
  explicit Linear(double slope) : slope_(slope) {}
  Values initial_weights(std::uint64_t) const override { return {}; }
  Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const override {
    Values result(Precision::float64, weights.size());
    const double mean =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      result.as<double>()[i] = slope_ * weights.as<double>()[i] + (slope_ == 0 ? 0 : mean);
    return result;
  }
  void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const override {
    weights = gradient(weights, samples);
  }
  Evaluation evaluate(const Values&, const Dataset&) const override { return {}; }
  std::int64_t hits(const Values&, const Dataset&, std::span<const std::uint32_t>) const override {
    return 0;
  }

 private:
  double slope_;
};

double sum_of(const std::vector<LocalCopy>& copies, const Driver& server, std::size_t weight) {
  double sum = server.weights()[weight];
  for (const LocalCopy& copy : copies) sum += std::as_const(*copy.weights).as<double>()[weight];
  return sum;
}

OwnSteps own(std::string_view optimizer, std::vector<double> rates, std::size_t parameters = 1) {
  return {.optimizer = {.kind = optimizer},
          .storage = {.precision = Precision::float64},
          .parameters = parameters,
          .rates = std::move(rates)};
}

// The push of a worker that begins at `weight`.
double move_of(LocalCopy& local, double weight, LocalWork work) {
  const Linear learner(2);
  Assembly::Places places{{{0, 1}}};
  Assembly weights({{values_of({weight}), 0, 1}}, &places);
  work.moves = true;
  return std::as_const(*std::make_shared<Values>(local_gradient(learner, &weights, work, local)))
      .as<double>()[0];
}

Driver centre(ConsistencyModel model, std::int64_t workers) {
  return {{.model = model, .aggregation = {"sum"}},
          workers,
          {.weights = {0.5, -3}, .learning_rate = {.base = 1}}};
}

}  // namespace

TEST_CASE("local steps: the push is how far they moved the weights", "[rhythm]") {
  // w' = w - r (2 w + b): from 1, with batches of mean 1, 2, 3, and a rate for each step.
  const std::vector<double> rates{0.1, 0.2, 0.05};
  LocalCopy local;
  const double move = move_of(local, 1, {.batches = {{{1}}, {{1, 3}}, {{3}}}, .own = own("sgd", rates)});
  double w = 1;
  for (int h = 0; h < 3; ++h) w -= rates[static_cast<std::size_t>(h)] * (2 * w + h + 1);
  CHECK(move == Approx(1 - w).epsilon(1e-15));
  CHECK(!local.weights);
}

TEST_CASE("local steps: decay and momentum act in each, and the worker keeps its momentum", "[rhythm]") {
  OwnSteps steps = own("momentum", {0.1, 0.1});  // 0.9
  steps.optimizer.weight_decay = 0.5;
  LocalCopy local;
  double w = 1, v = 0;
  for (const double b : {1.0, 3.0}) {
    const double before = w;
    for (int h = 0; h < 2; ++h) {
      v = 0.9 * v + (2 * w + b) + 0.5 * w;
      w -= 0.1 * v;
    }
    const auto sample = static_cast<std::uint32_t>(b);
    CHECK(move_of(local, before, {.batches = {{{sample}}, {{sample}}}, .own = steps}) ==
          Approx(before - w).epsilon(1e-14));
  }
  LocalCopy anew;  // of a worker that comes back
  CHECK(move_of(anew, 1, {.batches = {{{1}}}, .own = steps}) == Approx(0.1 * 3.5).epsilon(1e-15));
}

TEST_CASE("own steps of half precision: gradients and weights are rounded", "[rhythm]") {
  OwnSteps steps = own("sgd", {1});
  steps.storage.precision = Precision::bfloat16;
  LocalCopy local;
  Values weights(Precision::float32, 1);
  weights.as<float>()[0] = 1;
  const auto gradient = std::make_shared<Values>(Values::copy_of(weights, 0, 1));
  gradient->as<float>()[0] = 0.0030001F;  // 1 - 0.003 is 0.99609375 or 1, in steps of 2^-8
  step_alone(weights, gradient, steps, 0, local);
  CHECK(std::as_const(weights).as<float>()[0] == 0.99609375F);
  CHECK(std::as_const(*gradient).as<float>()[0] != 0.0030001F);
  steps.storage.master_copy = true;  // the master copy of the worker
  weights.as<float>()[0] = 1;
  step_alone(weights, gradient, steps, 0, local);
  CHECK(std::as_const(weights).as<float>()[0] == 1 - std::as_const(*gradient).as<float>()[0]);
}

TEST_CASE("accumulation: a step's gradient is the mean over its batches", "[rhythm]") {
  const Linear learner(2);
  Assembly::Places places{{{0, 1}}};
  Assembly weights({{values_of({1}), 0, 1}}, &places);
  LocalCopy local;
  const Values mean = local_gradient(learner, &weights, {.batches = {{{1}, {2}, {6}}}}, local);
  CHECK(mean.as<double>()[0] == Approx(2 + 3).epsilon(1e-15));
}

TEST_CASE("accumulation with local steps: each step takes the mean of its batches", "[rhythm]") {
  // From 1 with r = 0.1: the first step's mean gradient is 2 + 2, the second's 2 * 0.6 + 4.
  LocalCopy local;
  const double move = move_of(local, 1, {.batches = {{{1}, {3}}, {{2}, {6}}}, .own = own("sgd", {0.1, 0.1})});
  CHECK(move == Approx(0.1 * (4 + 5.2)).epsilon(1e-15));
}

TEST_CASE("elastic averaging: without gradients the sum of all copies stays", "[rhythm]") {
  // Elasticity is symmetric: what a worker gives, the centre takes. In any order, whoever is stale.
  const Linear still(0);
  for (const ConsistencyModel model : {"bsp", "asp"}) {
    Driver d = centre(model, 3);
    std::vector<LocalCopy> copies(3);
    for (std::size_t w = 0; w < 3; ++w)
      copies[w].weights = values_of({static_cast<double>(w) * 2 - 1, 4 - static_cast<double>(w)});
    const double first = sum_of(copies, d, 0), second = sum_of(copies, d, 1);
    const double spread = std::as_const(*copies[2].weights).as<double>()[0] - d.weights()[0];
    for (int round = 0; round < 12; ++round) {
      const Numbers seen = d.weights();  // all three pull before the first one pushes
      std::vector<Numbers> pushes;
      for (std::uint32_t w = 0; w < 3; ++w) {
        d.pull(w);
        const auto push = elastic_step(*values_of(seen), 0.2, copies[w]);
        pushes.push_back(numbers_of({push, 0, 2}));
        local_gradient(still, nullptr, {.batches = {{{0}}}, .own = own("sgd", {0.7}, 2), .keep = true},
                       copies[w]);
      }
      for (std::uint32_t w : {1U, 0U, 2U}) d.push(w, pushes[w]);
      CHECK(sum_of(copies, d, 0) == Approx(first).epsilon(1e-13));
      CHECK(sum_of(copies, d, 1) == Approx(second).epsilon(1e-13));
    }
    const double end = std::as_const(*copies[2].weights).as<double>()[0] - d.weights()[0];
    CHECK(std::abs(end) < 0.2 * std::abs(spread));  // and they have come together
  }
}

TEST_CASE("elastic averaging: the gradient is taken before the elastic move", "[rhythm]") {
  // Algorithm 1: x <- x - alpha (x - centre) - rate g(x), all on the right with the old x.
  const Linear learner(2);
  LocalCopy local{.weights = values_of({5}), .spring = nullptr};
  const auto push = elastic_step(*values_of({1}), 0.25, local);
  CHECK(push->as<double>()[0] == -1);
  local_gradient(learner, nullptr, {.batches = {{{3}}}, .own = own("sgd", {0.1}), .keep = true}, local);
  CHECK(std::as_const(*local.weights).as<double>()[0] == Approx(5 - 1 - 0.1 * (2 * 5 + 3)).epsilon(1e-15));
}
