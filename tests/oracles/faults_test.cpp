// What faults of machines, links and messages do to a run: times by hand, on a network without latency where
// each gigabyte takes a second. Nobody helps himself: requests are not repeated, and heartbeats are rare.
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Setup {
  std::string faults = {};
  std::int64_t parameters = 1;  // 250,000,000 make a message of a gigabyte
  std::string training = "steps = 5";
  std::string time = "1s";  // of a step
  int workers = 1;
  std::string more = {};
  int servers = 1;
};

ScenarioBuilder toml(const Setup& s) {
  return phantom(s.parameters)
      .set({"training.batch_size=1", "recovery.enabled=true", "recovery.heartbeat=100s",
            "recovery.timeout=1000s", "recovery.retry=1000s", "recovery.longest_retry=1000s",
            "recovery.patience=50s"})
      .links("1GBps", "0s")
      .with("training", s.training)
      .set("compute.time", s.time)
      .set("cluster.workers", s.workers)
      .set("cluster.servers", s.servers)
      .with(s.more)
      .with(s.faults);
}

std::string fault(const std::string& kind, const std::string& rest) {
  return fmt::format("[[fault]]\nkind = \"{}\"\n{}\n", kind, rest);
}

double time_of(const Setup& s) {
  const Json run = toml(s).run();
  CHECK(run["stuck"].empty());
  CHECK(run["bytes_sent"].get<double>() ==
        run["bytes_received"].get<double>() + run["bytes_lost"].get<double>());
  return run["sim_time_s"];
}

// A pull and a push of 4 bytes a step.
Approx near(double t) { return Approx(t).epsilon(0).margin(1e-6); }

const std::string worker = "nodes = [\"worker 0\"]\n", server = "nodes = [\"server 0\"]\n";

}  // namespace

TEST_CASE("a slow node's computation adapts at once, both ways", "[faults]") {
  CHECK(time_of({}) == near(5));
  // 2 s at half speed do the work of 1 s.
  CHECK(time_of({fault("slow", worker + "factor = 0.5\nfrom = \"2.5s\"\nuntil = \"4.5s\"")}) == near(6));
  CHECK(time_of({fault("slow", worker + "factor = 0.5\nat = \"2.5s\"\nlasts = \"2s\"")}) == near(6));
  // Two at once multiply: 2 s at a quarter, 1 s more at half.
  CHECK(time_of({fault("slow", worker + "factor = 0.5\nat = \"1s\"\nlasts = \"3s\"") +
                 fault("slow", "nodes = [\"workers\"]\nfactor = 0.5\nat = \"1s\"\nlasts = \"2s\"")}) ==
        near(7));
  // A straggler's window and a fault multiply as well: 2 s at a quarter.
  CHECK(time_of({fault("slow", worker + "factor = 0.5\nat = \"1s\"\nlasts = \"2s\"") +
                 "[[straggler]]\nworkers = [0]\nslowdown = 2.0\nfrom = \"1s\"\nuntil = \"3s\"\n"}) ==
        near(6.5));
}

TEST_CASE("a frozen node does nothing until it goes on", "[faults]") {
  CHECK(time_of({fault("slow", worker + "factor = 0.0\nat = \"2.5s\"\nlasts = \"2s\"")}) == near(7));
  // The server is frozen from 2.5 s to 4.5 s: the push of 3 s waits for it. Its work takes no time at all.
  CHECK(time_of({fault("slow", server + "factor = 0.0\nat = \"2.5s\"\nlasts = \"2s\"")}) == near(6.5));
  CHECK(time_of({fault("slow", "nodes = [\"all\"]\nfactor = 0.0\nat = \"2.5s\"\nlasts = \"2s\"")}) ==
        near(7));
  // At 2.5, 3.5, 4.5 and 5.5 s.
  CHECK(time_of({fault("slow", worker + "factor = 0.0\nat = \"2.5s\"\nlasts = \"250ms\"\nevery = \"1s\"")}) ==
        near(6));
}

