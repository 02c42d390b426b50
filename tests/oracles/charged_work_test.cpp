// Work that costs operations takes its time where it is done: of two runs that differ in the operations only,
// one takes as much longer as theory says.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double values = 100'000, flops = 10e9;  // of a worker and a server: operations per second

double step_time(const std::string& training, const std::string& tables) {
  return phantom(100'000)
      .set({"training.batch_size=8", "training.steps=10", "compute.time=10ms", "cluster.workers=1",
            "cluster.servers=1", "cluster.server={speed = \"10Gf\"}", "cluster.network.share_spread=0.0",
            "cluster.network.simgrid_model=cm02"})
      .with("training", training)
      .with(tables)
      .run()["workers"][0]["mean_step_s"]
      .get<double>();
}

}  // namespace

TEST_CASE("an update on the worker takes the worker's time", "[oracle]") {
  const auto step = [](double flops_per_value) {
    return step_time(
        "update = \"worker\"",
        fmt::format("[cluster.worker]\nspeed = \"10Gf\"\nflops_per_value = {:.1f}\n", flops_per_value));
  };
  CHECK(step(500) - step(0) == Approx(values * 500 / flops).epsilon(1e-9));
}

TEST_CASE("a filter of answers takes the server's time", "[oracle][filter]") {
  const auto step = [](double flops_per_value) {
    return step_time("", fmt::format("[[filter]]\nkind = \"fp16\"\non = \"pull\"\nflops_per_value = {:.1f}\n",
                                     flops_per_value));
  };
  CHECK(step(500) - step(0) == Approx(values * 500 / flops).epsilon(1e-9));
}
