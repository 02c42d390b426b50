// Goal: the first sentence of `psim why` names the cause. Method: clusters in which all is even, and one
// cause built in on purpose.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Case {
  std::string name, kind;
  std::vector<std::string> nodes, sets;
  std::string says;  // in the first sentence
};

// Messages of 0.5 MB, or a ring's parts of 1 MB, and steps of 10 ms.
ScenarioBuilder toml(bool is_ring) {
  const ScenarioBuilder workers =
      phantom(250'000).set({"training.batch_size=8", "training.steps=30", "compute.time=10ms",
                            "cluster.workers=4", "cluster.network.bandwidth=10Gbps",
                            "cluster.network.latency=50us", "cluster.network.share_spread=0.0"});
  return is_ring ? workers.set({"architecture.kind=all-reduce"})
                 : workers.set({"consistency.model=bsp", "cluster.servers=2"});
}

void check(const Case& one, const ScenarioBuilder& scenario) {
  INFO(one.name);
  const KeptRun run(scenario.set(one.sets));
  REQUIRE(exit_code(run.summary()) == 0);
  const Json document = run.told("why");
  const Json& verdict = document["verdict"];
  const auto first = document["sentences"][0].get<std::string>();
  INFO(verdict.dump() << " " << first);
  CHECK(verdict["kind"] == one.kind);
  CHECK(verdict["nodes"] == Json(one.nodes));
  CHECK_THAT(first, Catch::Contains(one.says));
  const double share = verdict["share"], total = document["total_s"];
  CHECK(share > 0);
  CHECK(share <= 1);
  CHECK(verdict["seconds"].get<double>() == Approx(share * total));
  double sum = 0;
  for (const Json& seconds : document["by_kind"]) sum += seconds.get<double>();
  CHECK(sum == Approx(total));
}

void check(const Case& one, bool is_ring = false) { check(one, toml(is_ring)); }

const std::vector<std::string> all_workers{"worker 0", "worker 1", "worker 2", "worker 3"};

// All nodes at one hub; `special`: fields of the link of one node, or of two.
std::vector<std::string> hub(const std::vector<std::pair<std::string, std::string>>& special,
                             bool has_servers = true) {
  std::vector<std::string> nodes{"scheduler", "worker 0", "worker 1", "worker 2", "worker 3"};
  if (has_servers) nodes.insert(nodes.end(), {"server 0", "server 1"});
  std::string links;
  for (const std::string& node : nodes) {
    std::string more;
    for (const auto& [who, fields] : special)
      if (who == node) more = ", " + fields;
    links += fmt::format("{}{{between = [\"{}\", \"hub\"]{}}}", links.empty() ? "" : ", ", node, more);
  }
  return {"cluster.network.topology=graph", "cluster.network.link=[" + links + "]"};
}

std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string fault(const std::string& fields) { return "fault=[{" + fields + "}]"; }
std::string straggler(const std::string& fields) { return "straggler=[{" + fields + "}]"; }

const std::vector<std::string> recovers{"recovery.enabled=true", "recovery.heartbeat=20ms",
                                        "recovery.timeout=100ms", "recovery.retry=50ms"};

}  // namespace

