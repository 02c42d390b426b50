// What would have been: the run made again with a change, from the same random streams.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "tests/oracles/what_if_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;
using namespace std::string_literals;

TEST_CASE("what-if: a server that never crashed") {
  const std::string more =
      ScenarioBuilder({"recovery.retry=20ms", "recovery.heartbeat=20ms", "recovery.timeout=100ms"})
          .fault("crash", "server 1", {"at=0.5s", "restart_after=0.2s"})
          .toml();
  const Recorded run(Plan{.steps = 120, .more = more, .mega_values = 0.1});
  const Json answer = run.what_if({"no-crash=server 1", "no-faults"});
  for (const Json& change : answer["changes"]) {
    INFO(change.dump());
    CHECK(change["same_steps_s"] < answer["original"]["seconds"]);
  }
  const Outcome none = run.answer({"no-crash=server 0"});  // it does not crash
  CHECK(none.code == 2);
  CHECK(none.err.find("no [[fault]] crashes server 0") != std::string::npos);
  CHECK(run.answer({"no-crash=server 7"}).code == 2);
}

TEST_CASE("what-if: no-faults is what a stuck run needs") {
  const Recorded run(Plan{.more = "[recovery]\nservers = \"wait\"\n[[fault]]\nkind = \"crash\"\nnodes = "
                                  "[\"server 1\"]\nat = \"50ms\"\n",
                          .mega_values = 0.1});
  const Json answer = run.what_if({});
  CHECK(answer["original"]["stuck"] == true);
  REQUIRE(answer["changes"].size() >= 4);
  for (const Json& change : answer["changes"]) {
    INFO(change.dump());
    const std::string what = change["change"];  // the run ends before a later crash
    CHECK(change["stuck"] == (what != "no-faults" && !what.starts_with("later-crash")));
    CHECK(change["speedup"].is_null());
    CHECK(change["same_steps_s"].is_null());
  }
  const Outcome text = run.answer({});
  CHECK(text.out.find("This run got stuck at ") == 0);
  CHECK(text.out.find("With no-faults it ends after ") != std::string::npos);
}

TEST_CASE("what-if: several --set are one change") {
  const Recorded run(Plan{.mega_values = 0.1});
  const Json answer = run.what_if({"--set", "training.steps=10", "--set", "compute.time=20ms"});
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["change"] == "training.steps=10 compute.time=20ms");
  CHECK(answer["changes"][0]["sets"].size() == 2);
  const Outcome twice = run.answer({"--set", "training.steps=10", "--set", "training.steps=20"});
  CHECK(twice.code == 2);
  CHECK(twice.err.find("has a value already") != std::string::npos);
}

TEST_CASE("what-if: what saves less than 1 % is not said to help") {
  const Recorded run(Plan{.mega_values = 0.001});
  CHECK(run.answer({"bandwidth=2x"}).out.find("None of these changes makes the run at least 1 % faster") ==
        0);
  CHECK(run.answer({"no-straggler"}).out.find("no-straggler helps most: the same steps take ") == 0);
}

TEST_CASE("what-if: a run whose input has changed is not made again") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& factors) {
    std::ofstream(folder.path() / "times.txt") << factors << "\n";
  };
  write("1.5");
  std::ofstream(folder.path() / "plan.toml")
      << toml(
             {.more = "", .mega_values = 0.001, .compute = "distribution = \"trace\"\ntrace = \"times.txt\""})
             .toml();
  const Outcome made =
      psim::test::psim({"run", "plan.toml", "--trace", "events", "--out", "run"}, folder.path());
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(psim::test::psim({"what-if", "run", "bandwidth=2x"}, folder.path()).code == 0);
  write("2.5");
  const Outcome again = psim::test::psim({"what-if", "run", "bandwidth=2x"}, folder.path());
  CHECK(again.code == 2);
  CHECK(again.err.find("psim cannot repeat ") != std::string::npos);
}

