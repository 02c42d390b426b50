// Why a run took as long as it did, where the answer is known: each part of the critical path against its
// formula.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Seconds: one way, over two links; of a model of 250,000 values at 500 MB/s.
constexpr double latency = 2e-3, transfer = 2e-3;

// Four workers, one server, ten steps of 100 ms.
const ScenarioBuilder base =
    phantom(250'000)
        .set({"training.batch_size=1", "training.steps=10", "consistency.model=bsp", "compute.time=100ms",
              "cluster.workers=4", "cluster.servers=1", "cluster.network.header=0B"})
        .links("500MBps", "1ms");
const ScenarioBuilder late = base.straggler(2, 4), quick = late.set("cluster.network.bandwidth", "50GBps");

Outcome shell(const std::vector<std::string>& words, const TemporaryFolder& folder) {
  return psim::test::psim(words, folder.path());
}

Json why(const ScenarioBuilder& scenario, const std::vector<std::string>& options = {}) {
  const KeptRun run(scenario);
  REQUIRE(run.ask("verify").code == 0);
  Json why = run.told("why", options);
  why["summary"] = run.summary();
  return why;
}

// Seconds of the path, of a kind; of a node too if it is named.
double seconds(const Json& why, const std::string& kind, const std::string& node = "") {
  double sum = 0;
  for (const Json& share : why["shares"]) {
    if (share["kind"] == kind && (node.empty() || share["node"] == node))
      sum += share["seconds"].get<double>();
  }
  return sum;
}

double whole(const Json& why) {
  double sum = 0, reached = 0;
  for (const Json& piece : why["path"]) {
    CHECK(piece["begin_s"] == reached);
    reached = piece["end_s"];
    sum += piece["end_s"].get<double>() - piece["begin_s"].get<double>();
  }
  CHECK(reached == why["total_s"]);
  return sum;
}

std::map<std::pair<int, std::string>, Json> waits(const Json& why) {
  std::map<std::pair<int, std::string>, Json> all;
  for (const Json& wait : why["waits"]) all[{wait["worker"], wait["for"]}] = wait;
  return all;
}

}  // namespace

TEST_CASE("under bsp the critical path is the straggler's", "[oracle][causes]") {
  const Json told = why(late);
  CHECK(whole(told) == Approx(told["summary"]["sim_time_s"].get<double>()).epsilon(1e-12));
  CHECK(seconds(told, "compute", "worker 2") == Approx(10 * 0.4).epsilon(1e-9));
  CHECK(seconds(told, "compute") == Approx(10 * 0.4).epsilon(1e-9));
  // Join, start, pull and first answer, then ten pushes and ten answers. All answers leave at once; the last
  // has no weights.
  CHECK(seconds(told, "network") == Approx(24 * latency + 10 * transfer + 10 * 4 * transfer).epsilon(1e-6));
  // All but the first wait of each worker are for the straggler, as long as they have nothing to do.
  const auto all = waits(told);
  for (const int worker : {0, 1, 3}) {
    const Json& wait = all.at({worker, "worker 2"});
    CHECK(wait["count"] == 10);
    CHECK(wait["mostly"] == "compute");
    CHECK(wait["seconds"].get<double>() == Approx(10 * (0.4 - 0.1)).epsilon(0.08));
  }
  for (const Json& node : told["slack"]) {  // the others could be later by what they wait
    if (node["node"] == "worker 2") CHECK(node["median_s"] == 0);
    if (node["node"] == "worker 0") CHECK(node["median_s"].get<double>() == Approx(0.3).epsilon(0.05));
  }
  CHECK(told["sentences"][0].get<std::string>().find("Worker 2 (4x slower from 0 s on)") == 0);
  CHECK(told["sentences"][1].get<std::string>().find("Workers 0, 1 and 3 were each held up for ") == 0);
}

