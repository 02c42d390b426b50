// How and when a run ends: every worker that is not gone for good is through, or the run says why not. In any
// case it ends, however short the heartbeats and however long the steps.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Two workers, steps of 50 ms each; failures are noticed within half a second.
ScenarioBuilder two_workers(const std::string& faults, const std::string& more = "") {
  return phantom(1000)
      .set({"cluster.workers=2", "training.steps=100", "training.batch_size=4", "compute.time=50ms",
            "consistency.model=asp", "recovery.heartbeat=100ms", "recovery.timeout=500ms",
            "recovery.retry=100ms", "recovery.patience=5s"})
      .with("recovery", more)
      .with(faults);
}

std::string fault(const std::string& kind, const std::string& nodes, const std::string& more) {
  return fmt::format("[[fault]]\nkind = \"{}\"\nnodes = [\"{}\"]\n{}\n", kind, nodes, more);
}

const std::string first_leaves = fault("leave", "worker 0", "at = \"1s\"");

std::int64_t clocks_of(const Json& summary, std::size_t worker) {
  return summary["workers"][worker]["clocks"];
}

}  // namespace

TEST_CASE("a worker that left is not through, so another that is down is waited for", "[endings]") {
  const Json run =
      two_workers(first_leaves + fault("crash", "worker 1", "at = \"2s\"\nrestart_after = \"3s\"")).run();
  CHECK(run["stuck"].empty());
  CHECK(clocks_of(run, 1) == 100);
  CHECK(run["sim_time_s"].get<double>() > 5);
}

TEST_CASE("a worker that left and is to join again is waited for", "[endings]") {
  const Json run = two_workers(fault("leave", "worker 1", "at = \"940ms\"") + first_leaves +
                               fault("join", "worker 1", "at = \"4s\""))
                       .run();
  CHECK(run["stuck"].empty());
  CHECK(clocks_of(run, 1) == 99);  // worker 0 was one clock further when it left: that clock is skipped
  CHECK(run["sim_time_s"].get<double>() > 4);
}

TEST_CASE("patience begins when the last fault has ended", "[endings]") {
  const std::string away = fault("crash", "all", "at = \"1s\"\nrestart_after = \"30s\""),
                    cut_off = fault("link-down", "workers", "from = \"1s\"\nuntil = \"30s\""),
                    late = fault("join", "workers", "at = \"30s\"");
  for (const std::string& faults : {away, cut_off, late}) {
    INFO(faults);
    const Json run = two_workers(faults, "longest_retry = \"4s\"").run();
    CHECK(run["stuck"].empty());
    CHECK(clocks_of(run, 1) >= 100);
    CHECK(run["sim_time_s"].get<double>() > 30);
  }
}

TEST_CASE("a run that is stuck because all are down says so", "[endings]") {
  const Json run = two_workers(fault("crash", "workers", "at = \"1s\"")).run();
  REQUIRE(run["stuck"].size() == 1);
  const std::string why = run["stuck"][0];
  CHECK(why.find("worker 0, worker 1 are down, and nothing starts them again") != std::string::npos);
}

TEST_CASE("a run ends when all workers have left for good", "[endings]") {
  const Json run = two_workers(fault("leave", "workers", "at = \"1s\"")).run();
  CHECK(run["stuck"].empty());
  CHECK(run["sim_time_s"].get<double>() < 1.2);
}

TEST_CASE("a run whose last worker crashes for good has not come to its end", "[endings]") {
  const Json run = two_workers(first_leaves + fault("crash", "worker 1", "at = \"2s\"")).run();
  CHECK_FALSE(run["stuck"].empty());
}

TEST_CASE("nobody waits for a worker that comes back when the steps are done", "[endings]") {
  const Json run = two_workers(fault("crash", "worker 1", "at = \"2s\"\nrestart_after = \"1h\"")).run();
  CHECK(run["stuck"].empty());
  CHECK(clocks_of(run, 0) == 100);
  CHECK(run["sim_time_s"].get<double>() < 6);
}

