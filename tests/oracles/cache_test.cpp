// A cache of weights with clocks: how often a worker pulls, what it reads, and bounds of its own for each
// layer.
#include <map>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int steps = 60;

ScenarioBuilder ssp(int s, bool cache) {
  return ScenarioBuilder({"seed=3", "model.kind=phantom", "model.arrays=[1000, 10]", "training.batch_size=1",
                          "consistency.model=ssp", "compute.time=10ms", "cluster.workers=4",
                          "cluster.network.latency=1us", "cluster.network.bandwidth=1000Gbps"})
      .set("training.steps", steps)
      .set("consistency.staleness", s)
      .set("consistency.cache", cache);
}

// Of worker 0.
std::map<std::int64_t, int> pulls_of_shards(const TracedRun& run) {
  std::map<std::int64_t, int> pulls;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "pull") && e.node == 2) ++pulls[e["shard"]];
  }
  return pulls;
}

std::int64_t weights_bytes(const Json& run) { return run["bytes_by_kind"].value("weights", std::int64_t{0}); }

}  // namespace

TEST_CASE("with a cache a worker pulls about every s + 1 clocks, and the bytes fall as much",
          "[oracle][cache]") {
  const std::int64_t all = weights_bytes(ssp(3, false).run());
  for (const int s : {1, 2, 4, 9, 19}) {
    INFO("s = " << s);
    const TracedRun run = ssp(s, true).trace();
    const int pulls = pulls_of_shards(run)[0] - 1;  // the last one, by which it says that it is through
    // A copy that is pulled at clock c lacks at most the pushes of clock c - 1, so it does for s or s + 1
    // clocks.
    CHECK(pulls >= steps / (s + 1));
    CHECK(pulls <= steps / s + 1);
    CHECK(weights_bytes(run.summary) * s <= all + 2 * s * all / steps);
    CHECK(run.summary["clock_gap"]["max"] <= s);
  }
  // Without, every bound moves the same bytes.
  CHECK(weights_bytes(ssp(19, false).run()) == all);
}

TEST_CASE("a bound of zero leaves nothing to keep: a cache is bsp to the bit", "[oracle][cache]") {
  CHECK(ssp(0, true).run()["digest"] == ssp(0, false).run()["digest"]);
}

TEST_CASE("fast workers still stop at the bound", "[oracle][cache]") {
  for (const int s : {1, 4}) {
    const Json with = ssp(s, true).straggler(3, 3).run(), without = ssp(s, false).straggler(3, 3).run();
    CHECK(with["clock_gap"]["max"] == s);
    // The slow worker computes 60 times 30 ms; what it does not pull it need not wait for.
    CHECK(with["sim_time_s"].get<double>() >= 1.8);
    CHECK(with["sim_time_s"].get<double>() < without["sim_time_s"].get<double>());
  }
}

TEST_CASE("each layer is pulled as often as its own bound demands", "[oracle][cache]") {
  const TracedRun run =
      ssp(3, true)
          .set({"messages.unit=array",
                "consistency.array=[{layer = 0, staleness = 9}, {layer = 1, staleness = 1}]"})
          .trace();
  std::map<std::int64_t, int> pulls = pulls_of_shards(run);
  CHECK(pulls[0] - 1 >= 6);
  CHECK(pulls[0] - 1 <= 7);
  CHECK(pulls[1] - 1 >= 30);
  CHECK(run.summary["clock_gap"]["max"] <= 1);  // the strictest one holds a worker back
  CHECK(run.summary["shard_bounds"][0]["staleness"] == 9);
}

TEST_CASE("one worker reads its own pushes in its copy: the curve is that of fresh weights",
          "[oracle][cache]") {
  const auto curve = [](const FieldValues& consistency) {
    return ScenarioBuilder({"seed=2", "model.layers=[64, 8, 10]", "model.precision=float64",
                            "training.batch_size=16", "training.steps=40", "training.learning_rate=0.1",
                            "training.evaluate_every=1 update", "consistency.model=ssp", "cluster.workers=1"})
        .set(consistency)
        .run()["curve"];
  };
  const Json fresh = curve({"consistency.staleness=1"}),
             kept = curve({"consistency.staleness=7", "consistency.cache=true"});
  REQUIRE(fresh.size() == kept.size());
  for (std::size_t i = 0; i < fresh.size(); ++i)
    CHECK(kept[i]["loss"].get<double>() == Approx(fresh[i]["loss"].get<double>()).epsilon(1e-9));
}
