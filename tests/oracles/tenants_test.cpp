// Several groups of workers on servers that fail: each learns what it would learn alone, and who is in
// nobody's way suffers from nobody's failure.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Digits in double precision, two workers for each of two groups, on an ideal network.
ScenarioBuilder tenants(const std::string& faults, const std::string& recovery = "enabled = true\n",
                        const std::string& first = "",
                        const std::string& second = "\"seed = 5\", \"model.layers = [64, 24, 10]\"") {
  return ScenarioBuilder({"model.layers=[64, 16, 10]", "model.precision=float64", "training.batch_size=16",
                          "training.steps=60", "training.learning_rate=0.2",
                          "training.evaluate_every=5 updates", "consistency.model=bsp", "cluster.workers=4",
                          "cluster.servers=3", "cluster.worker.speed=20Mf", "compute.distribution=lognormal",
                          "compute.cv=0.3", "recovery.heartbeat=10ms", "recovery.timeout=50ms",
                          "recovery.retry=30ms"})
      .links("1000Tbps", "0s")
      .with("recovery", recovery)
      .add("group", {"name=one", fmt::format("set=[{}]", first)})
      .add("group", {"name=two", fmt::format("set=[{}]", second)})
      .with(faults);
}

const std::string copies = "[replication]\ncopies = 1\n";
std::string fault(const std::string& kind, const std::string& node,
                  const std::string& more = "at = \"120ms\"\n") {
  return fmt::format("[[fault]]\nkind = \"{}\"\nnodes = [\"{}\"]\n{}", kind, node, more);
}

void check_same_weights(const Json& a, const Json& b) {
  for (int n = 0; n < 2; ++n) {
    INFO("group " << n);
    CHECK(a["groups"][n]["model"]["weights"] == b["groups"][n]["model"]["weights"]);
    CHECK(a["groups"][n]["updates"] == b["groups"][n]["updates"]);
    CHECK(a["groups"][n]["final"] == b["groups"][n]["final"]);
  }
}

Json verified(const ScenarioBuilder& scenario) {
  const KeptRun run(scenario);
  REQUIRE(exit_code(run.summary()) == 0);
  const Outcome verdict = run.ask("verify");
  INFO(verdict.out);
  CHECK(verdict.code == 0);
  CHECK(verdict.out.find("1: exactly-once") != std::string::npos);
  return run.summary();
}

}  // namespace

// A replica has every bit of each job's shard, and each push counts once.
TEST_CASE("with a replica no tenant loses anything by a server's crash", "[groups][faults][slow]") {
  const Json calm = verified(tenants(copies));
  CHECK(calm["stuck"].empty());
  for (const std::string& one : {fault("crash", "server 2"), fault("crash", "server 0"),
                                 fault("crash", "server 1", "at = \"120ms\"\nrestart_after = \"20ms\"\n"),
                                 fault("leave", "server 1"), fault("join", "server 2")}) {
    INFO(one);
    const Json run = verified(tenants(copies + one));
    CHECK(run["failures"]["takeovers"].get<int>() >= 2);  // a shard of each
    check_same_weights(run, calm);
  }
}

// What the run has written down for each of them alone, with the same crash.
TEST_CASE("a tenant learns what it would alone, also after a crash", "[groups][faults][equivalence]") {
  const KeptRun run(tenants(copies + fault("crash", "server 2")));
  REQUIRE(exit_code(run.summary()) == 0);
  const Json& together = run.summary()["groups"];
  for (int n = 0; n < 2; ++n) {
    const std::string alone = content(run.path() / fmt::format("namespace-{}.toml", n));
    const Json summary = ScenarioBuilder::from(alone).run();
    CHECK(summary["failures"]["crashes"] == 1);
    CHECK(summary["model"]["weights"] == together[n]["model"]["weights"]);
    CHECK(summary["final"] == together[n]["final"]);
  }
}

// Its own workers wait for it, or go on without it; the neighbour does not know.
TEST_CASE("a tenant's worker that crashes is its own loss", "[groups][faults]") {
  const Json calm = tenants("").run();
  // Whoever is waited for costs the time that it is away, less what it had done of its step.
  for (const auto& [workers, least] : {std::pair("wait", 0.09), std::pair("remove", 0.0)}) {
    INFO(workers);
    const Json run =
        verified(tenants(fault("crash", "worker 3", "at = \"120ms\"\nrestart_after = \"100ms\"\n"),
                         fmt::format("workers = \"{}\"", workers)));
    CHECK(run["stuck"].empty());
    CHECK(run["groups"][0]["model"]["weights"] == calm["groups"][0]["model"]["weights"]);
    CHECK(run["groups"][0]["finished_s"].get<double>() ==
          Approx(calm["groups"][0]["finished_s"].get<double>()).epsilon(1e-9));
    CHECK(run["groups"][1]["finished_s"].get<double>() >
          calm["groups"][1]["finished_s"].get<double>() + least);
  }
}

