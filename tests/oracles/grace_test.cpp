// A grace, an adaptive deadline and weights of pushes at the ends of their ranges, and against sums by hand.
#include <tuple>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Steps of 1, 2, 3 and 8 s.
Ideal steps_of_four(const std::string& consistency, double duration, int servers) {
  return {.consistency = consistency,
          .workers = 4,
          .duration = duration,
          .compute = "",
          .cluster =
              "[[straggler]]\nworkers = [1]\nslowdown = 2.0\n"
              "[[straggler]]\nworkers = [2]\nslowdown = 3.0\n"
              "[[straggler]]\nworkers = [3]\nslowdown = 8.0\n",
          .servers = servers};
}

Json learns(const FieldValues& consistency) {
  return ScenarioBuilder({"model.kind=mlp", "model.layers=[10, 8, 4]", "data.source=blobs",
                          "data.samples=400", "data.features=10", "data.classes=4", "training.steps=20",
                          "training.batch_size=12", "cluster.workers=4", "cluster.servers=2",
                          "compute.time=1s", "compute.distribution=exponential", "seed=5"})
      .set(consistency)
      .run();
}

}  // namespace

TEST_CASE("k-sync with a grace: an update every t(k) + grace, but no later than the slowest",
          "[oracle][closing][grace]") {
  for (const int servers : {1, 3}) {
    for (const auto& [k, grace, period, pushes] : {std::tuple{1, "500ms", 1.5, 1},
                                                   {1, "1.25s", 2.25, 2},
                                                   {2, "500ms", 2.5, 2},
                                                   {2, "1.5s", 3.5, 3},
                                                   {2, "10s", 8.0, 4},
                                                   {3, "4s", 7.0, 3}}) {
      INFO("k " << k << ", grace " << grace << ", servers " << servers);
      const double end = 40 * period + 0.25;
      const Json run = toml(steps_of_four(fmt::format("model = \"k-sync\"\nk = {}\ngrace = \"{}\"", k, grace),
                                          end, servers))
                           .run();
      CHECK(run["updates"] == 40);
      CHECK(run["pushes"]["applied"] == 40 * pushes * servers);
    }
  }
}

TEST_CASE("a grace at the ends of its range is no grace, or bsp", "[oracle][closing][grace]") {
  for (const char* model : {"k-sync", "k-async", "k-batch-sync", "k-batch-async"}) {
    INFO(model);
    const FieldValues two{fmt::format("consistency.model={}", model), "consistency.k=2"};
    FieldValues none = two;
    none.emplace_back("consistency.grace=0s");
    CHECK(learns(none)["digest"] == learns(two)["digest"]);
  }
  const Json bsp = learns({"consistency.model=bsp"}),
             open = learns({"consistency.model=k-sync", "consistency.k=2", "consistency.grace=1000s"}),
             late = learns({"consistency.model=bsp", "consistency.deadline_mad=1e9"});
  CHECK(open["model"]["weights"] == bsp["model"]["weights"]);
  CHECK(late["model"]["weights"] == bsp["model"]["weights"]);
}

TEST_CASE("weights that are equal for all pushes are no weights", "[oracle][custom]") {
  const auto weighs = [](const std::string& weight) {
    return learns({"consistency.model=custom", "consistency.k=2", "consistency.update=\"pushes >= k\"",
                   "consistency.start=\"version > computed_on\"", "consistency.too_late=\"age > 0\"",
                   fmt::format("consistency.weight=\"{}\"", weight)})["digest"];
  };
  const Json none = weighs("1");
  CHECK(weighs("samples") == none);
  CHECK(weighs("batches") == none);
  CHECK(weighs("seconds / seconds") == none);
  CHECK(weighs("1 / seconds") != none);
}
