// When weights are evaluated, and that every look is at the weights that the run has, whatever was lost.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Case {
  std::string architecture = "parameter-server";
  std::string training = "";
  std::string consistency = "bsp";
  std::string tables = "";
  int workers = 4, servers = 3;
};

Json run(const Case& c, const FieldValues& settings = {}) {
  const bool has_servers = c.architecture == "parameter-server";
  return ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=8", "training.learning_rate=0.2",
                          "compute.time=10ms", "cluster.network.latency=100us"})
      .set("architecture.kind", c.architecture)
      .with("training", c.training)
      .with(has_servers ? fmt::format("[consistency]\nmodel = \"{}\"", c.consistency) : "")
      .set("cluster.workers", c.workers)
      .with("cluster", has_servers ? fmt::format("servers = {}", c.servers) : "")
      .with(c.tables)
      .set(settings)
      .run();
}

std::string crash(const std::string& node, const std::string& more) {
  return ScenarioBuilder({"recovery.heartbeat=5ms", "recovery.timeout=20ms", "recovery.retry=20ms"})
      .with("recovery", more)
      .add("fault", {"kind=crash", fmt::format("nodes=[\"{}\"]", node), "at=455ms", "restart_after=40ms"})
      .toml();
}

const std::string with_snapshots = "[snapshot]\nevery = \"10 updates\"\n";
const std::string ends = "duration = \"700ms\"";  // before all is as far as before

// The runs in which versions fall back, and one in which a worker is lost and none does.
std::vector<Case> falls() {
  const std::string restart = "workers = \"restart\"";
  return {
      {.architecture = "all-reduce", .training = ends, .tables = crash("worker 1", restart)},
      {.architecture = "all-reduce",
       .training = ends,
       .tables = crash("worker 2", restart) + with_snapshots,
       .workers = 3},
      {.architecture = "all-reduce", .training = ends, .tables = crash("worker 1", "")},
      {.architecture = "model-parallel",
       .training = ends,
       .tables = crash("worker 1", restart) + with_snapshots,
       .workers = 2},
      {.training = ends, .tables = crash("server 1", "")},
      {.training = ends, .consistency = "asp", .tables = crash("server 2", "")},
      {.training = ends, .tables = crash("server 0", "") + with_snapshots},
      {.training = ends,
       .consistency = "asp",
       .tables = crash("server 1", "") + with_snapshots,
       .servers = 2},
  };
}

std::vector<std::int64_t> updates_of(const Json& summary) {
  std::vector<std::int64_t> all;
  for (const Json& point : summary["curve"]) all.push_back(point["updates"]);
  return all;
}

}  // namespace

TEST_CASE("the final loss belongs to the final weights, whenever the run was looked at", "[looks][slow]") {
  for (const Case& c : falls()) {
    INFO(c.architecture << " " << c.consistency << c.tables);
    const Json often = run(c, {"training.evaluate_every=1 update"});
    CHECK(often["curve"].back()["loss"] == often["final"]["loss"]);
    for (const char* every :
         {"10ms", "7ms", "1s", "3 updates", "1000 updates", "32 samples", "1000000 samples"}) {
      INFO(every);
      const Json other = run(c, {fmt::format("training.evaluate_every={}", every)});
      CHECK(other["digest"] == often["digest"]);
      CHECK(other["final"] == often["final"]);
      CHECK(other["curve"].back()["updates"] == often["curve"].back()["updates"]);
    }
    const Json once = run(c);  // once an epoch
    CHECK(once["final"] == often["final"]);
  }
}

TEST_CASE("a curve falls back with the weights", "[looks]") {
  const std::vector<Case> cases = falls();
  for (const std::size_t i :
       {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{5}, std::size_t{6}, std::size_t{7}}) {
    INFO(cases[i].architecture << cases[i].tables);
    const Json summary = run(cases[i], {"training.evaluate_every=1 update"});
    const std::vector<std::int64_t> updates = updates_of(summary);
    CHECK(summary["updates"] == updates.back());
    // The lost weights are followed by those that the run goes on with: of the last snapshot, or the first
    // ones.
    const auto fall = std::ranges::adjacent_find(updates, std::ranges::greater());
    REQUIRE(fall != updates.end());
    const std::int64_t snapshot = cases[i].tables.ends_with(with_snapshots) ? *fall / 10 * 10 : 0;
    CHECK(*(fall + 1) == snapshot);
  }
}

TEST_CASE("a target that is reached only by weights that are lost again is reached", "[looks]") {
  // Both looks find the weights before the crash good enough; none after it is.
  const Case ring = falls().front();
  const Json often = run(ring, {"training.evaluate_every=1 update"});
  double best = 1e9;
  for (const Json& point : often["curve"]) best = std::min(best, point["loss"].get<double>());
  CHECK(best < often["final"]["loss"].get<double>());
  const std::string target = fmt::format("training.target={{loss={:.17g}, stop=false}}", best);
  for (const char* every : {"1 update", "1ms"}) {
    const Json summary = run(ring, {fmt::format("training.evaluate_every={}", every), target});
    CHECK(summary["target"]["reached"] == true);
    CHECK(summary["target"]["sim_time_s"].get<double>() < 0.5);
  }
}

