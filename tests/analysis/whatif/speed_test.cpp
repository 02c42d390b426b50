#include "analysis/whatif/speed.hpp"

#include <fstream>

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