TEST_CASE("the first worker that is through does not end the run of a slower one", "[endings]") {
  const Json run =
      two_workers(fault("slow", "worker 1", "at = \"1s\"\nlasts = \"30s\"\nfactor = 0.5"), "enabled = true")
          .run();
  CHECK(run["stuck"].empty());
  CHECK(clocks_of(run, 1) == 100);
  CHECK(run["sim_time_s"].get<double>() > 8);
}

TEST_CASE("a suspected worker that still takes part is waited for", "[endings]") {
  const Json run =
      two_workers(fault("crash", "worker 1", "at = \"2s\"\nrestart_after = \"10s\""), "workers = \"wait\"")
          .run();
  CHECK(run["stuck"].empty());
  CHECK(clocks_of(run, 1) == 100);
  CHECK(run["sim_time_s"].get<double>() > 12);
}

TEST_CASE("a run ends when the last worker is known to be gone for good", "[endings]") {
  const Json run = two_workers(fault("crash", "worker 1", "at = \"4.9s\"")).run();
  CHECK(run["stuck"].empty());
  CHECK(run["sim_time_s"].get<double>() > 5.2);
}

// The scheduler does not hear of it, until it suspects the worker or looks around after a crash of its own.
TEST_CASE("a run ends with its last worker, whenever the scheduler hears of it", "[endings]") {
  const std::string lost =
      "[[fault]]\nkind = \"partition\"\nbetween = [[\"worker 1\"], [\"scheduler\"]]\n"
      "at = \"5.05s\"\n";
  const std::string down = fault("crash", "scheduler", "at = \"4.6s\"\nrestart_after = \"100ms\"");
  const double undisturbed = two_workers("", "enabled = true").run()["sim_time_s"];
  for (const std::string& faults : {lost, down}) {
    const Json run = two_workers(faults).run();
    CHECK(run["stuck"].empty());
    CHECK(run["sim_time_s"].get<double>() == undisturbed);
  }
}

// It was down together with the scheduler. Its shard begins anew, and so does the count of pushes.
TEST_CASE("a server that leaves before it is told a view has nothing of what it had", "[endings]") {
  const KeptRun run(scenario_file("tests/fuzz/stranger_that_leaves.toml"));
  REQUIRE(exit_code(run.summary()) == 0);
  run.check_promises();
}

TEST_CASE("a note says which faults found nodes as they wanted them", "[endings]") {
  const Json run =
      two_workers(fault("crash", "worker 1", "at = \"1s\"\nrestart_after = \"1s\"") +
                  fault("crash", "worker 1", "at = \"1.5s\"") + fault("restart", "worker 1", "at = \"3s\"") +
                  fault("restart", "worker 1", "at = \"1.8s\""))
          .run();
  std::string notes;
  for (const Json& note : run["notes"]) notes += note["text"].get<std::string>() + "\n";
  CHECK(notes.find("fault.0") == std::string::npos);
  CHECK(notes.find("fault.1 (crash) changed nothing: its nodes were down already") != std::string::npos);
  CHECK(notes.find("fault.2 (restart) changed nothing: its nodes were up already") != std::string::npos);
  CHECK(notes.find("fault.3") == std::string::npos);
}

TEST_CASE("heartbeats of microseconds and steps of hours end with a diagnosis", "[endings][slow]") {
  const Json run =
      two_workers("", "enabled = true").set({"compute.time=\"10h\"", "recovery.heartbeat=\"5ms\""}).run();
  REQUIRE_FALSE(run["stuck"].empty());
  CHECK(run["stuck"][0].get<std::string>().find("nothing new has come") != std::string::npos);
}

