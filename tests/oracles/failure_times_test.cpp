// How long failures take, and what insuring against them costs, against theory: how soon a timeout notices a
// crash, what copies send, how often snapshots should be written, how quickly a shard has an owner again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double heartbeat = 0.4, timeout = 1.5;  // seconds
constexpr int crashing = 48;                      // workers, beside worker 0
constexpr int first_worker = 2;                   // node; before them scheduler and server

// A network without latency, on which a heartbeat takes some nanoseconds.
TracedRun crashes(const std::vector<double>& dates) {
  ScenarioBuilder scenario = phantom(10)
                                 .set({"training.batch_size=1", "training.duration=6s",
                                       "consistency.model=asp", "compute.time=1s", "cluster.servers=1"})
                                 .links("10GBps", "0s")
                                 .set("cluster.workers", 1 + crashing)
                                 .set("recovery.heartbeat", fmt::format("{}s", heartbeat))
                                 .set("recovery.timeout", fmt::format("{}s", timeout));
  for (int i = 0; i < crashing; ++i)
    scenario = scenario.fault("crash", fmt::format("worker {}", 1 + i),
                              {fmt::format("at={:.17g}s", dates[static_cast<std::size_t>(i)])});
  return scenario.trace();
}

// From each crash to its suspicion, in the order of the workers.
std::vector<double> delays(const TracedRun& run, const std::vector<double>& dates) {
  std::vector<double> result(crashing, HUGE_VAL);
  for (const RecordedEvent& e : run.events) {
    if (!e.is("suspicion")) continue;
    const auto i = static_cast<std::size_t>(e.peer - first_worker - 1);
    result.at(i) = e.at - dates.at(i);
  }
  CHECK(run.summary["failures"]["suspicions"] == crashing);
  CHECK(run.summary["failures"]["false_suspicions"] == 0);
  return result;
}

// The largest distance between the distribution of a sample and the uniform one over (low, high].
double kolmogorov_smirnov(std::vector<double> sample, double low, double high) {
  std::ranges::sort(sample);
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = (sample[i] - low) / (high - low), rank = static_cast<double>(i);
    distance = std::max({distance, f - rank / n, (rank + 1) / n - f});
  }
  return distance;
}

Json shipped(const std::string& name, const std::vector<std::string>& sets) {
  return run_file("scenarios/" + name + ".toml", sets);
}

}  // namespace

// The last heartbeat before the crash was sent up to a heartbeat's interval h earlier, at any time within it;
// D after that one the node is suspected. So the delay is uniform over (D - h, D].
TEST_CASE("a timeout notices a crash after a delay that is uniform over the last heartbeat's age",
          "[failures]") {
  const std::vector<double> at_once(crashing, 2.0);
  const TracedRun run = crashes(at_once);
  const std::vector<double> random = delays(run, at_once);
  std::map<int, double> last;  // heartbeat of each node before 2 s
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "heartbeat") && e.at < 2) last[e.node] = e.at;
  }
  std::vector<double> dates;
  for (int i = 0; i < crashing; ++i) {
    const double heard = last.at(first_worker + 1 + i);
    CHECK(random[static_cast<std::size_t>(i)] == Approx(heard + timeout - 2).margin(1e-6));
    dates.push_back(heard + heartbeat * (1 + (i + 0.5) / crashing));
  }
  // Each node begins its heartbeats at a random date: a sample of the uniform distribution, which stays below
  // 1.63 / sqrt(n) with probability 0.99 (Kolmogorov's distribution).
  CHECK(kolmogorov_smirnov(random, timeout - heartbeat, timeout) < 1.63 / std::sqrt(crashing));
  // Crashes that are spread evenly over the interval, in the middle of n equal parts of it: so are the
  // delays, and the step function is never further from the straight line than half a step, 1 / (2 n).
  const std::vector<double> even = delays(crashes(dates), dates);
  CHECK(kolmogorov_smirnov(even, timeout - heartbeat, timeout) == Approx(0.5 / crashing).epsilon(1e-4));
  CHECK(*std::ranges::min_element(even) > timeout - heartbeat);
  CHECK(*std::ranges::max_element(even) <= timeout);
}

// n pushes of M bytes to each of k replicas, or one sum of them (Li et al., OSDI 2014, section 4.4). Each
// push is named in its entry, by 12 bytes.
TEST_CASE("replication_cost: n k M bytes an update, or k M, in a star as in a chain", "[failures]") {
  const double updates = 10, copies = 2, workers = 8, servers = 4, bytes = 4e6;
  const double names = updates * copies * servers * workers * 12;
  std::map<std::string, double> time;
  for (const char* layout : {"primary", "chain"}) {
    const auto run = [&](const std::string& when) {
      const Json s = shipped("replication_cost", {"training.steps=10", "replication.copies=2",
                                                  fmt::format("replication.when=\"{}\"", when),
                                                  fmt::format("replication.layout=\"{}\"", layout)});
      time[when] = s["sim_time_s"];
      return s["failures"]["replication_bytes"].get<double>();
    };
    CHECK(run("after-aggregation") == updates * copies * bytes + names);
    const double every = run("every-push"), least = updates * workers * copies * bytes + names;
    CHECK(every >= least);
    // What is sent while the first copy of a shard is on its way is sent again.
    CHECK(every <= least + workers * copies * (bytes + servers * 13));
    CHECK(time["every-push"] > 1.3 * time["after-aggregation"]);
  }
  const Json without = shipped("replication_cost", {"training.steps=10"});
  CHECK_FALSE(without.contains("failures"));
  CHECK(without["sim_time_s"].get<double>() < time["after-aggregation"]);
}