TEST_CASE("evaluations by samples come when so many are in the model", "[looks]") {
  const auto looks = [](const Case& c, const std::string& every) {
    return updates_of(run(c, {"training.evaluate_every=" + every}));
  };
  using Updates = std::vector<std::int64_t>;
  // An update of bsp has 4 * 8 samples, and one of asp 8.
  CHECK(looks({.training = "steps = 12"}, "128 samples") == Updates{0, 4, 8, 12});
  CHECK(looks({.training = "steps = 12"}, "100 samples") == Updates{0, 4, 7, 10, 12});  // 128, 224, 320, end
  CHECK(looks({.training = "steps = 12"}, "1 sample").size() == 13);
  CHECK(looks({.training = "steps = 12\nlocal_steps = 2"}, "128 samples") == Updates{0, 2, 4, 6, 8, 10, 12});
  CHECK(looks({.training = "steps = 6", .consistency = "asp", .servers = 1}, "64 samples") ==
        Updates{0, 8, 16, 24});
  CHECK(looks({.architecture = "all-reduce", .training = "steps = 12"}, "128 samples") ==
        Updates{0, 4, 8, 12});
  CHECK(looks({.architecture = "all-reduce", .training = "steps = 3"}, "8 samples") == Updates{0, 1, 2, 3});
  // Both stages compute batches of 16.
  CHECK(looks({.architecture = "model-parallel", .training = "steps = 12", .workers = 2}, "64 samples") ==
        Updates{0, 4, 8, 12});
}

TEST_CASE("a look changes nothing", "[looks]") {
  const Case c{.training = "steps = 20", .consistency = "asp"};
  const Json without = run(c);
  for (const char* every : {"1 update", "1 sample", "1ms"})
    CHECK(run(c, {fmt::format("training.evaluate_every={}", every)})["digest"] == without["digest"]);
}

TEST_CASE("a ring is looked at when all of its workers have the update", "[looks]") {
  // 1210 values in three unequal parts, so that workers have the last one at different dates.
  const Case ring{.architecture = "all-reduce",
                  .training = "steps = 10",
                  .tables = "[[straggler]]\nworkers = [2]\nslowdown = 1.5\n",
                  .workers = 3};
  const Json looked = run(ring, {"training.evaluate_every=1 update"});
  CHECK(updates_of(looked) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(looked["curve"].back()["sim_time_s"] == looked["sim_time_s"]);
  // The same numbers as of servers that make the same updates.
  const Json servers =
      run({.training = "steps = 10", .workers = 3, .servers = 1}, {"training.evaluate_every=1 update"});
  for (std::size_t i = 0; i <= 10; ++i)
    CHECK(looked["curve"][i]["loss"].get<double>() ==
          Approx(servers["curve"][i]["loss"].get<double>()).epsilon(1e-4));
}

TEST_CASE("a target must be held for as many looks in a row as asked for", "[looks]") {
  const Case c{.training = "steps = 200", .consistency = "asp"};
  const Json often = run(c, {"training.evaluate_every=5 updates"});
  // A loss with a row of one look, and then a miss: found in the curve itself.
  const Json& curve = often["curve"];
  std::size_t lucky = 0;
  for (std::size_t i = 1; i + 1 < curve.size() && lucky == 0; ++i) {
    double before = 1e9;
    for (std::size_t j = 0; j < i; ++j) before = std::min(before, curve[j]["loss"].get<double>());
    if (curve[i]["loss"] < before && curve[i + 1]["loss"] > curve[i]["loss"]) lucky = i;
  }
  REQUIRE(lucky > 0);
  const double goal = curve[lucky]["loss"];
  const auto reached = [&](int hold, bool stop) {
    return run(
        c, {"training.evaluate_every=5 updates",
            fmt::format("training.target={{loss={:.17g}, hold={}, stop={}}}", goal, hold, stop)})["target"];
  };
  // By hand: the first of `hold` looks in a row.
  const auto expected = [&](std::size_t hold) -> std::size_t {
    for (std::size_t i = 0; i + hold <= curve.size(); ++i) {
      bool all = true;
      for (std::size_t j = i; j < i + hold; ++j) all = all && curve[j]["loss"].get<double>() <= goal;
      if (all) return i;
    }
    return curve.size();
  };
  for (const int hold : {1, 2, 3, 5}) {
    INFO(hold);
    const std::size_t at = expected(static_cast<std::size_t>(hold));
    for (const bool stop : {true, false}) {
      const Json target = reached(hold, stop);
      CHECK(target["reached"] == (at < curve.size()));
      if (at == curve.size()) continue;
      CHECK(target["sim_time_s"] == curve[at]["sim_time_s"]);
      CHECK(target["last_miss_s"] == curve[at - 1]["sim_time_s"]);
    }
  }
  CHECK(expected(2) > lucky);
}