TEST_CASE("asp waits for nobody, and its path is one worker's", "[oracle][causes]") {
  const Json told = why(quick.set("consistency.model", "asp"));
  for (const auto& [who, wait] : waits(told)) CHECK(who.second == "server 0");
  CHECK(seconds(told, "compute", "worker 2") == Approx(4.0).epsilon(1e-9));  // the last that is through
  CHECK(whole(told) == Approx(4 + 24 * latency).epsilon(0.001));
  CHECK(told["staleness"]["updates_mean"] == told["summary"]["staleness"]["mean"]);
}

TEST_CASE("under ssp workers wait once the bound is used up", "[oracle][causes]") {
  const Json told = why(quick.set({"consistency.model=ssp", "consistency.staleness=3"}));
  // A fast worker may start clock 5 when the straggler has finished two, at 0.8 s; it is ready at 0.5 s.
  const auto all = waits(told);
  for (const int worker : {0, 1, 3}) {
    const Json& wait = all.at({worker, "worker 2"});
    CHECK(wait["count"] == 5);  // before clocks 5 to 9
    CHECK(wait["first_s"].get<double>() == Approx(0.5 + 12 * latency).epsilon(0.01));
  }
  CHECK(told["sentences"][1].get<std::string>().find("a lead of 3 clocks is used up after 52") !=
        std::string::npos);
}

TEST_CASE("an incast is the server's network", "[oracle][causes]") {
  const Json told = why(base.set("compute.time", "1us"));
  CHECK(seconds(told, "compute") < 1e-4);
  // Four pushes share the server's link, and four answers do: each takes four times as long as alone.
  CHECK(seconds(told, "network") == Approx(24 * latency + 20 * 4 * transfer).epsilon(0.01));
  for (const auto& [who, wait] : waits(told)) {
    CHECK(who.second == "server 0");
    CHECK(wait["mostly"] == "network");
  }
  CHECK(told["sentences"][0].get<std::string>().find("The link of server 0 sets the pace") == 0);
  // Of the path's messages 24 have latency; the 20 of a whole model take three times as long again as alone.
  CHECK(told["network"]["latency_s"].get<double>() == Approx(24 * latency).epsilon(1e-6));
  CHECK(told["network"]["alone_s"].get<double>() == Approx(20 * transfer).epsilon(1e-6));
  CHECK(told["network"]["sharing_s"].get<double>() == Approx(20 * 3 * transfer).epsilon(1e-3));
  // Both directions of the server's link are full while anything is on it, and nobody else's ever is.
  REQUIRE(told["links"].size() >= 2);
  for (std::size_t link = 0; link < 2; ++link) {
    const Json& use = told["links"][link];
    CHECK(use["link"].get<std::string>().find("server 0") == 0);
    CHECK(use["busy_s"].get<double>() == Approx(10 * 4 * transfer).epsilon(1e-3));
    CHECK(use["full_s"].get<double>() == Approx(use["busy_s"].get<double>()).epsilon(1e-3));
    CHECK(use["use_while_busy"].get<double>() == Approx(1).epsilon(1e-3));
  }
  for (std::size_t link = 2; link < told["links"].size(); ++link) CHECK(told["links"][link]["full_s"] == 0);
}

TEST_CASE("work on a server is its own kind of time, with the pushes before it in its queue",
          "[oracle][causes][slow]") {
  // 250,000 values of 40 flops at 1 Gf: 10 ms a push.
  const ScenarioBuilder work = base.set({"cluster.server.speed=1Gf", "cluster.server.flops_per_value=40.0",
                                         "cluster.network.bandwidth=500GBps"});
  const Json told = why(work);
  CHECK(seconds(told, "service", "server 0") == Approx(10 * 4 * 0.010).epsilon(1e-3));
  CHECK(seconds(told, "compute") == Approx(10 * 0.1).epsilon(1e-9));
  CHECK(whole(told) == Approx(told["summary"]["sim_time_s"].get<double>()).epsilon(1e-12));
  // A push that comes 10 ms after the others waits for them: what decides is when they came.
  const Json queued = why(work.straggler(3, 1.1));
  CHECK(seconds(queued, "service", "server 0") == Approx(10 * 4 * 0.010).epsilon(1e-3));
  CHECK(seconds(queued, "compute", "worker 3") == 0);
  // Of asp the pushes are taken one by one, and the last worker's last push is answered last.
  const Json answered = why(work.set("consistency.model", "asp"));
  CHECK(seconds(answered, "compute") == Approx(10 * 0.1).epsilon(1e-9));
  CHECK(seconds(answered, "service") > 10 * 0.010);
  CHECK(seconds(answered, "idle") == 0);
}

