// Rare states: each has its own name, a run lists those that it has reached, and the fuzzer those that it has
// not.
#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "sim/protocol/probe.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("each rare state has a name of its own, and the place of its code", "[fuzz]") {
  std::set<std::string_view> states;
  for (const Probe* probe : all_probes()) {
    INFO(probe->state);
    CHECK(states.insert(probe->state).second);
    CHECK(probe->file.starts_with("sim/"));
    CHECK(probe->line > 0);
  }
  CHECK(!states.empty());
}

TEST_CASE("an expectation that does not hold is an error with its place and the seed", "[fuzz]") {
  seed_of_this_run = 7;
  CHECK_NOTHROW(expects(true, "nothing"));
  const std::string here = "sim/fuzz/probes_test.cpp:" + std::to_string(__LINE__ + 2);
  try {
    expects(false, "pushes have numbers");
    FAIL("no error");
  } catch (const BrokenExpectation& broken) {
    CHECK(std::string(broken.what()) ==
          here + ": pushes have numbers: this does not hold in a run of seed 7");
  }
}

TEST_CASE("psim fuzz lists the rare states that no run has reached", "[fuzz]") {
  const TemporaryFolder folder;
  const std::string text = psim::test::psim({"fuzz", "--seed", "1", "--runs", "2"}, folder.path()).out;
  INFO(text);
  std::smatch found;
  REQUIRE(std::regex_search(text, found, std::regex("rare states: (\\d+) of (\\d+) reached, but not\n")));
  const int reached = std::stoi(found[1]), all = std::stoi(found[2]);
  CHECK(all >= 150);
  CHECK(reached > 0);
  const std::string never = found.suffix();
  CHECK(std::ranges::count(never, '\n') == all - reached);
  CHECK(never.starts_with("  sim/"));
}

TEST_CASE("a run lists the rare states that it has reached", "[fuzz]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml")
      << "model = { kind = \"phantom\", parameters = 10 }\ncompute.time = \"10ms\"\ntraining.steps = 20\n"
         "consistency.model = \"asp\"\ncluster = { workers = 2, servers = 1 }\n"
         "recovery = { heartbeat = \"20ms\", timeout = \"70ms\", retry = \"50ms\", patience = \"5s\" }\n"
         "fault = [{ kind = \"duplicate\", messages = [\"push\"] }]\n";
  const auto states = [&](const std::vector<std::string>& environment) {
    const Outcome run = psim::test::psim({"run", "scenario.toml", "--json"}, folder.path(), environment);
    return Json::parse(run.out).value("reached_states", std::set<std::string>());
  };
  CHECK(states({"PSIM_PROBES=1"}).contains("a push comes again"));
  CHECK(states({}).empty());
}
