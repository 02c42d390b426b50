// Where workers run the optimizer and push what moved.
#include <string>

#include "sim/nodes/own_steps.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string asp(const std::string& training) {
  return "[model]\nkind = \"phantom\"\nparameters = 5\nprecision = \"float64\"\n[training]\nsteps = 30\n"
         "update = \"worker\"\n" +
         training +
         "[consistency]\nmodel = \"asp\"\n[compute]\ntime = \"1s\"\n[cluster]\nworkers = 3\nservers = 2\n";
}

Slice slice(const Numbers& numbers, std::size_t begin = 0) {
  Numbers shifted(begin, 99);
  shifted.insert(shifted.end(), numbers.begin(), numbers.end());
  return {values_of(shifted), begin, numbers.size()};
}

void check_near(const Slice& slice, const Numbers& expected) {
  const Numbers numbers = numbers_of(slice);
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == Approx(expected[i]).epsilon(1e-13));
}

}  // namespace

TEST_CASE("own steps: what is pushed is the weights before less those after, at the clock's rate",
          "[roles][own_steps]") {
  const Planned planned(
      asp("learning_rate = 0.5\nschedule = \"step\"\nschedule_every = 4.0\n"
          "schedule_factor = 0.1\n"));
  OwnSteps steps(planned.plan());
  const Slice weights = slice({1, -2, 4}, 2);
  check_near(steps.step(1, weights, slice({2, 4, -6}, 1), 3), {1, 2, -3});
  check_near(steps.step(1, weights, slice({2, 4, -6}), 4), {0.1, 0.2, -0.3});
  CHECK(numbers_of(weights) == Numbers{1, -2, 4});
}

TEST_CASE("own steps: each shard's optimizer remembers its own steps", "[roles][own_steps]") {
  const Planned planned(asp("learning_rate = 1.0\noptimizer = \"momentum\"\nmomentum = 0.5\n"));
  OwnSteps steps(planned.plan());
  check_near(steps.step(0, slice({0, 0}), slice({4, 0}), 0), {4, 0});
  check_near(steps.step(0, slice({7, 7}), slice({4, 8}), 1), {6, 8});  // whatever others made of the weights
  check_near(steps.step(1, slice({0, 0, 0}), slice({4, 4, 4}), 1), {4, 4, 4});
  check_near(steps.step(0, slice({0, 0}), slice({0, 0}), 2), {3, 4});
  OwnSteps anew(planned.plan());  // of a worker that comes back
  check_near(anew.step(0, slice({0, 0}), slice({4, 0}), 3), {4, 0});
}

TEST_CASE("own steps: of a phantom model what comes in goes out", "[roles][own_steps]") {
  const Planned planned(asp("learning_rate = 1.0\n"));
  OwnSteps steps(planned.plan());
  const Slice out = steps.step(0, {nullptr, 0, 2}, {nullptr, 0, 2}, 0);
  CHECK(out.values == nullptr);
  CHECK(out.count == 2);
}