TEST_CASE("why: computing, by whom", "[why][slow]") {
  for (const Case& one : std::vector<Case>{
           {"even", "worker-compute", all_workers, {}, "shared by all workers"},
           {"straggler",
            "worker-compute",
            {"worker 3"},
            {straggler("workers = [3], slowdown = 4.0")},
            "Worker 3 (4x"},
           {"two",
            "worker-compute",
            {"worker 1", "worker 2"},
            {straggler("workers = [1, 2], slowdown = 3.0")},
            "Workers 1 and 2"},
           {"a fault",
            "worker-compute",
            {"worker 1"},
            {fault("kind = \"slow\", nodes = [\"worker 1\"], at = \"50ms\", factor = 0.3")},
            "3.33x slower from 50 ms"},
           {"asp",
            "worker-compute",
            {"worker 3"},
            {"consistency.model=asp", straggler("workers = [3], slowdown = 4.0")},
            "Worker 3"},
           {"ssp",
            "worker-compute",
            {"worker 3"},
            {"consistency.model=ssp", "consistency.staleness=2", straggler("workers = [3], slowdown = 4.0")},
            "Worker 3"},
           {"window",
            "worker-compute",
            {"worker 0"},
            {straggler("workers = [0], slowdown = 10.0, from = \"100ms\", until = \"400ms\"")},
            "Worker 0 (10x"},
           // The first clock has twenty local steps.
           {"warm-up", "worker-compute", all_workers, {"training.warmup_steps=20"}, "shared by all workers"},
           {"a slow machine",
            "worker-compute",
            {"worker 2"},
            {"cluster.worker.speed=[\"1Gf\", \"1Gf\", \"0.2Gf\", \"1Gf\"]"},
            "Worker 2"},
           {"by chance",
            "worker-compute",
            {"worker 2"},
            {"cluster.workers=8", straggler("workers = [2], slowdown = 8.0, probability = 0.5")},
            "Worker 2"},
       })
    check(one);
  check({"ring", "worker-compute", {"worker 1"}, {straggler("workers = [1], slowdown = 4.0")}, "Worker 1"},
        true);
}

TEST_CASE("why: profiles of speeds and links, and whose", "[why][slow]") {
  struct Profile {
    Case told;
    std::string of, rows;  // one worker's, or one server's
  };
  for (const Profile& one : std::vector<Profile>{
           {{"speed", "worker-compute", {"worker 1"}, {}, "Worker 1 (10x slower from 30 ms to 300 ms)"},
            "of = \"speed\"\nworkers = [1]",
            "0, 1\n0.03, 0.1\n0.3, 1\n"},
           {{"speeds", "worker-compute", {"worker 1"}, {}, "Worker 1 (at times 5x slower)"},
            "of = \"speed\"\nworkers = [1]",
            "0, 0.5\n0.1, 0.2\n0.22, 0.25\n0.3, 0.3\n0.35, 0.5\n0.45, 1\n"},
           {{"latency", "latency", {"worker 1"}, {}, "Latency to and from worker 1"},
            "of = \"latency\"\nnodes = [\"worker 1\"]",
            "0, 0.05\n"},
           {{"bandwidth",
             "server-link",
             {"server 1"},
             {},
             "server 1 (at 1 % of its bandwidth from 50 ms to 400 ms)"},
            "of = \"bandwidth\"\nnodes = [\"server 1\"]",
            "0, 1\n0.05, 0.01\n0.4, 1\n"},
       }) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "rows.csv") << one.rows;
    check(one.told,
          toml(false).with("[[profile]]\nfile = \"rows.csv\"\n" + one.of + "\n").data_folder(folder.path()));
  }
}

TEST_CASE("why: steps that chance makes long", "[why][slow]") {
  for (const Case& one : std::vector<Case>{
           {"exponential",
            "random-compute",
            {},
            {"cluster.workers=8", "compute.distribution=exponential"},
            "unequal length"},
           {"lognormal",
            "random-compute",
            {},
            {"cluster.workers=16", "compute.distribution=lognormal", "compute.cv=0.8"},
            "unequal length"},
           {"pareto",
            "random-compute",
            {},
            {"cluster.workers=8", "compute.distribution=pareto", "compute.alpha=1.5"},
            "unequal length"},
           {"everybody by chance",
            "random-compute",
            {},
            {"cluster.workers=8",
             straggler("workers = [0, 1, 2, 3, 4, 5, 6, 7], slowdown = 8.0, probability = 0.2")},
            "unequal length"},
       })
    check(one);
}

