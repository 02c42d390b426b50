// Windows, deadlines, limits of staleness and clocks of a given time against sums by hand: an ideal network,
// steps of 1 s, and worker 3 of four is four times as slow.
#include <cmath>
#include <map>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const std::string slow_worker = "[[straggler]]\nworkers = [3]\nslowdown = 4.0\n";

Ideal four(const std::string& consistency, double duration = 120.5, int servers = 1) {
  return {.consistency = consistency,
          .workers = 4,
          .duration = duration,
          .compute = "",
          .cluster = slow_worker,
          .servers = servers};
}

using Counts = std::map<std::int64_t, std::int64_t>;
Counts counts(const Json& pairs) {
  Counts result;
  for (const Json& pair : pairs) result[pair[0]] = pair[1];
  return result;
}

}  // namespace

TEST_CASE("bsp waits for the slowest, or until its window or its deadline is over",
          "[oracle][closing][slow]") {
  for (const int servers : {1, 3}) {
    for (const auto& [fields, period] : {std::pair{"", 4.0},
                                         {"window = \"500ms\"", 1.5},
                                         {"window = \"10s\"", 4.0},
                                         {"deadline = \"1.25s\"", 1.25},
                                         {"deadline = \"5s\"", 4.0},
                                         {"deadline = \"2s\"\nwindow = \"500ms\"", 1.5},
                                         {"deadline = \"2s\"\nwindow = \"1.5s\"", 2.0}}) {
      INFO(fields << ", servers " << servers);
      const Json run = toml(four(std::string("model = \"bsp\"\n") + fields, 120.5, servers)).run();
      CHECK(run["updates"] == static_cast<std::int64_t>(120.5 / period));
      CHECK(counts(run["staleness"]["histogram"]).size() == 1);
    }
  }
}

TEST_CASE("a push that comes after the window is dropped, or its worker is told to stop",
          "[oracle][closing]") {
  // Updates every 1.5 s; worker 3 needs 4 s, so its push is always for an older version.
  const Json dropped = toml(four("model = \"bsp\"\nwindow = \"500ms\"\nlate = \"drop\"", 120.25)).run();
  CHECK(dropped["updates"] == 80);
  CHECK(dropped["pushes"]["applied"] == 80 * 3);
  // It begins at 0, 4, 8, ... at versions 0, 2, 5, 8, 10, ...: two or three updates go by.
  std::int64_t late = 0;
  for (const auto& [staleness, pushes] : counts(dropped["staleness"]["dropped"])) {
    CHECK((staleness == 2 || staleness == 3));
    late += pushes;
  }
  CHECK(late == 30);
  const Json cancelled = toml(four("model = \"bsp\"\nwindow = \"500ms\"")).run();
  CHECK(cancelled["workers"][3]["cancelled"] == 80);
  CHECK(cancelled["pushes"]["dropped"] == 0);
}

TEST_CASE("late = next: the late push counts in the update after, by hand", "[oracle][closing]") {
  // Updates at 1.5, 3 and 4 s, when the slow worker's push completes one; then all begin together again.
  const Json run = toml(four("model = \"bsp\"\nwindow = \"500ms\"\nlate = \"next\"", 120.2)).run();
  CHECK(run["updates"] == 90);
  CHECK(run["pushes"]["applied"] == 300);
  CHECK(counts(run["staleness"]["histogram"]) == Counts{{0, 270}, {2, 30}});
  CHECK(counts(run["workers"][3]["staleness"]["histogram"]) == Counts{{2, 30}});
  CHECK(run["staleness"]["mean"].get<double>() == Approx(0.2));
}

