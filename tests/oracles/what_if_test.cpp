// What would have been: predicted from a run's causal graph, against the same run made again with the change.
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

TEST_CASE("what-if: where nothing reorders, bsp is predicted to the last digit", "[slow]") {
  const Recorded run(Plan{});
  const Json answer =
      run.what_if({"no-straggler", "bandwidth=2x", "bandwidth=0.5x", "latency=10x", "compute=0.5x",
                   "compute=worker 2:0,25,50,75,100,200%", "compute=worker 0:50,800%"});
  check_exact(answer);
  REQUIRE(answer["changes"].size() == 13);
  // The others' 60 MB for each server begin at 10 ms; by 40 ms 30 are there. Then all four share, until 80
  // ms. The straggler's last 10 MB for each of two servers have its own link to themselves: 20 ms. So its
  // push ends at 100 ms, and without it all do at 90.
  const double saved =
      answer["original"]["seconds"].get<double>() - answer["changes"][0]["rerun_s"].get<double>();
  CHECK(saved == Approx(20 * 0.01));
}

TEST_CASE("what-if: ssp, a ring and a pipeline are predicted to the last digit", "[slow]") {
  const std::vector<Plan> plans{
      {.consistency = "model = \"ssp\"\nstaleness = 2", .mega_values = 0.001},
      {.kind = "all-reduce"},
      {.more = "", .kind = "model-parallel"},
  };
  for (const Plan& plan : plans) {
    INFO(plan.consistency << plan.kind);
    const Recorded run(plan);
    std::vector<std::string> changes{"bandwidth=0.5x", "latency=2x", "compute=0.5x", "compute=worker 1:300%"};
    if (!plan.more.empty()) changes.emplace_back("no-straggler");
    check_exact(run.what_if(changes));
  }
}

TEST_CASE("what-if: servers that work on one push after the other, whoever is last", "[slow]") {
  // 0.1 and 2 ms of work a push, beside steps of 10 ms and a straggler of 40.
  for (const std::string flops : {"0.1", "2.0"}) {
    INFO(flops);
    const Recorded run(Plan{.mega_values = 0.002},
                       {"cluster.server={speed=\"1Mf\",flops_per_value=" + flops + "}"});
    check_exact(run.what_if({"no-straggler", "compute=worker 2:50%", "compute=worker 0:200%"}));
  }
}

TEST_CASE("what-if: rounds of an all-reduce come in their order, whoever is early", "[slow]") {
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Recorded run(
        Plan{.kind = "all-reduce", .mega_values = 1, .compute = "distribution = \"gamma\"\ncv = 0.3"},
        {"architecture.algorithm=" + algorithm});
    check_exact(run.what_if(
        {"no-straggler", "bandwidth=2x", "latency=10x", "compute=0.5x", "compute=worker 0:300%"}));
  }
}

TEST_CASE("what-if: without a straggler for a while, and with one whose time comes again", "[slow]") {
  for (const std::string window :
       {"from = \"0.1s\"\nuntil = \"0.35s\"", "until = \"30ms\"\nevery = \"110ms\""}) {
    INFO(window);
    const Recorded run(Plan{.more = "[[straggler]]\nworkers = [2]\nslowdown = 4.0\n" + window +
                                    "\n[[straggler]]\nworkers = [1]\nslowdown = 2.0\nfrom = \"0.2s\"\n"});
    check_exact(run.what_if(
        {"no-straggler", "no-straggler=worker 2", "no-straggler=worker 1", "compute=0.5x", "bandwidth=2x"}));
  }
}

TEST_CASE("what-if: a server that never crashed") {
  const std::string more =
      ScenarioBuilder({"recovery.retry=20ms", "recovery.heartbeat=20ms", "recovery.timeout=100ms"})
          .fault("crash", "server 1", {"at=0.5s", "restart_after=0.2s"})
          .toml();
  const Recorded run(Plan{.steps = 120, .more = more, .mega_values = 0.1});
  const Json answer = run.what_if({"no-crash=server 1", "no-faults"});
  for (const Json& change : answer["changes"]) {
    INFO(change.dump());
    CHECK(change["rerun_s"] < answer["original"]["seconds"]);
    // The pace until the crash, which heartbeats disturb a little.
    CHECK(std::abs(change["error"].get<double>()) < 0.005);
  }
  const Outcome none = run.answer({"no-crash=server 0"});  // it does not crash
  CHECK(none.code == 2);
  CHECK(none.err.find("no [[fault]] crashes server 0") != std::string::npos);
  CHECK(run.answer({"no-crash=server 7"}).code == 2);
}

TEST_CASE("what-if: what ends of links need, and what a fault delays, is not faster with the bandwidth",
          "[slow]") {
  const std::vector<Plan> plans{
      {.more = "[cluster.network.endpoint]\nsend_overhead = \"3ms\"\nreceive_overhead = \"1ms\"\n"
               "receive_bandwidth = \"4GBps\"\n",
       .kind = "model-parallel"},  // no message waits for another one at its ends
      {.more = "[[fault]]\nkind = \"delay\"\nnodes = [\"worker 2\"]\nfrom = \"0s\"\ndelay = \"9ms\"\n"
               // A longer run has more heartbeats, which the graph does not know.
               "[recovery]\nheartbeat = \"1h\"\ntimeout = \"4h\"\n",
       .mega_values = 1}};
  for (const Plan& plan : plans) {
    INFO(plan.more);
    check_exact(Recorded(plan).what_if({"bandwidth=2x", "bandwidth=0.5x", "latency=10x"}));
  }
}