// Its shards are thrown away: what moves is the other's, and what it has learned stays as it was.
TEST_CASE("a tenant that has ended moves no shard", "[groups][faults]") {
  const std::string short_one = "\"training.steps = 10\"";
  const std::string crash = fault("crash", "server 1", "at = \"250ms\"\n");
  const Json calm = tenants("", "", short_one).run();
  REQUIRE(calm["groups"][0]["finished_s"] < 0.2);
  REQUIRE(calm["groups"][1]["finished_s"] > 0.3);
  const Json run = verified(tenants(crash, "", short_one));
  CHECK(run["groups"][0]["model"]["weights"] == calm["groups"][0]["model"]["weights"]);
  CHECK(run["failures"]["takeovers"] == 1);  // the shard of the one that is left
  CHECK(run["groups"][1]["model"]["weights"] != calm["groups"][1]["model"]["weights"]);
  CHECK(run["failures"]["suspicions"] == 1);  // nobody takes the workers that have gone for crashed
}

// Conditions count the first group's updates.
TEST_CASE("a condition is about the first group", "[groups][faults]") {
  const std::string when = "when = \"updates >= 40\"\n", short_one = "\"training.steps = 30\"";
  CHECK(tenants(fault("crash", "server 1", when), "", short_one).run()["failures"]["crashes"] == 0);
  CHECK(tenants(fault("crash", "server 1", when)).run()["failures"]["crashes"] == 1);
}

TEST_CASE("the inference group pulls from the group that it names", "[groups][inference][slow]") {
  const std::string inference = "[inference]\nrate = 500\nrefresh = \"5ms\"\nspeed = \"100Mf\"\n";
  const std::string short_one = "\"training.steps = 20\"";
  const Json plain = tenants("", "", short_one).run();
  for (const char* recovery : {"", "enabled = true\n"}) {
    for (const int n : {0, 1}) {
      INFO("group " << n << ", " << recovery);
      const std::string named = fmt::format("{}group = \"{}\"\n", inference, n == 0 ? "one" : "two");
      const Json run = verified(tenants(named, recovery, short_one));
      check_same_weights(run, plain);
      const auto bytes = 8 * plain["groups"][n]["model"]["parameters"].get<std::uint64_t>();
      const Json& served = run["inference"];
      const auto pulled = served["bytes_pulled"].get<std::uint64_t>();
      CHECK(pulled % bytes == 0);
      CHECK(pulled / bytes == served["pulls"].get<std::uint64_t>());
      // The first one ends early, and is served all the same.
      CHECK(served["pulls"].get<double>() == Approx(run["sim_time_s"].get<double>() / 0.005).margin(3));
      CHECK(served["age_s"]["max"].get<double>() < 0.02);
    }
  }
  const Json first = tenants(inference, "", short_one).run(),
             named = tenants(inference + "group = \"one\"\n", "", short_one).run();
  CHECK(first["digest"] == named["digest"]);
}

TEST_CASE("groups have their batches from one database, and their work shared out among themselves",
          "[groups]") {
  const Json plain = tenants("", "").run();
  const std::string database = "[data]\ndelivery = \"database\"\n";
  const Json delivered = tenants(database, "").run();
  check_same_weights(delivered, plain);
  CHECK(delivered["bytes_by_kind"]["samples"].get<std::uint64_t>() > 0);
  const std::string dynamic = "\"training.work = dynamic\", \"training.work_every = 5\"";
  const std::string slow = "[[straggler]]\nworkers = [3]\nslowdown = 3\n";
  const Json fixed = tenants(slow, "", "", "").run(), shared = tenants(slow, "", "", dynamic).run();
  CHECK(shared["groups"][1]["finished_s"] < 0.8 * fixed["groups"][1]["finished_s"].get<double>());
  CHECK(shared["groups"][0]["model"]["weights"] == fixed["groups"][0]["model"]["weights"]);
  CHECK(shared["workers"][3]["batch_size"] < shared["workers"][2]["batch_size"]);
  CHECK(shared["workers"][0]["batch_size"] == shared["workers"][1]["batch_size"]);
}
