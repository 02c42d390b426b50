// What users of an inference group notice when servers or its own nodes fail, against closed forms. The
// network is so fast that it takes no time that shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double rate = 200, service = 0.001, refresh = 0.05, crash = 1.02, seconds = 4;

// Two phantom workers that never wait, a step of 10 ms; one inference node with a request every 5 ms, an
// answer of 1 ms and a pull every 50 ms.
ScenarioBuilder serving(const std::string& more, const std::string& inference = "") {
  return phantom(100)
      .set({"consistency.model=asp", "cluster.workers=2", "cluster.servers=2", "compute.time=10ms",
            "inference.arrivals=constant", "inference.speed=1Mf", "inference.flops_per_request=1000",
            "inference.window=100ms", "recovery.heartbeat=100ms", "recovery.timeout=400ms",
            "recovery.retry=1s"})
      .links("1000Tbps", "0s")
      .set("training.duration", fmt::format("{}s", seconds))
      .set("inference.rate", rate)
      .set("inference.refresh", fmt::format("{}s", refresh))
      .with("inference", inference)
      .with("recovery", more);
}

const std::string server_crash =
    fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"{}s\"\n", crash);

// Of a pull at every multiple of the period, the last one before `date`.
double last_pull(double date) { return std::floor(date / refresh) * refresh; }

// Requests come from 1 / rate on; those of the windows sum to all.
void check_windows(const Json& inference) {
  std::int64_t requests = 0, answered = 0;
  double begin = 0;
  for (const Json& window : inference["over_time"]) {
    CHECK(window["begin_s"].get<double>() == Approx(begin).margin(1e-12));
    begin = window["end_s"];
    requests += window["requests"].get<std::int64_t>();
    answered += window["answered"].get<std::int64_t>();
  }
  CHECK(requests == inference["requests"]);
  CHECK(answered == inference["answered"]);
}

double most(const Json& inference, const char* what) {
  double found = 0;
  for (const Json& window : inference["over_time"])
    found = std::max(found, window[what]["max"].get<double>());
  return found;
}

}  // namespace

// A pull needs every shard, so none ends from the crash until another server owns the lost shard. That is
// when the scheduler has noticed: without a copy the next owner begins at once.
TEST_CASE("answers grow older until a crashed server is replaced", "[inference][faults]") {
  const Json run = serving(server_crash).run();
  const Json& inference = run["inference"];
  const Json& recovery = run["failures"]["recoveries"][0];
  const double replaced = crash + recovery["detection_s"].get<double>();
  REQUIRE(replaced > crash + 0.3);
  const double oldest = replaced - last_pull(crash);
  CHECK(inference["age_s"]["max"].get<double>() <= oldest + service);
  CHECK(inference["age_s"]["max"].get<double>() >= oldest - 2 / rate - service);
  CHECK(inference["latency_s"]["p99"].get<double>() == Approx(service).epsilon(1e-6));
  CHECK(inference["requests"].get<double>() - inference["answered"].get<double>() <= 1);
  check_windows(inference);
  // In the window in which the outage ends, and in none before the crash.
  CHECK(most(inference, "age_s") == inference["age_s"]["max"]);
  for (const Json& window : inference["over_time"]) {
    const double begin = window["begin_s"], end = window["end_s"];
    if (end < crash) CHECK(window["age_s"]["max"].get<double>() <= refresh + service + 1e-9);
    if (begin > replaced + refresh) CHECK(window["age_s"]["max"].get<double>() <= refresh + service + 1e-9);
    if (begin > crash && end < replaced) {
      CHECK(window["age_s"]["max"].get<double>() >= end - last_pull(crash) - 2 / rate);
      CHECK(window["answered"] == window["requests"]);
    }
  }
}

// The shard begins anew, with version 0, and users have seen that of the crash: a step of each worker every
// 10 ms makes two versions, so they are back there as much later as it took to get there.
TEST_CASE("answers of a server that was set back are as stale as they are", "[inference][faults]") {
  const Json lost = serving(server_crash).run();
  const double version = 2 * crash / 0.01,
               replaced = crash + lost["failures"]["recoveries"][0]["detection_s"].get<double>();
  CHECK(lost["inference"]["staleness"]["max"].get<double>() == Approx(version).epsilon(0.06));
  for (const Json& window : lost["inference"]["over_time"]) {
    const double begin = window["begin_s"], end = window["end_s"];
    if (begin < replaced + refresh || end > replaced + crash) continue;
    const double due = version - 2 * (begin - replaced - refresh) / 0.01;
    CHECK(window["staleness"]["max"].get<double>() == Approx(due).margin(16));
  }
  const Json copied = serving(server_crash + "[replication]\ncopies = 1\n").run();
  CHECK(copied["inference"]["staleness"]["max"].get<double>() <= 2 * (refresh + 0.03) / 0.01);
  CHECK(copied["inference"]["age_s"]["max"].get<double>() ==
        Approx(lost["inference"]["age_s"]["max"].get<double>()).margin(2 / rate));
}

TEST_CASE("a server that leaves or joins leaves no gap", "[inference][faults]") {
  for (const char* kind : {"leave", "join"}) {
    INFO(kind);
    const Json run =
        serving(fmt::format("[[fault]]\nkind = \"{}\"\nnodes = [\"server 1\"]\nat = \"{}s\"\n", kind, crash))
            .run();
    REQUIRE(run["failures"]["takeovers"].get<int>() >= 1);
    CHECK(run["inference"]["age_s"]["max"].get<double>() <= refresh + 0.01);
    CHECK(run["inference"]["requests"].get<double>() - run["inference"]["answered"].get<double>() <= 1);
  }
}

