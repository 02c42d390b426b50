// What workers compute between a pull and a push, on a learner whose gradients are known.
#include <numeric>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/nodes/local_work.hpp"
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

Driver centre(ConsistencyModel model, std::int64_t workers) {
  return {{.model = model, .aggregation = {"sum"}},
          workers,
          {.weights = {0.5, -3}, .learning_rate = {.base = 1}}};
}

}  // namespace

TEST_CASE("local steps: the push is the sum of gradients along the way", "[rhythm]") {
  // w' = w - r (2 w + b): from 1, with r = 0.1 and batches of mean 1, 2, 3.
  const Linear learner(2);
  Assembly::Places places{{{0, 1}}};
  Assembly weights({{values_of({1}), 0, 1}}, &places);
  LocalCopy local;
  const LocalWork work{.batches = {{{1}}, {{1, 3}}, {{3}}}, .rate = 0.1};
  const Values sum = local_gradient(learner, &weights, work, local);
  double w = 1, expected = 0;
  for (const double b : {1.0, 2.0, 3.0}) {
    expected += 2 * w + b;
    w -= 0.1 * (2 * w + b);
  }
  CHECK(sum.as<double>()[0] == Approx(expected).epsilon(1e-15));
  CHECK(!local.weights);
}

TEST_CASE("accumulation: a step's gradient is the mean over its batches", "[rhythm]") {
  const Linear learner(2);
  Assembly::Places places{{{0, 1}}};
  Assembly weights({{values_of({1}), 0, 1}}, &places);
  LocalCopy local;
  const Values mean = local_gradient(learner, &weights, {.batches = {{{1}, {2}, {6}}}, .rate = 9}, local);
  CHECK(mean.as<double>()[0] == Approx(2 + 3).epsilon(1e-15));
}

TEST_CASE("accumulation with local steps: the push is the sum of the steps' means", "[rhythm]") {
  // From 1 with r = 0.1: the first step's mean gradient is 2 + 2, the second's 2 * 0.6 + 4.
  const Linear learner(2);
  Assembly::Places places{{{0, 1}}};
  Assembly weights({{values_of({1}), 0, 1}}, &places);
  LocalCopy local;
  const LocalWork work{.batches = {{{1}, {3}}, {{2}, {6}}}, .rate = 0.1};
  const Values sum = local_gradient(learner, &weights, work, local);
  CHECK(sum.as<double>()[0] == Approx(4 + 5.2).epsilon(1e-15));
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
        local_gradient(still, nullptr, {.batches = {{{0}}}, .rate = 0.7, .keep = true}, copies[w]);
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
  local_gradient(learner, nullptr, {.batches = {{{3}}}, .rate = 0.1, .keep = true}, local);
  CHECK(std::as_const(*local.weights).as<double>()[0] == Approx(5 - 1 - 0.1 * (2 * 5 + 3)).epsilon(1e-15));
}
