// Several groups of workers on one cluster: jobs that share machines and nothing else, and groups that share
// a namespace. What a shared server and its links cost is theory.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Digits on four workers, two for each of two groups.
ScenarioBuilder learners(const std::string& network, const std::string& groups, int workers = 4,
                         const std::string& consistency = "model = \"bsp\"",
                         const std::string& training = "steps = 30") {
  return ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=16", "training.learning_rate=0.2",
                          "training.evaluate_every=5 updates", "cluster.servers=2",
                          "cluster.worker.speed=100Mf", "compute.distribution=lognormal", "compute.cv=0.3"})
      .with("training", training)
      .with("consistency", consistency)
      .set("cluster.workers", workers)
      .with("cluster.network", network)
      .with(groups);
}

const std::string ideal =
    "latency = \"0s\"\nbandwidth = \"1000Tbps\"\nshare_spread = 0.0\nsimgrid_model = \"cm02\"";
const std::string narrow = "bandwidth = \"5Mbps\"";
const std::string second_settings = R"("seed = 5", "model.layers = [64, 24, 10]",
       "training.optimizer = adam", "training.learning_rate = 0.01", "training.steps = 40")";
const std::string two_jobs =
    fmt::format("[[group]]\nname = \"one\"\n[[group]]\nname = \"two\"\nset = [{}]\n", second_settings);

struct Jobs {
  Json together;  // groups[]
  Json alone[2];  // summaries
};

// The run, and each of its namespaces again, by the scenario that the run has written down for it.
Jobs run_both(const ScenarioBuilder& scenario) {
  const KeptRun run(scenario);
  REQUIRE(exit_code(run.summary()) == 0);
  Jobs jobs{.together = run.summary()["groups"], .alone = {}};
  for (int n = 0; n < 2; ++n)
    jobs.alone[n] = ScenarioBuilder::from(content(run.path() / fmt::format("namespace-{}.toml", n))).run();
  return jobs;
}

void check_equal_learning(const Jobs& jobs) {
  for (int n = 0; n < 2; ++n) {
    const Json &here = jobs.together[n], &alone = jobs.alone[n];
    INFO(here["name"]);
    CHECK(here["model"]["weights"] == alone["model"]["weights"]);
    CHECK(here["final"] == alone["final"]);
    CHECK(here["updates"] == alone["updates"]);
    REQUIRE(here["curve"].size() == alone["curve"].size());
    for (std::size_t i = 0; i < here["curve"].size(); ++i)
      CHECK(here["curve"][i]["loss"] == alone["curve"][i]["loss"]);
  }
  CHECK(jobs.together[0]["model"]["weights"] != jobs.together[1]["model"]["weights"]);
}

// Phantom workers whose clock's computation takes 100 ms, under bsp with one server.
Json phantoms(const std::string& groups, const std::string& network, const std::string& server,
              int workers = 4) {
  return phantom(1'000'000)
      .set({"training.steps=20", "consistency.model=bsp", "cluster.servers=1", "cluster.network.latency=0s",
            "cluster.network.share_spread=0.0", "cluster.network.simgrid_model=cm02", "compute.time=100ms"})
      .set("cluster.workers", workers)
      .with("cluster.server", server)
      .with("cluster.network", network)
      .with(groups)
      .run();
}

const std::string two = "[[group]]\nname = \"one\"\n[[group]]\nname = \"two\"\n";

}  // namespace

TEST_CASE("jobs that are not in each other's way learn and take what they would alone", "[groups]") {
  const Jobs jobs = run_both(learners(ideal, two_jobs));
  check_equal_learning(jobs);
  for (int n = 0; n < 2; ++n)
    CHECK(jobs.together[n]["finished_s"].get<double>() ==
          Approx(jobs.alone[n]["sim_time_s"].get<double>()).epsilon(1e-6));
}

TEST_CASE("jobs that share servers learn the same as alone, but later", "[groups]") {
  const Jobs jobs = run_both(learners(narrow, two_jobs));
  check_equal_learning(jobs);
  for (int n = 0; n < 2; ++n)
    CHECK(jobs.together[n]["finished_s"].get<double>() > 1.1 * jobs.alone[n]["sim_time_s"].get<double>());
}

// Under bsp all W workers of a job move M bytes each way over the server's link: a step takes X + 2 W M / B.
// Two equal jobs in lock-step move twice as much in the same time.
TEST_CASE("two jobs share a server's link", "[groups]") {
  const std::string network = "bandwidth = \"6.4Gbps\"";  // 4 MB: 5 ms
  const double alone = phantoms("", network, "", 2)["sim_time_s"];
  CHECK(alone == Approx(20 * (0.1 + 2 * 2 * 0.005)).epsilon(1e-3));
  const Json groups = phantoms(two, network, "")["groups"];
  CHECK(groups[0]["finished_s"].get<double>() == Approx(20 * (0.1 + 2 * 4 * 0.005)).epsilon(1e-3));
  CHECK(groups[1]["finished_s"] == groups[0]["finished_s"]);
}