// Those that come while it is down are lost, and one perhaps that it was working on.
TEST_CASE("requests to an inference node that is down are not answered", "[inference][faults]") {
  constexpr double down = 0.5;
  const Json run = serving(fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"inference 0\"]\nat = "
                                       "\"{}s\"\nrestart_after = \"{}s\"\n",
                                       crash, down))
                       .run();
  const Json& inference = run["inference"];
  CHECK(inference["requests"].get<double>() == Approx(rate * seconds).margin(1));
  CHECK(inference["requests"].get<double>() - inference["answered"].get<double>() ==
        Approx(rate * down).margin(2));
  CHECK(inference["latency_s"]["p99"].get<double>() == Approx(service).epsilon(1e-6));
  // It pulls as soon as it is back, so it never serves its first weights again.
  CHECK(inference["age_s"]["max"].get<double>() <= refresh + service + 1e-9);
  check_windows(inference);
  for (const Json& window : inference["over_time"]) {
    const double begin = window["begin_s"], end = window["end_s"];
    const bool is_down = begin > crash && end < crash + down;
    CHECK(window["requests"].get<double>() == Approx(rate * (end - begin)).margin(1));
    if (is_down) CHECK(window["answered"] == 0);
    if (is_down) CHECK(window["latency_s"]["mean"].is_null());
    if (end < crash || begin > crash + down)
      CHECK(window["answered"].get<double>() + 1 >= window["requests"]);
  }
}

// Requests wait while it is frozen: the first for as long as that lasts. Then it answers 1000 a second, of
// which 200 are new: the queue is gone after a quarter of the time.
TEST_CASE("requests wait for an inference node that is frozen", "[inference][faults]") {
  constexpr double frozen = 0.5;
  const Json run = serving(fmt::format("[[fault]]\nkind = \"slow\"\nfactor = 0\nnodes = [\"inference "
                                       "0\"]\nat = \"{}s\"\nlasts = \"{}s\"\n",
                                       crash, frozen))
                       .run();
  const Json& inference = run["inference"];
  CHECK(inference["requests"].get<double>() - inference["answered"].get<double>() <= 1);
  CHECK(most(inference, "latency_s") == Approx(frozen + service).margin(1 / rate + service));
  for (const Json& window : inference["over_time"]) {
    if (window["begin_s"].get<double>() > crash + frozen * 1.25 + 0.05)
      CHECK(window["latency_s"]["max"].get<double>() == Approx(service).epsilon(1e-6));
  }
}

// Nothing comes through: the pull under way is repeated after a second, when the cut is over.
TEST_CASE("an inference node that is cut off serves what it has", "[inference][faults]") {
  constexpr double cut = 0.5;
  const Json run =
      serving(
          fmt::format("[[fault]]\nkind = \"partition\"\nbetween = [[\"inference 0\"], [\"servers\"]]\nfrom = "
                      "\"{}s\"\nuntil = \"{}s\"\n",
                      crash, crash + cut))
          .run();
  const Json& inference = run["inference"];
  CHECK(inference["requests"].get<double>() - inference["answered"].get<double>() <= 1);
  const double again = last_pull(crash) + refresh + 1;
  CHECK(inference["age_s"]["max"].get<double>() <= again - last_pull(crash) + service + 1e-6);
  CHECK(inference["age_s"]["max"].get<double>() >= again - last_pull(crash) - 2 / rate - service);
  CHECK(run["failures"]["suspicions"] == 0);  // nobody waits for it
}

TEST_CASE("readers and their failures change nothing that is learned", "[inference][faults][equivalence]") {
  const auto digits = [](const std::string& more) {
    return ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=16", "training.steps=60",
                            "training.evaluate_every=5 updates", "cluster.workers=4", "cluster.servers=3",
                            "cluster.worker.speed=20Mf", "recovery.enabled=true", "recovery.heartbeat=20ms",
                            "recovery.timeout=100ms", "recovery.retry=60ms", "replication.copies=1"})
        .fault("crash", "server 2", {"at=100ms"})
        .with(more)
        .run();
  };
  const Json alone = digits("");
  const std::string group = "[inference]\nnodes = 2\nrate = 300\nrefresh = \"2ms\"\nspeed = \"100Mf\"\n";
  const std::string failing =
      group +
      "[[fault]]\nkind = \"crash\"\nnodes = [\"inference 0\"]\nat = \"80ms\"\nrestart_after = \"50ms\"\n";
  for (const std::string& more : {group, failing}) {
    const Json served = digits(more);
    CHECK(served["model"]["weights"] == alone["model"]["weights"]);
    CHECK(served["final"] == alone["final"]);
    CHECK(served["inference"]["pulls"].get<int>() > 10);
  }
}

// A fault that does nothing: the digest has its events, everything that is counted is as without it.
TEST_CASE("an inference node that is not slower at all serves the same", "[inference][faults]") {
  const Json calm = serving("enabled = true\n").run(),
             idle = serving(
                        "enabled = true\n[[fault]]\nkind = \"slow\"\nfactor = 1\nnodes = "
                        "[\"inference 0\"]\nat = \"1s\"\n")
                        .run();
  CHECK(idle["inference"] == calm["inference"]);
  CHECK(idle["messages"] == calm["messages"]);
  CHECK(idle["updates"] == calm["updates"]);
}

TEST_CASE("verify looks at what was served while servers fail", "[inference][faults]") {
  const KeptRun run(serving(server_crash));
  REQUIRE(exit_code(run.summary()) == 0);
  const Outcome verdict = run.ask("verify");
  INFO(verdict.out);
  CHECK(verdict.code == 0);
  CHECK(verdict.out.find("served         holds") != std::string::npos);
  change_run(run.path(), "UPDATE prediction SET staleness_updates = staleness_updates - 1 WHERE version > 3");
  CHECK(run.ask("verify").code == 1);
}
