#include "analysis/whatif/speed.hpp"

#include <fstream>
#include <string>
#include <vector>

#include "analysis/whatif/change.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::analysis;

namespace {

// Of two workers the second is four times slower for a quarter of every second, from .5 s to .75 s at first.
Facts facts() {
  Facts facts;
  facts.servers = 1;
  facts.workers = 2;
  facts.stragglers = {
      {.workers = {1}, .slowdown = 4, .from = 0.5, .until = 0.75, .every = 1.0, .probability = {}}};
  return facts;
}

}  // namespace

TEST_CASE("a slow time that comes again begins at its own date, not with the run", "[what-if]") {
  const Facts known = facts();
  const Speed speed(known);
  for (const double turn : {0.0, 1.0, 7.0}) {
    INFO("turn " << turn);
    CHECK(speed.work(1, turn, turn + 0.5) == Approx(0.5));
    CHECK(speed.work(1, turn + 0.5, turn + 0.75) == Approx(0.0625));
    CHECK(speed.work(1, turn + 0.75, turn + 1) == Approx(0.25));
    CHECK(speed.work(1, turn + 0.6, turn + 1.6) == Approx(0.8125));
    CHECK(speed.end(1, turn + 0.4, 0.1 + 0.0625 + 0.1) == Approx(turn + 0.85));
  }
  CHECK(speed.end(1, 0.75, 0.25) == 1.0);  // the date at which a slow time ends is none of it
  CHECK(speed.work(0, 0, 10) == 10);
  CHECK(Speed(known, {false, true}).work(1, 0, 10) == 10);
}

TEST_CASE("what changes computing changes the time and its shift alike", "[what-if]") {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << "[compute]\ntime = \"8s\"\nshift = \"2s\"\n";
  const auto sets =
      sets_of({.what = Change::What::compute, .nodes = {}, .factor = 0.5, .text = {}, .sets = {}},
              folder.path(), facts());
  CHECK(sets == std::vector<std::string>{"compute.time=4s", "compute.shift=1s"});
}

TEST_CASE("slow times that meet multiply", "[what-if]") {
  Facts known = facts();
  known.stragglers.push_back(
      {.workers = {0, 1}, .slowdown = 2, .from = 0.25, .until = 0.625, .every = {}, .probability = {}});
  const Speed speed(known);
  // Halves of the time of both: at full speed, at half of it, at an eighth, and at a quarter.
  CHECK(speed.work(1, 0, 0.25) == Approx(0.25));
  CHECK(speed.work(1, 0.25, 0.5) == Approx(0.125));
  CHECK(speed.work(1, 0.5, 0.625) == Approx(0.125 / 8));
  CHECK(speed.work(1, 0.625, 0.75) == Approx(0.125 / 4));
  CHECK(speed.work(0, 0, 1) == Approx(1 - 0.375 / 2));
}

TEST_CASE("a change of computing or of the network is one of every field that says how fast they are",
          "[what-if]") {
  const auto sets = [](Change::What what, const std::string& scenario) {
    const psim::test::TemporaryFolder folder;
    std::ofstream(folder.path() / "scenario.toml") << scenario;
    return sets_of({.what = what, .nodes = {}, .factor = 0.5, .text = {}, .sets = {}}, folder.path(),
                   facts());
  };
  using Texts = std::vector<std::string>;
  CHECK(sets(Change::What::compute,
             "[cluster.worker]\nspeed = [\"2f\", \"4f\"]\n[cluster.worker.device]\n"
             "speeds = [\"1f\", \"3f\"]\n") ==
        Texts{"cluster.worker.speed=[\"4f\", \"8f\"]", "cluster.worker.device.speeds=[\"2f\", \"6f\"]"});
  const std::string graph =
      "[cluster.network]\nbandwidth = \"8Bps\"\nlatency = \"4s\"\n[[cluster.network.link]]\nbetween = "
      "[\"a\", \"b\"]\n[[cluster.network.link]]\nbetween = [\"b\", \"c\"]\nbandwidth = "
      "\"6Bps\"\nlatency = \"2s\"\n";
  CHECK(sets(Change::What::bandwidth, graph) ==
        Texts{"cluster.network.bandwidth=4Bps", "cluster.network.link.1.bandwidth=3Bps"});
  CHECK(sets(Change::What::latency, graph) ==
        Texts{"cluster.network.latency=2s", "cluster.network.link.1.latency=1s"});
}
