// Workers of a sparse model pull and push the keys of their batches only: what they learn does not depend on
// where the keys lie, nor on who asks for which.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace psim::test {
namespace {

ScenarioBuilder clicks(const std::string& optimizer, const std::string& rest = "") {
  return ScenarioBuilder({"data.source=clicks", "data.samples=1500", "data.features=3000", "data.nonzeros=10",
                          "model.kind=logistic", "model.precision=float64", "training.batch_size=25",
                          "training.steps=12", "training.learning_rate=2.0",
                          "training.evaluate_every=1 updates", "consistency.model=bsp", "cluster.workers=4",
                          "cluster.servers=3"})
      .with("training", optimizer)
      .with("cluster", rest);
}

std::vector<double> losses(const Json& run) {
  std::vector<double> result;
  for (const Json& point : run["curve"]) result.push_back(point["loss"]);
  return result;
}

}  // namespace

TEST_CASE("a sparse model learns the same wherever its keys are", "[sparse][slow]") {
  const std::string optimizer = GENERATE("", "optimizer = \"proximal\"\nl1 = 1e-3",
                                         "optimizer = \"proximal\"\nl1 = 1e-3\nfeature_blocks = 5");
  const std::vector<double> expected = losses(clicks(optimizer).run());
  REQUIRE(expected.size() == 13);
  CHECK(expected.back() < expected.front());
  for (const char* placement : {"hash-ring", "kvstore", "greedy"})
    CHECK(losses(clicks(optimizer).set({fmt::format("placement.kind={}", placement)}).run()) == expected);
  CHECK(losses(clicks(optimizer).set({"messages={unit=\"array\", slice=100}"}).run()) == expected);
}

// One worker that takes all samples of a clock asks for the union of the keys.
TEST_CASE("a sparse model's workers learn what one worker with their samples learns", "[sparse]") {
  const std::string optimizer = GENERATE("", "optimizer = \"proximal\"\nl1 = 1e-3");
  const std::vector<double> several = losses(clicks(optimizer).run());
  const std::vector<double> one =
      losses(clicks(optimizer).set({"cluster.workers=1", "training.batch_size=100"}).run());
  REQUIRE(several.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(several[i] == Approx(one[i]).epsilon(1e-12));
}

// 3001 weights in 5 blocks on 3 servers of 1000, 1000 and 1001: ends of blocks at 600, 1200, 1800 and 2400.
TEST_CASE("each block of features that a shard has a part of gets a vector clock", "[sparse]") {
  const Json run = clicks("optimizer = \"proximal\"\nfeature_blocks = 5").run();
  const std::vector<int> ranges = {2, 3, 2};
  for (std::size_t s = 0; s < ranges.size(); ++s) {
    CHECK(run["servers"][s]["ranges"] == ranges[s]);
    CHECK(run["servers"][s]["range_splits"] == ranges[s] - 1);
  }
  const Json plain = clicks("").run();
  for (const Json& server : plain["servers"]) {
    CHECK(server["ranges"] == 1);
    CHECK(server["range_splits"] == 0);
  }
}

TEST_CASE("a sparse worker moves the bytes of its keys", "[sparse]") {
  const Json run = clicks("").set({"cluster.servers=1", "cluster.workers=1"}).run();
  const double keys = run["workers"][0]["keys_per_step"];
  CHECK(keys > 20);
  CHECK(keys <= 25 * 10 + 1);
  // 12 pulls of 4-byte places, 12 answers and 12 pushes of places and 8-byte values; the pull that ends the
  // run asks for the last keys again.
  const auto bytes = run["bytes_sent"].get<double>();
  const double of_steps = 12 * keys * (4 + 12 + 12);
  CHECK(bytes > of_steps);
  CHECK(bytes <= of_steps + 4 * (25 * 10 + 1));
}

// Its next batch has other keys than the one that it is stopped in.
TEST_CASE("a sparse model's late workers may be stopped", "[sparse]") {
  const ScenarioBuilder stopped = clicks("").set(
      {"consistency={model=\"k-sync\", k=3, late=\"cancel\"}", "compute.distribution=exponential"});
  const Json run = stopped.run();
  CHECK(run["updates"] == 12);
  CHECK(losses(run).back() < losses(run).front());
  CHECK(stopped.run({.threads = 2})["digest"] == run["digest"]);
}

}  // namespace psim::test