TEST_CASE("others go on while a worker is frozen, if their model lets them", "[faults]") {
  // k-sync with k = 1: worker 0 is frozen in the midst of its first step, whose push comes 10 updates too
  // late.
  const Json run = toml({.faults = fault("slow", worker + "factor = 0.0\nat = \"0.5s\"\nlasts = \"10s\""),
                         .training = "duration = \"20.5s\"",
                         .workers = 2,
                         .more = "[consistency]\nmodel = \"k-sync\"\nk = 1\nlate = \"drop\"\n"})
                       .run();
  CHECK(run["workers"][0]["clocks"].get<int>() < run["workers"][1]["clocks"].get<int>());
  CHECK(run["updates"] == 20);
}

TEST_CASE("flows adapt to a degraded link at once, both ways", "[faults]") {
  // A step is a pull of 1 s and a push of 1 s.
  const Setup quick{.parameters = 250'000'000, .time = "0s"};
  CHECK(time_of(quick) == near(10));
  for (const std::string& node : {worker, server}) {
    Setup s = quick;
    // Half a gigabyte more slowly by half takes a second.
    s.faults = fault("degrade", node + "factor = 0.5\nfrom = \"0.25s\"\nuntil = \"1.25s\"");
    CHECK(time_of(s) == near(10.5));
    // Begun on a degraded link: the first quarter of a gigabyte takes a second.
    s.faults = fault("degrade", node + "factor = 0.25\nuntil = \"1s\"");
    CHECK(time_of(s) == near(10.75));
  }
}

TEST_CASE("a flow takes the same time with a degraded link at either end", "[faults]") {
  const auto took = [](const std::string& node) {
    const TracedRun run =
        phantom(12'500'000)
            .set({"training.steps=2", "training.batch_size=1", "compute.time=0s", "cluster.workers=1",
                  "cluster.servers=1", "cluster.network.bandwidth=1GBps", "cluster.network.latency=10ms",
                  "cluster.network.share_spread=0.0", "cluster.network.tcp_window=64GiB"})
            .fault("degrade", node, {"factor=0.5", "from=0s"})
            .trace();
    double sent = -1;
    for (const RecordedEvent& e : run.events) {
      if (e.is("sent", "weights") && sent < 0) sent = e.at;
      if (e.is("received", "weights")) return e.at - sent;
    }
    return 0.0;
  };
  const double at_receiver = took("worker 0"), at_sender = took("server 0");
  CHECK(at_receiver > 0.1);
  CHECK(at_receiver == Approx(at_sender).epsilon(1e-9));
}

// Both ends of a connection: two answers share a link, and when one stops the other has all of it.
TEST_CASE("what is on its way from or to a node that crashes is lost, and takes no more bandwidth",
          "[faults]") {
  struct Case {
    std::string crash;
    int workers, servers;
    int kept_at, kept_from;  // nodes; what is lost goes from node 1 to node 3
    double crash_at, bytes_lost, arrives;
  };
  const std::vector<Case> cases{
      // Of two gigabytes half are through.
      {"nodes = [\"worker 1\"]\nat = \"1s\"", 2, 1, 2, 1, 1, 1e9, 1.5},
      // Of a gigabyte from two servers, half is through.
      {"nodes = [\"server 0\"]\nat = \"500ms\"", 1, 2, 3, 2, 0.5, 0.5e9, 0.75},
  };
  for (const Case& c : cases) {
    INFO(c.crash);
    const TracedRun run = toml({.faults = fault("crash", c.crash),
                                .parameters = 250'000'000,
                                .training = "steps = 1",
                                .workers = c.workers,
                                .more = "[consistency]\nmodel = \"asp\"",
                                .servers = c.servers})
                              .trace();
    std::map<std::string, std::vector<RecordedEvent>> answers;
    for (const RecordedEvent& e : run.events) {
      if (e.kind == "weights") answers[e.table].push_back(e);
    }
    REQUIRE(answers["lost"].size() == 1);
    CHECK(answers["lost"][0].at == near(c.crash_at));
    CHECK(answers["lost"][0].node == 1);
    CHECK(answers["lost"][0].peer == 3);
    REQUIRE(answers["received"].size() == 1);
    CHECK(answers["received"][0].at == near(c.arrives));
    CHECK(answers["received"][0].node == c.kept_at);
    CHECK(answers["received"][0].peer == c.kept_from);
    CHECK(run.summary["bytes_lost"].get<double>() >= c.bytes_lost);
  }
}

