// Goal: a target is reached by the first evaluation that is good enough, and by no other. Method: a learner
// whose loss is its only weight.
#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/job.hpp"

#include <tuple>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

class LossIsWeight final : public Learner {
 public:
  Values initial_weights(std::uint64_t) const override { return {}; }
  Values gradient(const Values&, std::span<const std::uint32_t>) const override { return {}; }
  void to_gradient(Values&, std::span<const std::uint32_t>) const override {}
  Evaluation evaluate(const Values& weights, const Dataset&) const override {
    return {.loss = weights.as<double>()[0]};
  }
  std::int64_t hits(const Values&, const Dataset&, std::span<const std::uint32_t>) const override {
    return 0;
  }
};

// Evaluates after update 1, 2, 3: the losses are 1, 0.5 and 0.25. How many evaluations said that the run
// ends.
int evaluate(Evaluator& evaluator) {
  int ends = 0;
  for (const int update : {1, 2, 3}) {
    const std::vector<Slice> weights{{values_of({2.0 / (1 << update)}), 0, 1}};
    ends += evaluator.evaluate({.updates = update}, std::make_shared<Assembly>(weights)) ? 1 : 0;
  }
  evaluator.finish();
  return ends;
}

}  // namespace

TEST_CASE("a target is reached by the first evaluation that meets it", "[evaluation]") {
  const LossIsWeight learner;
  const Dataset samples;
  Pool pool(1);
  for (const bool stop : {true, false}) {
    Evaluator evaluator(learner, samples, {.accuracy = {}, .loss = 0.5, .stop = stop}, pool);
    CHECK(evaluate(evaluator) == (stop ? 1 : 0));
    REQUIRE(evaluator.reached() != nullptr);
    CHECK(evaluator.reached()->updates == 2);
  }
}

TEST_CASE("a target is held for some looks in a row, and reached by the first of them", "[evaluation]") {
  const LossIsWeight learner;
  const Dataset samples;
  Pool pool(1);
  const auto look = [&](std::int64_t hold, const std::vector<double>& losses) {
    Evaluator evaluator(learner, samples, {.accuracy = {}, .loss = 0.5, .stop = true, .hold = hold}, pool);
    std::vector<bool> ends;
    double at = 0;
    for (const double loss : losses) {
      const std::vector<Slice> weights{{values_of({loss}), 0, 1}};
      ends.push_back(evaluator.evaluate({.at = at++}, std::make_shared<Assembly>(weights)));
    }
    evaluator.finish();
    const CurvePoint* reached = evaluator.reached();
    return std::tuple(ends, reached != nullptr ? reached->at : -1.0, evaluator.last_miss().value_or(-1.0));
  };
  using Ends = std::vector<bool>;
  CHECK(look(1, {1, 0.5, 1, 0.4}) == std::tuple(Ends{false, true, false, false}, 1.0, 0.0));
  CHECK(look(2, {1, 0.5, 1, 0.4, 0.5, 0.3}) ==
        std::tuple(Ends{false, false, false, false, true, false}, 3.0, 2.0));
  CHECK(look(3, {1, 0.5, 0.5, 1, 0.4}) == std::tuple(Ends{false, false, false, false, false}, -1.0, -1.0));
  CHECK(look(2, {0.1, 0.2, 0.3}) == std::tuple(Ends{false, true, false}, 0.0, -1.0));  // the first weights
}

TEST_CASE("without classes no accuracy is reached", "[evaluation]") {
  const LossIsWeight learner;
  const Dataset samples;
  Pool pool(1);
  Evaluator evaluator(learner, samples, {.accuracy = 0.1, .loss = {}}, pool);
  CHECK(evaluate(evaluator) == 0);
  CHECK(evaluator.reached() == nullptr);
}