// Links a hundredth as fast: heartbeats come late, and the scheduler's views come even later.
TEST_CASE("suspicions that come faster than the links carry views end with a diagnosis", "[endings][slow]") {
  const Json run = phantom(142'439)
                       .set({"cluster.workers=5", "cluster.servers=4", "training.steps=2", "compute.time=1ms",
                             "cluster.network.bandwidth=20Mbps", "cluster.network.latency=10us",
                             "recovery.enabled=true", "recovery.heartbeat=4058us", "recovery.timeout=16174us",
                             "recovery.retry=6020us", "recovery.patience=1s", "replication.copies=3",
                             "replication.window=2", "consistency={model=\"k-sync\",k=4}",
                             "fault=[{kind=\"degrade\",nodes=[\"all\"],at=\"145700us\",factor=0.01}]"})
                       .run();
  REQUIRE_FALSE(run["stuck"].empty());
  CHECK(run["stuck"][0].get<std::string>().find("views are on their way") != std::string::npos);
}

TEST_CASE("a transfer that takes a hundred thousand heartbeats is waited for", "[endings][slow]") {
  const Json run =
      phantom(264'927)
          .set({"cluster.workers=3", "training.steps=1", "training.batch_size=4", "compute.time=1ms",
                "cluster.network.bandwidth=20Mbps", "cluster.network.latency=1us", "recovery.enabled=true",
                "recovery.heartbeat=9us", "recovery.timeout=15652us", "recovery.retry=3550us",
                "recovery.longest_retry=122587us", "recovery.patience=10s"})
          .run();
  CHECK(run["stuck"].empty());
}

TEST_CASE("whoever waits to be let start is named where the scheduler is gone for good", "[endings]") {
  const Json run = two_workers("[[fault]]\nkind = \"crash\"\nnodes = [\"scheduler\"]\nat = \"0s\"\n").run();
  REQUIRE(run["stuck"].size() == 1);
  CHECK(run["stuck"][0].get<std::string>().find(
            "1 server and 2 workers wait for the scheduler to start, and it is down") != std::string::npos);
}

TEST_CASE("a detector that is faster than the network is noted by check and by the run", "[endings][slow]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "s.toml")
      << phantom(1000)
             .set({"training.steps=20", "cluster.workers=4", "cluster.servers=2", "compute.time=10ms",
                   "recovery.enabled=true"})
             .toml();
  const auto says = [&](const std::string& latency, const std::string& timeout) {
    const std::vector<std::string> sets{"s.toml", "--set", "cluster.network.latency=" + latency, "--set",
                                        "recovery.timeout=" + timeout};
    std::vector<std::string> words{"check"};
    words.insert(words.end(), sets.begin(), sets.end());
    const std::string check = psim::test::psim(words, folder.path()).err;
    words.front() = "run";
    words.emplace_back("--json");
    const Json run = Json::parse(psim::test::psim(words, folder.path()).out);
    const bool is_noted = run["notes"].dump().find("hasty-detector") != std::string::npos;
    CHECK(is_noted == (run["failures"]["false_suspicions"] > 0));
    // Two links of 70 ms, each times the 13.01 of lv08.
    CHECK(is_noted ==
          (check.find("its heartbeat takes up to 1.821 s to the scheduler") != std::string::npos));
    return is_noted;
  };
  CHECK(says("70ms", "2s"));
  CHECK_FALSE(says("70ms", "4.7s"));  // as the note says
  CHECK_FALSE(says("1ms", "2s"));
}

TEST_CASE("requests are not repeated while they are on their way", "[endings]") {
  const Json run = two_workers("", "enabled = true")
                       .set({"recovery.retry=\"200us\"", "recovery.longest_retry=\"200us\"",
                             "cluster.network.latency=\"5ms\"", "training.steps=20"})
                       .run();
  CHECK(run["stuck"].empty());
  CHECK(run["messages"].get<std::int64_t>() < 3000);
}

namespace {

// Two workers whose pushes of 20.48 MB take 16 s alone, and 33 s together at a server.
ScenarioBuilder slow_link(const std::string& model) {
  return phantom(5'120'000)
      .links("10Mbps", "1ms")
      .set({"cluster.workers=2", "training.steps=2", "training.batch_size=4", "compute.time=100ms",
            "cluster.network.model=" + model});
}

// Values that training needs, in bytes.
std::int64_t values_of(const Json& run) {
  std::int64_t bytes = 0;
  for (const char* kind : {"push", "weights", "chunk", "activation", "error"})
    bytes += run["bytes_by_kind"].value(kind, std::int64_t{0});
  return bytes;
}

}  // namespace

TEST_CASE("a slow transfer is progress, and nothing is sent twice", "[endings]") {
  const std::string servers, peers = "[architecture]\nkind = \"all-reduce\"\n";
  const std::string hasty = "enabled = true\npatience = \"5s\"\nretry_limit = 3\n";
  for (const std::string model : {"fluid", "nic"}) {
    for (const std::string& architecture : {servers, peers}) {
      INFO(model << architecture);
      const ScenarioBuilder scenario = slow_link(model) + architecture;
      const Json calm = scenario.run(), watched = scenario.with("recovery", hasty).run();
      CHECK(watched["stuck"].empty());
      CHECK(watched["updates"] == calm["updates"]);
      CHECK(values_of(watched) == values_of(calm));
      CHECK(watched["failures"]["repeated_requests"] == 0);
      CHECK(watched["failures"]["suspicions"] == 0);
    }
  }
}

TEST_CASE("the last weights are progress while they are on their way", "[endings]") {
  // Two servers send 0.5 MB to each of five workers, at 20 Mb/s: a second, which is also the patience.
  const Json run =
      phantom(251'493)
          .set({"cluster.workers=5", "cluster.servers=2", "training.steps=1", "training.batch_size=4",
                "compute.time=1ms", "cluster.network.bandwidth=20Mbps", "cluster.network.latency=1us",
                "recovery={enabled=true, heartbeat=\"5ms\", timeout=\"20ms\", retry=\"10ms\", "
                "patience=\"0.5s\"}"})
          .run();
  INFO(run["stuck"].dump());
  CHECK(run["stuck"].empty());
  for (std::size_t worker = 0; worker < 5; ++worker) CHECK(clocks_of(run, worker) == 1);
}

TEST_CASE("a server queues no second answer while the first one is on its way", "[endings]") {
  // The lost heartbeats change nothing, but after a loss requests are repeated.
  const Json run =
      slow_link("fluid")
          .with("recovery", "patience = \"20s\"\ntimeout = \"1000s\"\n")
          .with("[[fault]]\nkind = \"drop\"\nmessages = [\"heartbeat\"]\nat = \"1s\"\nlasts = \"2s\"\n")
          .run();
  CHECK(run["stuck"].empty());
  CHECK(run["messages_lost"] > 0);
  CHECK(values_of(run) == values_of(slow_link("fluid").run()));
}

// The pushes are sent at 33 s and lost at 66 s, when the last fault has been over for 26 s.
TEST_CASE("a transfer that was lost on a slow link is sent again soon, also with little patience",
          "[endings]") {
  for (const std::string model : {"fluid", "nic"}) {
    const ScenarioBuilder hasty =
        slow_link(model).with("recovery", "patience = \"5s\"\ntimeout = \"1000s\"\n");
    const std::string lost = "[[fault]]\nkind = \"drop\"\nmessages = [\"push\"]\nat = \"30s\"\n";
    const Json run = hasty.with(lost + "lasts = \"10s\"\n").run(), for_ever = hasty.with(lost).run();
    CHECK(run["stuck"].empty());
    CHECK(run["messages_lost"] > 0);
    CHECK(run["updates"] == 2);
    CHECK_FALSE(for_ever["stuck"].empty());
    CHECK(for_ever["sim_time_s"] < 200);
  }
}

TEST_CASE("a run whose crashes come faster than its progress ends and says so", "[endings]") {
  const std::string often =
      "[[fault]]\nkind = \"crash\"\nnodes = [\"servers\"]\nmtbf = \"3s\"\nrestart_after = \"1s\"\n";
  const ScenarioBuilder scenario = two_workers(often).set({"consistency.model=bsp", "training.steps=10000"});
  const Json run = scenario.run();
  REQUIRE(!run["stuck"].empty());
  CHECK(run["stuck"][0].get<std::string>().find("faults come faster than the training recovers") !=
        std::string::npos);
  CHECK(run["sim_time_s"] < 5000);
  // Whoever sets a duration wants to see what happens until then.
  const Json timed = scenario.set({"training.duration=900s"}).run();
  CHECK(timed["stuck"].empty());
  CHECK(timed["sim_time_s"] == 900);
}