TEST_CASE("late messages come late", "[faults]") {
  CHECK(time_of({fault("delay", "messages = [\"weights\"]\ndelay = \"500ms\"")}) == near(7.5));
  // Of one step only: its weights come at 2 s.
  CHECK(time_of({fault("delay",
                       "messages = [\"weights\"]\ndelay = \"500ms\"\nfrom = \"1.5s\"\nuntil = \"2.5s\"")}) ==
        near(5.5));
  CHECK(time_of({fault("delay", "between = [[\"scheduler\"], [\"rest\"]]\ndelay = \"250ms\"")}) ==
        near(5.5));  // join and start
}

TEST_CASE("a message that comes twice takes the network twice", "[faults]") {
  const Setup plain{.parameters = 250'000'000, .time = "0s"};
  Setup twice = plain;
  twice.faults = fault("duplicate", "messages = [\"weights\"]");
  const Json once = toml(plain).run(), both = toml(twice).run();
  CHECK(both["bytes_sent"].get<double>() - once["bytes_sent"].get<double>() == Approx(5e9).epsilon(1e-6));
  CHECK(both["bytes_sent"].get<double>() ==
        both["bytes_received"].get<double>() + both["bytes_lost"].get<double>());
  // The copy shares the link with the first one.
  CHECK(both["sim_time_s"].get<double>() == near(15));
}

TEST_CASE("what is caught by a cut is lost, and a cut that catches nothing does nothing", "[faults]") {
  // Nothing is on its way between the pushes of whole seconds.
  for (const std::string& cut :
       {fault("link-down", worker + "at = \"1.2s\"\nlasts = \"500ms\""),
        fault("partition",
              "between = [[\"worker 0\"], [\"rest\"]]\nat = \"1.2s\"\n"
              "lasts = \"500ms\""),
        fault("partition", "between = [[\"workers\"], [\"servers\"]]\nat = \"1.2s\"") +
            fault("heal", "at = \"1.9s\"")})
    CHECK(time_of({cut}) == near(5));
  // When it is sent, and when it arrives: the second push leaves at 3 s and would come at 4 s.
  for (const char* at : {"2.9s", "3.5s"}) {
    const std::string when = fmt::format("at = \"{}\"\nlasts = \"600ms\"", at);
    const bool sent = std::string(at) == "2.9s";
    Setup s{.faults = fault("link-down", server + when), .parameters = 250'000'000};
    const Json run = toml(s).run();
    INFO(at);
    CHECK(run["stuck"].size() > 0);
    CHECK(run["bytes_lost"].get<double>() == Approx(1e9).epsilon(1e-6));
    CHECK(run["bytes_sent"].get<double>() ==
          run["bytes_received"].get<double>() + run["bytes_lost"].get<double>());
    CHECK(run["sim_time_s"].get<double>() >= (sent ? 2 : 3));
  }
}

TEST_CASE("dropped messages are lost, and the run says that it is stuck", "[faults]") {
  const TracedRun run = toml({fault("drop", "messages = [\"push\"]\nfrom = \"2.5s\"")}).trace();
  int lost = 0;
  for (const RecordedEvent& e : run.events) lost += e.is("lost", "push") ? 1 : 0;
  CHECK(lost == 1);
  CHECK(run.summary["stuck"].size() > 0);
  CHECK(run.summary["updates"] == 2);
}

