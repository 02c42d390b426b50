// Goal: a target is reached by the first evaluation that is good enough, and by no other. Method: a learner
// whose loss is its only weight.
#include "sim/evaluator.hpp"

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

TEST_CASE("without classes no accuracy is reached", "[evaluation]") {
  const LossIsWeight learner;
  const Dataset samples;
  Pool pool(1);
  Evaluator evaluator(learner, samples, {.accuracy = 0.1, .loss = {}}, pool);
  CHECK(evaluate(evaluator) == 0);
  CHECK(evaluator.reached() == nullptr);
}