TEST_CASE("what-if: beside other faults nothing is predicted of a node that never crashed") {
  const std::string more = ScenarioBuilder({"recovery.retry=20ms"})
                               .fault("crash", "server 1", {"at=0.1s", "restart_after=0.05s"})
                               .fault("crash", "worker 0", {"at=0.3s", "restart_after=0.05s"})
                               .toml();
  const Recorded run(Plan{.steps = 60, .more = more, .mega_values = 0.1});
  const Json answer = run.what_if({"no-crash=server 1", "no-faults"});
  CHECK(answer["changes"][0]["predicted_s"].is_null());
  CHECK(answer["changes"][0]["rerun_s"].is_number());
  CHECK(answer["changes"][1]["predicted_s"].is_number());
}

TEST_CASE("what-if: of a stuck run nothing is predicted, and no-faults is what it needs") {
  const Recorded run(Plan{.more = "[recovery]\nservers = \"wait\"\n[[fault]]\nkind = \"crash\"\nnodes = "
                                  "[\"server 1\"]\nat = \"50ms\"\n",
                          .mega_values = 0.1});
  const Json answer = run.what_if({});
  CHECK(answer["original"]["stuck"] == true);
  REQUIRE(answer["changes"].size() >= 4);
  CHECK(answer["changes"][0]["change"] == "no-faults");
  CHECK(answer["changes"][0]["stuck"] == false);
  CHECK(answer["changes"][0]["rerun_s"].is_number());
  for (const Json& change : answer["changes"]) {
    CHECK(change["predicted_s"].is_null());
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
  CHECK(psim::test::psim({"what-if", "run", "bandwidth=2x", "--predict-only"}, folder.path()).code == 0);
}

TEST_CASE("what-if: under asp the prediction is of as many steps, and the re-run tells the rest") {
  const Recorded run(Plan{.consistency = "model = \"asp\"", .mega_values = 0.001});
  const Json answer = run.what_if({"no-straggler", "compute=worker 2:50%"});
  for (const Json& change : answer["changes"]) CHECK(std::abs(change["error"].get<double>()) < 0.01);
}

TEST_CASE("what-if: rounding errors do not grow where a lead does") {
  // Two jobs share links, and one of them is asynchronous. A difference of two dates grows to e times itself
  // in about 30 ms: from the last digit to 6 % of the run's three seconds.
  const TemporaryFolder folder;
  const Outcome run = psim::test::psim({"run", (source_folder() / "scenarios/two_jobs.toml").string(),
                                        "--trace", "events", "--out", (folder.path() / "run").string()});
  REQUIRE(run.code == 0);
  const Outcome answer =
      psim::test::psim({"what-if", (folder.path() / "run").string(), "bandwidth=1x", "--json"});
  REQUIRE(answer.code == 0);
  check_exact(Json::parse(answer.out));
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
    CHECK(change["same_steps_s"].get<double>() == Approx(change["predicted_s"].get<double>()).epsilon(0.02));
  }
  CHECK(more["same_steps_measured"] == true);
  CHECK(more["same_steps_s"].get<double>() < 1.3);  // 3.25 workers' work by 4
  CHECK(less["same_steps_measured"] == false);
  CHECK(less["same_steps_s"].get<double>() > 2.9);
}

TEST_CASE("what-if: little blame is left out, and what is left is said") {
  const Recorded run(Plan{.mega_values = 0.001});
  const Outcome asked = run.answer({"no-straggler", "--predict-only"});
  INFO(asked.out);
  CHECK(asked.code == 0);
  CHECK(
      asked.out.find("worker 2                  100.0 %              100.0 %\n3 more workers with less\n") !=
      std::string::npos);
  CHECK(asked.out.find("-0.0 %") == std::string::npos);
}

TEST_CASE("what-if: the slowdown is the straggler's") {
  const Recorded run(Plan{.mega_values = 0.001});
  const Json answer = run.what_if({"no-straggler", "--predict-only"});
  CHECK(answer["changes"][0]["rerun_s"].is_null());
  CHECK(answer["ideal_s"].get<double>() == Approx(answer["changes"][0]["predicted_s"].get<double>()));
  CHECK(answer["slowdown"].get<double>() ==
        Approx(answer["original"]["seconds"].get<double>() / answer["ideal_s"].get<double>()));
  REQUIRE(answer["attribution"].size() == 4);
  CHECK(answer["attribution"][0]["worker"] == 2);
  CHECK(answer["attribution"][0]["removed"].get<double>() == Approx(1));
  CHECK(answer["attribution"][0]["added"].get<double>() == Approx(1));
  CHECK(std::abs(answer["attribution"][1]["removed"].get<double>()) < 1e-9);
}

TEST_CASE("what-if: without a change it asks what would help most, and runs that again") {
  const Recorded run(Plan{.mega_values = 0.001});
  const Json answer = run.what_if({});
  REQUIRE(answer["changes"].size() >= 4);
  CHECK(answer["changes"][0]["change"] == "no-straggler");
  CHECK(answer["changes"][0]["error"].is_number());
  double before = 0;
  for (const Json& change : answer["changes"]) {
    CHECK(change["predicted_s"].get<double>() >= before);
    before = change["predicted_s"];
    if (change != answer["changes"][0]) CHECK(change["rerun_s"].is_null());
  }
  const Json set = run.what_if({"--set", "training.steps=10"});
  CHECK(set["changes"][0]["predicted_s"].is_null());
  CHECK(set["changes"][0]["rerun_s"] < set["original"]["seconds"]);
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
  const Json twice = ask("compute=2x"), half = ask("compute=0.5x");
  INFO(twice.dump() << half.dump());
  CHECK(twice["rerun_s"].get<double>() > twice["predicted_s"].get<double>() * 0.999);
  CHECK(std::abs(twice["error"].get<double>()) < 1e-3);
  CHECK(twice["speedup"].get<double>() < 0.99);
  CHECK(half["predicted_s"].is_number());
  CHECK(half["rerun_s"].is_null());
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