// A server that takes 10 ms for a push serves one job after the other in the first step. From then on the
// second is 20 ms behind, and in nobody's way.
TEST_CASE("two jobs share a server's time, and fall out of step", "[groups]") {
  const std::string network = "bandwidth = \"1000Tbps\"", server = "speed = \"1Gf\"\nflops_per_value = 10";
  const Json groups = phantoms(two, network, server)["groups"];
  CHECK(groups[0]["finished_s"].get<double>() == Approx(20 * 0.12).epsilon(1e-5));
  CHECK(groups[1]["finished_s"].get<double>() == Approx(20 * 0.12 + 0.02).epsilon(1e-5));
}

TEST_CASE("groups with equal settings in one namespace are one group", "[groups][slow]") {
  const std::string groups =
      "[[group]]\nname = \"one\"\nworkers = 3\n[[group]]\nname = \"two\"\nnamespace = \"shared\"\n";
  for (const char* model : {"model = \"bsp\"", "model = \"asp\"", "model = \"ssp\"\nstaleness = 2",
                            "model = \"k-sync\"\nk = 3"}) {
    INFO(model);
    const Json one = learners("", "", 4, model).run();
    const Json shared = learners("", groups, 4, model).run();
    CHECK(shared["digest"] == one["digest"]);
    CHECK(shared["final"] == one["final"]);
    CHECK(shared["groups"][0]["workers"] == 3);
    CHECK(shared["groups"][1]["final"] == one["final"]);
    CHECK(shared["groups"][0]["bytes_sent"].get<std::int64_t>() +
              shared["groups"][1]["bytes_sent"].get<std::int64_t>() <=
          one["bytes_sent"].get<std::int64_t>());
  }
}

// A clock's samples are the next of one sequence, in worker order, and its update is their mean: how they are
// dealt out does not matter under bsp.
TEST_CASE("groups of a namespace may have batches of different sizes", "[groups]") {
  const std::string groups =
      "[[group]]\nname = \"small\"\nset = [\"training.batch_size = 8\"]\n"
      "[[group]]\nname = \"large\"\nnamespace = \"shared\"\nset = [\"training.batch_size = 24\"]\n";
  const auto exact = [&](const std::string& with) {
    return learners(ideal, with).set({"model.precision=float64"}).run();
  };
  const Json equal = exact(""), unequal = exact(groups);
  CHECK(unequal["final"]["loss"].get<double>() ==
        Approx(equal["final"]["loss"].get<double>()).epsilon(1e-10));
  CHECK(unequal["workers"][0]["samples"] == 30 * 8);
  CHECK(unequal["workers"][3]["samples"] == 30 * 24);
  CHECK(unequal["workers"][3]["time"]["compute_share"] > unequal["workers"][0]["time"]["compute_share"]);
}

TEST_CASE("each job ends by itself", "[groups]") {
  const std::string groups =
      "[[group]]\nname = \"quick\"\nset = [\"training.target.accuracy = 0.5\"]\n"
      "[[group]]\nname = \"timed\"\nset = [\"training.duration = 150ms\", \"training.steps = 100000\"]\n";
  const KeptRun run(learners("", groups, 4, "model = \"asp\""));
  const Json& summary = run.summary();
  REQUIRE(exit_code(summary) == 0);
  const Json &quick = summary["groups"][0], &timed = summary["groups"][1];
  CHECK(quick["target"]["reached"] == true);
  CHECK(quick["finished_s"] == quick["target"]["sim_time_s"]);
  CHECK(quick["finished_s"] < 0.1);
  CHECK(quick["curve"].back()["loss"] == quick["final"]["loss"]);
  CHECK(timed["finished_s"] == 0.15);
  CHECK(summary["sim_time_s"] == 0.15);
  for (const Json& worker : summary["workers"]) {
    const double end = summary["groups"][worker["worker"].get<int>() / 2]["finished_s"];
    CHECK(worker["time"]["total_s"].get<double>() == Approx(end).epsilon(1e-9));
  }
  const Outcome replay = run.ask("replay");
  CHECK(replay.out.starts_with("same run"));
  const Outcome verdict = run.ask("verify");
  INFO(verdict.out);
  CHECK(verdict.code == 0);
  CHECK(verdict.out.find("1: exactly-once   holds") != std::string::npos);
}

TEST_CASE("verify tells whose promise is broken", "[groups]") {
  const KeptRun run(learners("", two_jobs));
  REQUIRE(exit_code(run.summary()) == 0);
  // Shards 0 and 1 are the first namespace's.
  change_run(run.path(), "UPDATE model_update SET version = version + 1 WHERE shard = 3 AND version = 7");
  const Outcome verdict = run.ask("verify");
  INFO(verdict.out);
  CHECK(verdict.code == 1);
  CHECK(verdict.out.find("1: versions       VIOLATED") != std::string::npos);
  CHECK(verdict.out.find("0: versions       holds") != std::string::npos);
}

TEST_CASE("a straggler holds up its own job only", "[groups]") {
  const std::string slow = "[[straggler]]\nworkers = [3]\nslowdown = 5\n";
  const Json calm = learners(ideal, two_jobs).run()["groups"],
             held = learners(ideal, two_jobs + slow).run()["groups"];
  CHECK(held[0]["finished_s"].get<double>() == Approx(calm[0]["finished_s"].get<double>()).epsilon(1e-6));
  CHECK(held[1]["finished_s"].get<double>() > 2 * calm[1]["finished_s"].get<double>());
  CHECK(held[1]["model"]["weights"] == calm[1]["model"]["weights"]);
}
