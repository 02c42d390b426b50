// Slow workers and spare ones, whatever else is so, by hand: a clock takes 1 s, of worker 1 some times as
// long.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Setup {
  std::string training = {};  // fields of [training]
  int workers = 4, spares = 0, slowdown = 3;
  std::string action = "flag";
};

Json run(const Setup& s) {
  return phantom(1000)
      .set({"training.steps=20", "compute.time=1s", "recovery.slow.factor=2", "recovery.slow.window=5"})
      .links("1000000GBps", "1us")
      .with("training", s.training)
      .set("cluster.workers", s.workers)
      .set("cluster.spares", s.spares)
      .set("recovery.slow.action", s.action)
      .straggler(1, s.slowdown)
      .run();
}

double seconds(const Json& run) { return run["sim_time_s"].get<double>(); }

double found_at(const Json& run) {
  REQUIRE(run["slow_workers"].size() == 1);
  CHECK(run["slow_workers"][0]["worker"] == 1);
  return run["slow_workers"][0]["at_s"].get<double>();
}

}  // namespace

TEST_CASE("a slow worker is found after as many clocks, however work is shared", "[oracle][nodes]") {
  CHECK(found_at(run({})) == Approx(15).margin(0.01));
  CHECK(found_at(run({.training = "work = \"dynamic\"\nwork_every = 10"})) == Approx(15).margin(0.01));
  // The others take over what worker 1 has not done, so its clocks are shorter, but not its samples' times.
  const Json stealing = run({.training = "work = \"stealing\"", .slowdown = 6});
  CHECK(found_at(stealing) < 15);
  CHECK(stealing["slow_workers"][0]["seconds_per_sample"].get<double>() == Approx(6.0 / 32).epsilon(0.01));
  CHECK(stealing["slow_workers"][0]["median"].get<double>() == Approx(1.0 / 32).epsilon(0.01));
}

TEST_CASE("a spare worker that nobody needs computes nothing, and leaves nobody more to compute",
          "[oracle][nodes]") {
  for (const std::string work : {"static", "dynamic", "proportional", "stealing"}) {
    INFO(work);
    const std::string training =
        fmt::format("work = \"{}\"\n{}", work, work == "dynamic" ? "work_every = 3" : "");
    const Json told =
        run({.training = training, .workers = 5, .spares = 1, .slowdown = 1, .action = "replace"});
    CHECK(seconds(told) == Approx(20).margin(0.01));
    for (const int worker : {0, 1, 2, 3}) CHECK(told["workers"][worker]["samples"] == 640);
    CHECK(told["workers"][4]["samples"] == 0);
  }
}

// Clock 0 has ten steps, of worker 1 it takes 30 s; it is found after clock 4, at 42 s, and leaves after
// clock 5, at 45 s; 14 clocks of a second are left, for which the spare one is there.
TEST_CASE("a spare worker does not warm up: the others have", "[oracle][nodes]") {
  for (const std::string warmup : {"after-pull", "before-servers"}) {
    INFO(warmup);
    const Json told = run({.training = fmt::format("warmup_steps = 10\nwarmup = \"{}\"", warmup),
                           .workers = 5,
                           .spares = 1,
                           .action = "replace"});
    CHECK(found_at(told) == Approx(42).margin(0.01));
    CHECK(seconds(told) == Approx(59).margin(0.01));
    CHECK(told["workers"][4]["samples"].get<int>() == told["workers"][4]["clocks"].get<int>() * 32);
  }
}