namespace {

double time_per_update(const std::string& snapshot_every) {
  const Json s = shipped("checkpoint_interval", {"fault=[]", "training.duration=100s",
                                                 fmt::format("snapshot.every=\"{}\"", snapshot_every)});
  return 100 / s["updates"].get<double>();
}

// Young, CACM 1974: a snapshot every T costs C / T of the time, and each crash on average T / 2. How many
// steps the best of the intervals is from the one that is best by this.
std::ptrdiff_t distance_from_young(double mtbf, double duration) {
  const double update = time_per_update("1000s"), cost = time_per_update("1 update") - update;
  // A snapshot shares the link of 1 GB/s with the weights: 100 MB more delay an update by 0.1 s.
  CHECK(cost == Approx(0.1).epsilon(0.1));
  std::vector<double> updates, losses;
  for (const int n : {1, 2, 4, 8, 16, 32, 64}) {
    const Json s = shipped("checkpoint_interval", {fmt::format("fault.0.mtbf={}s", mtbf),
                                                   fmt::format("training.duration={}s", duration),
                                                   fmt::format("snapshot.every=\"{} updates\"", n)});
    updates.push_back(s["updates"]);
    const double interval = n * update;
    losses.push_back(cost / interval + interval / (2 * mtbf));
  }
  const auto measured = std::ranges::max_element(updates) - updates.begin();
  const auto theory = std::ranges::min_element(losses) - losses.begin();
  INFO("mtbf " << mtbf << ": best is number " << measured << ", in theory " << theory);
  CHECK(measured > 0);
  CHECK(measured < 6);
  return std::abs(measured - theory);
}

}  // namespace

TEST_CASE("checkpoint_interval: the best is next to sqrt(2 C MTBF), of 50 s", "[failures][slow]") {
  CHECK(distance_from_young(50, 1500) <= 1);  // 6 updates
}

TEST_CASE("checkpoint_interval: the best is next to sqrt(2 C MTBF), of 400 s", "[failures][slow]") {
  CHECK(distance_from_young(400, 3000) <= 1);  // 17 updates
}

// A shard of 12 kB on a network of 10 Gb/s: what it takes is messages, not bytes.
TEST_CASE("a small shard has an owner within milliseconds once its server's crash is noticed", "[failures]") {
  for (const std::string& copy : {std::string("replication.copies=1"), std::string("snapshot.every=200ms")}) {
    const Json s =
        shipped("server_crash", {copy, "recovery.timeout=1s", "training.epochs=12", "fault.0.at=500ms"});
    const Json recovery = s["failures"]["recoveries"].at(0);
    INFO(copy << " " << recovery.dump());
    CHECK(recovery["detection_s"].get<double>() > 0.5);
    CHECK(recovery["detection_s"].get<double>() < 1.01);
    CHECK(recovery["takeover_s"].get<double>() + recovery["transfer_s"].get<double>() < 0.02);
    // A replica has everything at once; after a snapshot 200 ms of work are done again.
    const bool replica = copy.starts_with("replication");
    CHECK(recovery["catch_up_s"].get<double>() < (replica ? 1e-9 : 0.5));
  }
}

namespace {

// From the last update of server 1, which goes, to the date at which the shard has its next owner.
double pause(const std::string& hand_over) {
  const TracedRun run =
      ScenarioBuilder({"data.source=clicks", "data.samples=4000", "data.features=1000000", "data.nonzeros=20",
                       "model.kind=logistic", "training.duration=6s", "training.batch_size=50",
                       "training.optimizer=adagrad", "training.learning_rate=0.1", "consistency.model=asp",
                       "cluster.workers=4", "cluster.servers=2", "cluster.worker.speed=100kf",
                       "cluster.network.bandwidth=20Mbps", "cluster.network.simgrid_model=cm02",
                       "cluster.network.share_spread=0.0", "recovery.hand_over=\""})
          .fault("leave", "server 1", {"at=1s"})
          .set("recovery.hand_over", hand_over)
          .trace();
  double last = 0;
  for (const RecordedEvent& e : run.events) {
    if (e.is("promotion")) return e.at - last;
    if (e.is("model_update") && e.node == 2) last = e.at;
  }
  return HUGE_VAL;
}

}  // namespace

// The shard has half a million weights, and as many sums of squares: 4 MB over 2.5 MB/s.
TEST_CASE("two phases make workers wait for a shard's last changes, stop-and-copy for all of it",
          "[oracle][slow]") {
  const double transfer = 4e6 / 2.5e6;
  CHECK(pause("stop-and-copy") > transfer);
  CHECK(pause("two-phase") < transfer / 8);
}