TEST_CASE("after a crash the path goes through the time until it was noticed", "[oracle][causes][failure]") {
  const Json told = why(base.fault("crash", "server 1", {"at=450ms"})
                            .set({"cluster.servers=2", "replication.copies=1", "recovery.heartbeat=50ms",
                                  "recovery.timeout=500ms"}));
  double noticed = 0;
  for (const Json& piece : told["path"]) {
    if (piece["kind"] != "timeout" || piece["node"] != "scheduler") continue;
    CHECK(piece["begin_s"] == 0.45);
    noticed = piece["end_s"].get<double>() - piece["begin_s"].get<double>();
  }
  // The last heartbeat left at most 50 ms before the crash.
  CHECK(noticed > 0.5 - 0.051);
  CHECK(noticed < 0.5 + 0.002);
  CHECK(noticed ==
        Approx(told["summary"]["failures"]["recoveries"][0]["detection_s"].get<double>()).epsilon(1e-9));
  CHECK(seconds(told, "compute") == Approx(10 * 0.1).epsilon(0.1));
}

TEST_CASE("a worker that comes back was down on the path if the others wait for it",
          "[oracle][causes][failure]") {
  const Json told =
      why(base.set("recovery.workers", "wait").fault("crash", "worker 1", {"at=250ms", "restart_after=2s"}));
  CHECK(seconds(told, "down", "worker 1") == Approx(2.0).epsilon(1e-9));
}

TEST_CASE("a repetition is a time in which no answer came", "[oracle][causes][failure]") {
  // The link is cut for 30 ms when all push: what is lost is sent again.
  const Json told = why(base.add(
      "fault", {"kind=partition", "between=[[\"worker 0\"], [\"server 0\"]]", "from=100ms", "until=150ms"}));
  CHECK(seconds(told, "timeout") > 0.05);
  CHECK(seconds(told, "compute") == Approx(10 * 0.1).epsilon(1e-9));
}