TEST_CASE("what-if: the same steps of a re-run that ends at a date") {
  // 1.5 s of work; then less of it, and more.
  const Plan plan{.consistency = "model = \"asp\"", .steps = 10000, .mega_values = 0.001};
  const Recorded run(plan, {"training.duration=1.5s"});
  const Json answer = run.what_if({"no-straggler", "compute=2x"});
  const Json &more = answer["changes"][0], &less = answer["changes"][1];
  for (const Json& change : {more, less}) {
    INFO(change.dump());
    CHECK(change["rerun_s"].get<double>() == Approx(1.5));
  }
  CHECK(more["same_steps_measured"] == true);
  CHECK(more["same_steps_s"].get<double>() < 1.3);  // 3.25 workers' work by 4
  CHECK(less["same_steps_measured"] == false);
  CHECK(less["same_steps_s"].get<double>() > 2.9);
}

TEST_CASE("what-if: without a change it tries what makes sense, and says what helps most first") {
  const Recorded run(Plan{.mega_values = 0.001});
  const Json answer = run.what_if({});
  REQUIRE(answer["changes"].size() >= 4);
  // Steps of 40 ms become steps of 10 ms.
  CHECK(answer["changes"][0]["change"] == "no-straggler");
  CHECK(answer["changes"][0]["speedup"].get<double>() == Approx(4).epsilon(0.05));
  double before = 0;
  for (const Json& change : answer["changes"]) {
    CHECK(change["same_steps_s"].get<double>() >= before);
    before = change["same_steps_s"];
  }
  // One job at a time, or all at once: the same answers.
  CHECK(run.what_if({"--jobs", "1"}) == answer);
  CHECK(run.what_if({"--jobs", "7"}) == answer);
}

TEST_CASE("what-if: speeds of a platform file can be made less, and not more") {
  const TemporaryFolder folder;
  const auto ask = [&](const std::string& change) {
    return Json::parse(
        psim::test::psim({"what-if", "run", change, "--json"}, folder.path()).out)["changes"][0];
  };
  REQUIRE(psim::test::psim(
              {"run", "simgrid_platform", "--set", "training.epochs=1", "--trace", "events", "--out", "run"},
              folder.path())
              .code <= 1);
  const Json twice = ask("compute=2x");
  INFO(twice.dump());
  CHECK(psim::test::psim({"what-if", "run", "compute=0.5x"}, folder.path()).code == 2);
  CHECK(twice["speedup"].get<double>() < 0.99);
}

TEST_CASE("what-if: nonsense is refused, with what there is to ask", "[slow]") {
  const Recorded run(Plan{});
  const std::vector<std::pair<std::string, std::string>> cases{
      {"faster", "is no change"},
      {"no-straggler=worker 9", "there is no worker 9"},
      {"no-straggler=worker 1", "worker 1 is no straggler"},
      {"no-faults", "this run has no [[fault]]"},
      {"bandwidth=fast", "is no factor"},
      {"bandwidth=0", "is no factor"},
      {"compute=server 0:50%", "servers compute no steps"},
      {"compute=worker x:50%", "is no node"},
      {"compute=worker -1:50%", "is no node"},
      {"compute=worker 1:-5%", "is no factor"},
      {"compute=", "is no change"},
  };
  for (const auto& [change, why] : cases) {
    const Outcome asked = run.answer({change});
    INFO(change << ": " << asked.err);
    CHECK(asked.code == 2);
    CHECK(asked.err.find(why) != std::string::npos);
  }
  CHECK(run.answer({"--set", "training.steps"}).code == 2);
  CHECK(run.answer({"--set", "training.steps=no"}).code == 2);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "plan.toml") << toml(Plan{}).toml();
  REQUIRE(psim::test::psim({"run", "plan.toml", "--out", "run", "--trace", "steps"}, folder.path()).code ==
          0);
  const Outcome asked = psim::test::psim({"what-if", "run"}, folder.path());
  CHECK(asked.code == 2);
  CHECK(asked.err.find("--trace events") != std::string::npos);
}