TEST_CASE("faults that repeat for ever do not keep a stuck run going", "[faults]") {
  const std::string for_ever =
      fault("slow", worker + "factor = 0.5\nat = \"1s\"\nlasts = \"1s\"\nevery = \"2s\"") +
      fault("duplicate",
            "mtbf = \"3s\"\nlasts = \"1s\"\nnodes = [\"workers\"]\n"
            "messages = [\"weights\"]");
  const Json run = toml({for_ever + fault("drop", "messages = [\"push\"]\nfrom = \"2.5s\"")}).run();
  CHECK(run["stuck"].size() > 0);
  // Nor does a node that is frozen for ever.
  const Json frozen = toml({for_ever + fault("slow", worker + "factor = 0.0\nat = \"2.7s\"")}).run();
  CHECK(frozen["updates"] == 2);
}

TEST_CASE("a fault waits for its condition", "[faults]") {
  const auto slow = [](const std::string& when) {
    return Setup{fault("slow", worker + "factor = 0.5\nlasts = \"2s\"\nwhen = \"" + when + "\"")};
  };
  CHECK(time_of(slow("updates >= 3")) == near(6));
  CHECK(time_of(slow("clock of worker 0 = 3")) == near(6));
  CHECK(time_of(slow("updates >= 30")) == near(5));
  CHECK(time_of({fault("slow", worker + "factor = 0.5\nwhen = \"updates >= 3\"")}) == near(7));
}

TEST_CASE("a fault waits for an evaluation", "[faults]") {
  const auto run = [](const std::string& faults) {
    return ScenarioBuilder({"data.source=blobs", "model.layers=[2, 3]", "training.steps=20",
                            "training.evaluate_every=1 update", "compute.time=1s", "cluster.workers=1"})
        .with(faults)
        .run();
  };
  const Json plain = run("");
  // The bound lies between the losses of updates 9 and 10.
  const double bound =
      (plain["curve"][9]["loss"].get<double>() + plain["curve"][10]["loss"].get<double>()) / 2;
  REQUIRE(plain["curve"][10]["loss"].get<double>() < bound);
  const Json late =
      run(fault("slow", worker + fmt::format("factor = 0.5\nlasts = \"4s\"\nwhen = \"loss < {}\"", bound)));
  CHECK(late["sim_time_s"].get<double>() == Approx(plain["sim_time_s"].get<double>() + 2).epsilon(1e-4));
  CHECK(late["curve"][10]["sim_time_s"].get<double>() ==
        Approx(plain["curve"][10]["sim_time_s"].get<double>()).epsilon(1e-6));
  CHECK(late["curve"][11]["sim_time_s"].get<double>() > plain["curve"][11]["sim_time_s"].get<double>() + 0.9);
}

TEST_CASE("faults are in the record", "[faults]") {
  const TracedRun run = toml({fault("slow", worker + "factor = 0.5\nat = \"1s\"\nlasts = \"2s\"") +
                              fault("partition", "between = [[\"worker 0\"], [\"scheduler\"]]\nat = \"2s\"")})
                            .trace();
  std::vector<std::string> faults;
  for (const RecordedEvent& e : run.events) {
    if (e.is("fault"))
      faults.push_back(fmt::format("{} {} {} {} {} {}", e.at, e["fault_table"], e.kind, e["begins"],
                                   e["target"], e.columns.contains("other_side") ? e["other_side"] : -1));
  }
  // At, table, kind, begins, target, other side. Nodes are scheduler 0, server 1, worker 2.
  CHECK(faults == std::vector<std::string>{"1 0 slow 1 2 -1", "2 1 partition 1 2 0", "2 1 partition 1 0 2",
                                           "3 0 slow 0 2 -1"});
}