TEST_CASE("why: links, and whose", "[why][slow]") {
  const std::string degraded = "kind = \"degrade\", at = \"10ms\", factor = 0.02, nodes = ";
  for (const Case& one : std::vector<Case>{
           {"degraded",
            "worker-link",
            {"worker 2"},
            {fault(degraded + "[\"worker 2\"]")},
            "worker 2 (at 2 %"},
           {"two degraded",
            "worker-link",
            {"worker 0", "worker 2"},
            {fault(degraded + "[\"worker 0\", \"worker 2\"]")},
            "workers 0 and 2"},
           {"degraded twice",
            "worker-link",
            {"worker 2"},
            {"fault=[{kind = \"degrade\", nodes = [\"worker 2\"], at = \"10ms\", factor = 0.1}, "
             "{kind = \"degrade\", nodes = [\"worker 2\"], at = \"20ms\", factor = 0.2}]"},
            "worker 2 (at 2 % of its bandwidth"},
           {"degraded server",
            "server-link",
            {"server 1"},
            {fault(degraded + "[\"server 1\"]")},
            "server 1 (at"},
           {"nic",
            "worker-link",
            {"worker 2"},
            {"cluster.network.model=nic", fault(degraded + "[\"worker 2\"]")},
            "worker 2"},
           {"thin", "worker-link", {"worker 1"}, hub({{"worker 1", "bandwidth = \"200Mbps\""}}), "worker 1"},
           {"two thin",
            "worker-link",
            {"worker 1", "worker 3"},
            hub({{"worker 1", "bandwidth = \"200Mbps\""}, {"worker 3", "bandwidth = \"200Mbps\""}}),
            "workers 1 and 3"},
           {"thin server",
            "server-link",
            {"server 0"},
            hub({{"server 0", "bandwidth = \"400Mbps\""}}),
            "server 0"},
           {"incast",
            "server-link",
            {"server 0"},
            {"cluster.servers=1", "cluster.network.bandwidth=500Mbps"},
            "server 0"},
           {"incast, nic",
            "server-link",
            {"server 0"},
            {"cluster.servers=1", "cluster.network.bandwidth=500Mbps", "cluster.network.model=nic"},
            "server 0"},
       })
    check(one);
  check({"ring",
         "worker-link",
         {"worker 1"},
         hub({{"worker 1", "bandwidth = \"200Mbps\""}}, false),
         "worker 1"},
        true);
}

TEST_CASE("why: what messages meet on their way", "[why][slow]") {
  std::vector<std::string> all_nodes{"server 0", "server 1"};
  all_nodes.insert(all_nodes.end(), all_workers.begin(), all_workers.end());
  for (const Case& one : std::vector<Case>{
           {"latency", "latency", {}, {"cluster.network.latency=20ms"}, "Latency"},
           {"far worker", "latency", {"worker 2"}, hub({{"worker 2", "latency = \"60ms\""}}), "Latency"},
           {"far server", "latency", {"server 1"}, hub({{"server 1", "latency = \"60ms\""}}), "Latency"},
           {"window",
            "tcp-window",
            {},
            {"cluster.network.latency=1ms", "cluster.network.tcp_window=20kB"},
            "TCP window sets"},
           {"window of a far server",
            "tcp-window",
            {"server 1"},
            with(hub({{"server 1", "latency = \"5ms\""}}), {"cluster.network.tcp_window=20kB"}),
            "TCP window of connections to and from server 1"},
           {"receivers", "endpoint", all_nodes, {"cluster.network.endpoint.receive_overhead=8ms"}, "server"},
           {"senders", "endpoint", all_nodes, {"cluster.network.endpoint.send_overhead=15ms"}, "server"},
           {"bytes", "endpoint", all_nodes, {"cluster.network.endpoint.receive_bandwidth=20MBps"}, "server"},
       })
    check(one);
  check({"ring", "latency", {}, {"cluster.network.latency=20ms"}, "Latency"}, true);
}

TEST_CASE("why: servers, and what a rule waits for", "[why][slow]") {
  const std::vector<std::string> both{"server 0", "server 1"};
  for (const Case& one : std::vector<Case>{
           {"work",
            "server-work",
            both,
            {"cluster.server.flops_per_value=100.0", "cluster.server.speed=1Gf"},
            "servers 0 and 1"},
           {"slow server",
            "server-work",
            {"server 1"},
            {"cluster.server.flops_per_value=20.0", "cluster.server.speed=5Gf",
             fault("kind = \"slow\", nodes = [\"server 1\"], at = \"5ms\", factor = 0.02")},
            "server 1 (50x slower"},
           {"late servers", "startup", both, {"cluster.server.startup=2s"}, "to start"},
           {"late workers", "startup", all_workers, {"cluster.worker.startup=2s"}, "to start"},
           {"a date",
            "barrier",
            {"server 0"},
            {"consistency.window=80ms", straggler("workers = [3], slowdown = 100.0")},
            "date"},
       })
    check(one);
}

