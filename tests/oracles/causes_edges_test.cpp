// Why runs took as long as they did, where something unusual decides: against a run or a formula that says
// so.
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

const std::string base = R"([model]
kind = "phantom"
parameters = 1000
[training]
batch_size = 1
steps = 10
[compute]
time = "10ms"
[cluster.network]
latency = "10us"
share_spread = 0.0
)";

Json why(const std::string& rest, const std::vector<std::string>& sets = {}) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "case.toml") << base + rest;
  std::vector<std::string> words{"run", "case.toml", "--out", "run"};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const Outcome run = psim::test::psim(words, folder.path());
  INFO(run.err << run.out);
  REQUIRE(run.code <= 1);
  REQUIRE(psim::test::psim({"verify", "run"}, folder.path()).code == 0);
  const Outcome told = psim::test::psim({"why", "run", "--json"}, folder.path());
  INFO(told.err);
  REQUIRE(told.code == 0);
  return Json::parse(told.out);
}

double share(const Json& why, const std::string& kind, const std::string& node = "") {
  double sum = 0;
  for (const Json& one : why["shares"]) {
    if (one["kind"] == kind && (node.empty() || one["node"] == node)) sum += one["share"].get<double>();
  }
  return sum;
}

const std::string cluster = "[cluster]\nworkers = 4\nservers = 1\n";
const std::string working = "cluster.server={speed=\"100kf\",flops_per_value=1.0}";  // 10 ms a push

}  // namespace

TEST_CASE("a server's work is its own whatever else is on", "[oracle][causes][slow]") {
  const Json alone = why(cluster, {working});
  // Four pushes of 10 ms each in a step, after 10 ms of computing.
  CHECK(share(alone, "service") == Approx(0.8).epsilon(0.02));
  CHECK(share(alone, "compute") == Approx(0.2).epsilon(0.05));
  for (const char* more :
       {"recovery.enabled=true", "snapshot={every=\"5 updates\"}", "replication.copies=1"}) {
    INFO(more);
    std::vector<std::string> sets{working, more};
    if (std::string(more).starts_with("replication")) sets.emplace_back("cluster.servers=2");
    const Json with = why(cluster, sets);
    CHECK(share(with, "idle") < 0.01);
    CHECK(share(with, "service") > 0.6);
  }
  // Inference is answered beside it, and is no cause of training's end.
  const Json serving = why(cluster, {working, "inference={nodes=2,rate=100,refresh=\"20ms\"}"});
  CHECK(share(serving, "service") == Approx(share(alone, "service")).epsilon(0.02));
  for (const Json& piece : serving["path"])
    CHECK(piece["node"].get<std::string>().find("inference") == std::string::npos);
}

TEST_CASE("a storage that writes is at work", "[oracle][causes][failure]") {
  // 4 kB at 20 kB/s: 200 ms a snapshot; the new owner waits for all that are written before its own request.
  const Json told = why("[cluster]\nworkers = 4\nservers = 2\n",
                        {"snapshot={every=\"2 updates\",bandwidth=\"10kBps\"}",
                         "fault=[{kind=\"crash\",nodes=[\"server 1\"],at=\"70ms\"}]",
                         "recovery={heartbeat=\"20ms\",timeout=\"100ms\",retry=\"10s\"}"});
  CHECK(share(told, "service", "storage") > 0.4);
  CHECK(share(told, "idle") < 0.02);
}

