// Which samples are learned from when not all workers are there, and after which updates a run is evaluated.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

Json run(int workers, const std::string& training, const std::string& tables) {
  return ScenarioBuilder(
             {"model.layers=[64, 10]", "training.batch_size=8", "training.steps=30", "compute.time=10ms"})
      .with("training", training)
      .set("cluster.workers", workers)
      .with(tables)
      .run();
}

}  // namespace

TEST_CASE("workers that share out iid samples take each sample once, as if the others did not exist",
          "[recovery]") {
  const Json three = run(3, "", "");
  const Json four = run(4, "",
                        "[recovery]\nlost_data = \"reassign\"\n"
                        "[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"100s\"\n");
  CHECK(four["updates"] == 30);
  CHECK(four["model"]["weights"] == three["model"]["weights"]);
}

TEST_CASE("evaluations by updates come at the very update", "[evaluation]") {
  const Json evaluated = run(2, "evaluate_every = \"10 updates\"", "");
  std::vector<int> updates;
  for (const Json& point : evaluated["curve"]) updates.push_back(point["updates"].get<int>());
  CHECK(updates == std::vector<int>{0, 10, 20, 30});
}