TEST_CASE("why: faults", "[why][slow]") {
  for (const Case& one : std::vector<Case>{
           {"crash",
            "fault",
            {"server 1"},
            with(recovers,
                 {"replication.copies=1", fault("kind = \"crash\", nodes = [\"server 1\"], at = \"100ms\"")}),
            "crash of server 1 at 100 ms"},
           {"restart",
            "fault",
            {"server 1"},
            with(recovers,
                 {fault("kind = \"crash\", nodes = [\"server 1\"], at = \"100ms\", restart_after = \"2s\"")}),
            "crash of server 1"},
           {"worker",
            "fault",
            {"worker 1"},
            with(recovers,
                 {fault("kind = \"crash\", nodes = [\"worker 1\"], at = \"100ms\", restart_after = \"1s\"")}),
            "crash of worker 1"},
           {"partition",
            "fault",
            {"worker 1"},
            with(recovers,
                 {fault("kind = \"partition\", between = [[\"worker 1\"], [\"scheduler\", \"server 0\", "
                        "\"server 1\", \"worker 0\", \"worker 2\", \"worker 3\"]], at = \"100ms\", lasts = "
                        "\"1s\"")}),
            "partition of worker 1"},
           {"link down",
            "fault",
            {"worker 2"},
            with(recovers,
                 {fault("kind = \"link-down\", nodes = [\"worker 2\"], at = \"100ms\", lasts = \"1s\"")}),
            "link of worker 2"},
       })
    check(one);
}

TEST_CASE("why: messages that are lost or late, and nodes that are frozen", "[why][slow]") {
  for (const Case& one : std::vector<Case>{
           {"lost",
            "fault",
            {"worker 0"},
            with(recovers,
                 {"recovery.retry=200ms",
                  fault("kind = \"drop\", nodes = [\"worker 0\"], probability = 0.2, messages = [\"push\", "
                        "\"pull\", \"weights\"]")}),
            "Lost messages of worker 0"},
           {"delayed",
            "fault",
            {"worker 0"},
            {fault("kind = \"delay\", nodes = [\"worker 0\"], delay = \"30ms\"")},
            "Delayed messages of worker 0"},
           {"frozen worker",
            "fault",
            {"worker 0"},
            {fault("kind = \"slow\", nodes = [\"worker 0\"], at = \"100ms\", lasts = \"2s\", factor = 0.0")},
            "freeze of worker 0 from 100 ms to 2.1 s"},
           {"frozen server",
            "fault",
            {"server 0"},
            {fault("kind = \"slow\", nodes = [\"server 0\"], at = \"100ms\", lasts = \"2s\", factor = 0.0")},
            "freeze of server 0"},
           {"frozen scheduler",
            "scheduler",
            {"scheduler"},
            with(recovers,
                 {fault(
                     "kind = \"slow\", nodes = [\"scheduler\"], at = \"0s\", lasts = \"2s\", factor = 0.0")}),
            "freeze of the scheduler"},
           {"two faults",
            "fault",
            {"worker 1"},
            with(recovers,
                 {"fault=[{kind = \"link-down\", nodes = [\"worker 1\"], at = \"100ms\", lasts = \"3s\"}, "
                  "{kind = \"degrade\", nodes = [\"worker 2\"], at = \"100ms\", factor = 0.9}]"}),
            "link of worker 1"},
       })
    check(one);
}

TEST_CASE("why: uplinks", "[why][slow]") {
  check({"racks",
         "uplink",
         {"worker 3"},
         {"cluster.network.topology=two-tier", "cluster.network.racks=2",
          "cluster.network.oversubscription=40.0"},
         "rack 1 to core"});
}