TEST_CASE("without servers the path goes around the ring, or through the stages", "[oracle][causes]") {
  const Json ring =
      why(phantom(250'000)
              .set({"architecture.kind=all-reduce", "training.batch_size=1", "training.steps=10",
                    "compute.time=100ms", "cluster.workers=4", "cluster.network.header=0B"})
              .links("500MBps", "1ms")
              .straggler(2, 4));
  CHECK(seconds(ring, "compute", "worker 2") == Approx(10 * 0.4).epsilon(1e-9));
  CHECK(seconds(ring, "compute") == Approx(10 * 0.4).epsilon(1e-9));
  // Six rounds of a quarter of the model each.
  CHECK(seconds(ring, "network") == Approx(2 * latency + 10 * 6 * (latency + transfer / 4)).epsilon(0.02));
  CHECK(whole(ring) == Approx(ring["summary"]["sim_time_s"].get<double>()).epsilon(1e-12));
}

TEST_CASE("two runs differ by what their paths differ by", "[oracle][causes]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "case.toml") << quick.toml();
  REQUIRE(shell({"run", "case.toml", "--out", "bsp"}, folder).code == 0);
  REQUIRE(shell({"run", "case.toml", "--out", "fast", "--set", "straggler.0.slowdown=2"}, folder).code == 0);
  const Outcome told = shell({"why", "bsp", "fast", "--json"}, folder);
  INFO(told.err);
  REQUIRE(told.code == 0);
  const Json both = Json::parse(told.out);
  double sum = 0;
  for (const Json& change : both["differences"]) sum += change["difference_s"].get<double>();
  CHECK(sum == Approx(both["difference_s"].get<double>()).epsilon(1e-9));
  CHECK(both["differences"][0]["node"] == "worker 2");
  CHECK(both["differences"][0]["kind"] == "compute");
  CHECK(both["differences"][0]["difference_s"].get<double>() == Approx(-10 * 0.2).epsilon(1e-9));
  // The first thing that differs is the straggler's first step, which ends sooner.
  CHECK(both["parting"]["at_s"].get<double>() == Approx(0.2).epsilon(0.05));
  const Outcome same = shell({"why", "bsp", "bsp", "--json"}, folder);
  CHECK(Json::parse(same.out)["parting"].is_null());
  CHECK(Json::parse(same.out)["difference_s"] == 0);
}

TEST_CASE("why answers for a part of a run, and says what it cannot answer", "[causes][slow]") {
  const Json half = why(late, {"--at", "2s"});
  CHECK(half["total_s"] == 2.0);
  CHECK(half["until"] == "2 s");
  whole(half);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "case.toml") << base.toml();
  REQUIRE(shell({"run", "case.toml", "--out", "run", "--trace", "steps"}, folder).code == 0);
  const Outcome no_events = shell({"why", "run"}, folder);
  CHECK(no_events.code == 2);
  CHECK(no_events.err.find("--trace events") != std::string::npos);
  REQUIRE(shell({"run", "case.toml", "--out", "run", "--force"}, folder).code == 0);
  const Outcome no_target = shell({"why", "run", "--until", "target"}, folder);
  CHECK(no_target.code == 2);
  CHECK(no_target.err.find("did not reach a target") != std::string::npos);
  CHECK(shell({"why", "nowhere"}, folder).code == 2);
  CHECK(shell({"why", "run", "--at", "soon"}, folder).code == 2);
}

TEST_CASE("a gradient is the fresh one as long as nothing was applied in between", "[oracle][causes]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "case.toml")
      << ScenarioBuilder({"model.layers=[64, 10]", "training.batch_size=16", "training.steps=12",
                          "cluster.workers=4", "cluster.servers=2", "compute.time=10ms"})
             .straggler(1, 3)
             .toml();
  const auto gradients = [&](const std::string& model) {
    REQUIRE(shell({"run", "case.toml", "--out", model, "--set", "consistency.model=" + model}, folder).code ==
            0);
    const Outcome told = shell({"why", model, "--gradients", "--json"}, folder);
    INFO(told.err);
    REQUIRE(told.code == 0);
    return Json::parse(told.out).at("gradients");
  };
  const Json bsp = gradients("bsp"), asp = gradients("asp");
  CHECK(bsp["count"] == 4 * 12);
  CHECK(bsp["cosine_min"].get<double>() == Approx(1).epsilon(1e-6));
  CHECK(bsp["length_ratio_mean"].get<double>() == Approx(1).epsilon(1e-6));
  CHECK(asp["count"] == 4 * 12);
  CHECK(asp["cosine_mean"].get<double>() < 0.999);
  CHECK(asp["by_staleness"].size() > 2);
  for (const Json& row : asp["by_staleness"]) {
    if (row["staleness"] == 0) CHECK(row["cosine_min"].get<double>() == Approx(1).epsilon(1e-6));
    else CHECK(row["cosine_mean"].get<double>() < 1 - 1e-6);
  }
  // There is nothing to compare in a phantom model.
  std::ofstream(folder.path() / "phantom.toml") << base.toml();
  REQUIRE(shell({"run", "phantom.toml", "--out", "phantom"}, folder).code == 0);
  CHECK(shell({"why", "phantom", "--gradients"}, folder).code == 2);
  CHECK(shell({"why", "bsp", "asp", "--gradients"}, folder).code == 2);
}