TEST_CASE("a limit of staleness: nothing staler is applied, and what is not applied is staler",
          "[oracle][closing][slow]") {
  for (const char* model : {"model = \"asp\"", "model = \"ssp\"\nstaleness = 4", "model = \"k-async\"\nk = 2",
                            "model = \"k-batch-async\"\nk = 2"}) {
    const Json free = toml({.consistency = model, .workers = 6, .duration = 500}).run();
    for (const int limit : {0, 1, 3}) {
      INFO(model << ", " << limit);
      const Json run = toml({.consistency = fmt::format("{}\nmax_staleness = {}", model, limit),
                             .workers = 6,
                             .duration = 500})
                           .run();
      const Counts applied = counts(run["staleness"]["histogram"]),
                   dropped = counts(run["staleness"]["dropped"]);
      CHECK(applied.rbegin()->first <= limit);
      std::int64_t all_applied = 0, all_dropped = 0;
      for (const auto& [staleness, pushes] : applied) all_applied += pushes;
      for (const auto& [staleness, pushes] : dropped) {
        CHECK(staleness > limit);
        all_dropped += pushes;
      }
      CHECK(all_applied == run["pushes"]["applied"]);
      CHECK(all_dropped == run["pushes"]["dropped"].get<std::int64_t>() -
                               run["pushes"]["unused_at_end"].get<std::int64_t>());
      // The limit holds nobody up. What is dropped may end a group of k, whose workers begin at other times.
      CHECK(run["steps"].get<double>() == Approx(free["steps"].get<double>()).epsilon(0.01));
    }
  }
}

TEST_CASE("asp: the histogram's mean is P - 1, and its sum the pushes", "[oracle][closing]") {
  // In steady state each push is P - 1 updates old where all workers are alike and take turns.
  const Json run = toml({.consistency = "model = \"asp\"", .workers = 7, .duration = 3000}).run();
  double sum = 0, pushes = 0;
  for (const auto& [staleness, number] : counts(run["staleness"]["histogram"])) {
    sum += double(staleness) * double(number);
    pushes += double(number);
  }
  CHECK(pushes == run["pushes"]["applied"].get<double>());
  CHECK(sum / pushes == Approx(6).epsilon(0.002));
  CHECK(run["staleness"]["mean"].get<double>() == Approx(sum / pushes));
  Counts of_workers;
  for (const Json& worker : run["workers"]) {
    for (const auto& [staleness, number] : counts(worker["staleness"]["histogram"]))
      of_workers[staleness] += number;
  }
  CHECK(of_workers == counts(run["staleness"]["histogram"]));
}

TEST_CASE("a clock of a given time has as many local steps as fit, and nobody waits", "[oracle][rhythm]") {
  struct Case {
    const char* time;
    int fast, slow;  // local steps of a clock
    double clock;    // seconds
  };
  for (const auto& [time, fast, slow, clock] :
       {Case{"8s", 8, 2, 8}, {"500ms", 1, 1, 4}, {"5s", 5, 1, 5}, {"7.9s", 7, 1, 7}, {"4s", 4, 1, 4}}) {
    INFO(time);
    const Json run = toml(four("model = \"bsp\"", 40 * clock + 0.5)).set("training.local_time", time).run();
    CHECK(run["updates"] == 40);
    CHECK(run["workers"][0]["samples"] == 40 * fast);
    CHECK(run["workers"][3]["samples"] == 40 * slow);
    const double busy = (3 * fast + 4 * slow) / (4 * clock);
    CHECK(run["time"]["wait_share"].get<double>() == Approx(1 - busy).margin(0.01));
  }
}

TEST_CASE("a clock of a given time follows the speed of its step", "[oracle][rhythm]") {
  // Steps of 0.5 s or 1 s by turns: 6 or 3 of them in 3 s.
  const Json run = phantom(100)
                       .set({"seed=1", "training.batch_size=2", "training.steps=10", "training.local_time=3s",
                             "consistency.model=bsp", "compute.time=1s", "cluster.workers=2",
                             "cluster.network.latency=0s", "cluster.network.bandwidth=1000Tbps"})
                       .straggler(0, 2, {"from=15.5s"})
                       .run();
  // Worker 0 begins its clocks at 0, 3, ..., 15: six of three steps; and then, twice as slow, four of one.
  CHECK(run["workers"][0]["samples"] == 2 * (6 * 3 + 4 * 1));
  CHECK(run["workers"][1]["samples"] == 2 * 10 * 3);
}