TEST_CASE("why: what loads and rules make of links and workers", "[why][slow]") {
  for (const Case& one : std::vector<Case>{
           // Links are alike, and one server has nearly all values.
           {"a large array",
            "server-link",
            {"server 0"},
            {"model.arrays=[2_000_000, 20_000, 20_000]", "placement.kind=greedy",
             "cluster.network.bandwidth=1Gbps"},
            "link of server 0"},
           // The link is narrow for a part of the run; at other times both servers' links are full.
           {"narrow for a while",
            "server-link",
            {"server 1"},
            {"cluster.network.bandwidth=1Gbps", fault("kind = \"degrade\", nodes = [\"server 1\"], at = "
                                                      "\"100ms\", lasts = \"400ms\", factor = 0.05")},
            "server 1 (at 5 % of its bandwidth from 100 ms to 500 ms)"},
           // A worker and a server share the links of a host, with equal traffic.
           {"a host",
            "server-link",
            {"server 1"},
            {"cluster.servers=4", "cluster.colocate=true",
             fault("kind = \"degrade\", nodes = [\"host 1\"], at = \"0s\", factor = 0.02")},
            "server 1 (at 2 % of its bandwidth"},
           // An update needs three of four pushes, so that a slow backup costs nothing.
           {"slow backup",
            "worker-compute",
            all_workers,
            {"consistency={model=\"k-sync\", backup=1, late=\"drop\"}", "cluster.servers=1",
             straggler("workers = [3], slowdown = 3.0")},
            "shared by all workers"},
       })
    check(one);
}

TEST_CASE("why: a stuck run waits for what never comes, and no timeout is invented", "[why]") {
  const std::string crash =
      fault("kind = \"crash\", nodes = [\"worker 1\"], at = \"105ms\", restart_after = \"50ms\"");
  for (const std::string kind : {"all-reduce", "model-parallel"}) {
    INFO(kind);
    ScenarioBuilder scenario =
        ScenarioBuilder::from("[architecture]\nkind = \"" + kind +
                              "\"\n[data]\nsource = \"blobs\"\nfeatures = 8\nclasses = 4\n")
            .set({"model.layers=[8, 8, 8, 4]", "cluster.workers=3", "training.steps=100",
                  "training.batch_size=6", "compute.time=10ms", crash, "recovery.patience=2s"})
            .set(recovers);
    if (kind == "all-reduce") scenario = scenario.set("recovery.workers", "wait");
    const KeptRun run(scenario);
    REQUIRE(exit_code(run.summary()) == 1);
    const Json document = run.told("why");
    const std::string said = document["sentences"].dump();
    INFO(said);
    REQUIRE(document["sentences"].size() == 1);
    CHECK_THAT(said, Catch::StartsWith("[\"The run got stuck after the crash of worker 1 at 105 ms: from "));
    CHECK_THAT(said, Catch::Contains("waits for"));
    CHECK(document["verdict"]["kind"] == "fault");
    for (const Json& wait : document["waits"]) CHECK(wait["kind"] != "timeout");
    CHECK_THAT(run.summary()["notes"].dump(), Catch::Contains("the others wait for it for ever"));
  }
}

TEST_CASE("until a date a recovery counts up to that date", "[why]") {
  const KeptRun run(phantom(1000)
                        .set({"training.batch_size=1", "training.steps=40", "compute.time=10ms",
                              "consistency.model=bsp", "cluster.workers=2", "cluster.servers=2",
                              "replication.copies=1", "recovery.heartbeat=20ms", "recovery.timeout=70ms",
                              "recovery.retry=50ms", "recovery.longest_retry=200ms", "recovery.patience=5s"})
                        .fault("crash", "server 1", {"at=180ms", "restart_after=300ms"}));
  const Json document = run.told("why", {"--at", "0.2s"});
  CHECK(document["by_kind"]["fault"].get<double>() <= 0.02);
  CHECK(document["verdict"]["kind"] == "worker-compute");
}