TEST_CASE("updates that a crash makes necessary again are said", "[oracle][causes][failure]") {
  const std::vector<std::string> crash{"training.steps=60",
                                       "fault=[{kind=\"crash\",nodes=[\"server 1\"],at=\"205ms\"}]",
                                       "recovery={heartbeat=\"20ms\",timeout=\"100ms\",retry=\"20ms\"}"};
  const auto last_sentence = [&](const std::string& more) {
    std::vector<std::string> sets = crash;
    if (!more.empty()) sets.push_back(more);
    return why("[cluster]\nworkers = 4\nservers = 3\n", sets)["sentences"].back().get<std::string>();
  };
  const std::string lost = last_sentence("");
  INFO(lost);
  CHECK(lost.find("After server 1 crashed at 205 ms it took ") == 0);
  CHECK(lost.find(" ms to notice it, ") != std::string::npos);
  const std::string again = " ms to make lost updates again.";
  REQUIRE(lost.ends_with(again));
  const std::size_t number = lost.rfind(' ', lost.size() - again.size() - 1);
  // Its shard had 20 versions, of 10 ms of computing and of two messages each.
  CHECK(std::stod(lost.substr(number)) == Approx(20 * 10.05).epsilon(0.02));
  const std::string kept = last_sentence("replication.copies=1");
  INFO(kept);
  CHECK(kept.ends_with(" ms to notice it."));
}

TEST_CASE("messages that wait for their turn are the network's", "[oracle][causes]") {
  const Json told =
      why(cluster, {"messages={unit=\"array\",order=\"fifo\"}", "model.parameters=40000",
                    "model.arrays=[10000,10000,10000,10000]", "cluster.network.bandwidth=10MBps"});
  CHECK(share(told, "service") == 0);
  CHECK(share(told, "idle") < 0.01);
  CHECK(share(told, "network") > 0.7);
}

TEST_CASE("a tree's second message leaves after its first", "[oracle][causes]") {
  const Json told =
      why("[cluster]\nworkers = 4\n", {"architecture={kind=\"all-reduce\",algorithm=\"tree\"}"});
  CHECK(share(told, "timeout") == 0);
  CHECK(share(told, "idle") < 1e-3);
}

TEST_CASE("a wait that goes on at the end counts, and so does what it is for", "[oracle][causes]") {
  const Json told =
      why("[cluster]\nworkers = 2\nservers = 1\n[[straggler]]\nworkers = [1]\nslowdown = 100.0\n",
          {"training.duration=900ms"});
  CHECK(share(told, "compute", "worker 1") > 0.98);
  bool is_there = false;
  for (const Json& wait : told["waits"]) {
    if (wait["worker"] != 0 || wait["for"] != "worker 1") continue;
    is_there = true;
    CHECK(wait["count"] == 1);
    CHECK(wait["seconds"].get<double>() == Approx(0.89).epsilon(0.01));
  }
  CHECK(is_there);
}

TEST_CASE("a run that ends when the last worker is given up ends with that silence",
          "[oracle][causes][failure]") {
  const Json told = why("[cluster]\nworkers = 2\nservers = 1\n",
                        {"consistency.model=asp", "fault=[{kind=\"crash\",nodes=[\"worker 1\"],at=\"50ms\"}]",
                         "recovery={timeout=\"2s\"}"});
  CHECK(share(told, "timeout", "scheduler") > 0.95);
  CHECK(told["path"].back()["cause"].get<std::string>().find("worker 1") != std::string::npos);
}

TEST_CASE("a straggler is described as it is", "[causes][slow]") {
  const auto first = [](const std::string& rows) {
    const Json told = why("[cluster]\nworkers = 2\nservers = 1\n", {"straggler=" + rows});
    return told["sentences"][0].get<std::string>();
  };
  CHECK(first("[{workers=[1],slowdown=3}]").find("Worker 1 (3x slower from 0 s on)") == 0);
  CHECK(first("[{workers=[1],slowdown=2},{workers=[1],slowdown=6}]").find("Worker 1 (a straggler)") == 0);
  CHECK(
      first("[{workers=[1],slowdown=9},{workers=[1],slowdown=6,from=\"10s\"}]").find("Worker 1 (9x slower") ==
      0);
  CHECK(first("[{workers=[1],slowdown=20,from=\"5ms\",until=\"100ms\",every=\"200ms\"}]")
            .find("again and again") != std::string::npos);
}
