// The system of Li et al., "Scaling distributed machine learning with the parameter server" (OSDI 2014), as a
// whole: the scenario osdi14 shows the orderings of the paper's figures.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

Json run(const std::vector<std::string>& sets) { return run_file("scenarios/osdi14.toml", sets); }

Json with_filters(const std::string& filters) {
  // A penalty under which one weight in 50 is left, as in the paper's model.
  return run({"filter=" + filters, "training.l1=5e-3", "fault=[]", "replication.copies=0"});
}

double bytes(const Json& run, const std::string& kind) { return run["bytes_by_kind"][kind].get<double>(); }
double of_servers(const Json& run) { return bytes(run, "weights"); }
double of_workers(const Json& run) { return bytes(run, "push") + bytes(run, "pull"); }

struct Bounded {
  double time_s, updates, compute, wait;  // until the target; shares of the workers' time
};

Bounded with_delay(int tau) {
  const Json json = run({"consistency.staleness=" + std::to_string(tau), "training.target={loss = 0.58}",
                         "training.steps=200", "training.evaluate_every=20ms", "compute.cv=1", "fault=[]",
                         "replication.copies=0"});
  REQUIRE(json["target"]["reached"] == true);
  Bounded result{.time_s = json["target"]["sim_time_s"], .updates = 0, .compute = 0, .wait = 0};
  for (const Json& worker : json["workers"]) {
    result.updates += worker["clocks"].get<double>();
    result.compute += worker["compute_share"].get<double>() / static_cast<double>(json["workers"].size());
    result.wait += worker["wait_share"].get<double>() / static_cast<double>(json["workers"].size());
  }
  return result;
}

}  // namespace

TEST_CASE("figure 11 of OSDI 2014: each filter saves bytes, where the paper says", "[osdi14][slow]") {
  const Json plain = with_filters("[]"), keys = with_filters("[{kind = \"key-caching\"}]"),
             packed = with_filters("[{kind = \"key-caching\"}, {kind = \"snappy\"}]"),
             all = with_filters("[{kind = \"kkt\"}, {kind = \"key-caching\"}, {kind = \"snappy\"}]");
  // A key is as long as a value, so without keys half is left; of pulls nearly nothing.
  CHECK(of_servers(keys) / of_servers(plain) == Approx(0.5).margin(0.02));
  CHECK(bytes(keys, "push") / bytes(plain, "push") == Approx(0.5).margin(0.05));
  CHECK(of_workers(keys) < 0.5 * of_workers(plain));
  // Most weights are zero, gradients are not: packing helps the servers.
  CHECK(of_servers(packed) < 0.25 * of_servers(keys));
  CHECK(of_workers(packed) > 0.9 * of_workers(keys));
  // A gradient that cannot move a weight away from zero is not sent: kkt helps the workers.
  CHECK(of_workers(all) < 0.2 * of_workers(packed));
  CHECK(of_servers(all) < of_servers(packed));
  // And costs little of what is learned.
  CHECK(all["final"]["loss"].get<double>() == Approx(plain["final"]["loss"].get<double>()).epsilon(0.01));
  CHECK(keys["final"] == plain["final"]);
  CHECK(packed["final"] == plain["final"]);
}

TEST_CASE("figures 10 and 12 of OSDI 2014: bounded delay waits less, and needs more clocks",
          "[osdi14][slow]") {
  const Bounded none = with_delay(0);
  CHECK(none.wait > none.compute);
  Bounded last = none;
  for (const int tau : {1, 2, 4, 8, 16}) {
    CAPTURE(tau);
    const Bounded next = with_delay(tau);
    CHECK(next.wait < last.wait);
    CHECK(next.compute > last.compute);
    CHECK(next.time_s < none.time_s);
    CHECK(next.updates > none.updates);
    last = next;
  }
  CHECK(last.wait < 0.05);
}

TEST_CASE("section 4.3 of OSDI 2014: a sum is copied once, not each of its pushes", "[osdi14][slow]") {
  const auto copied = [](const std::string& when, int copies) {
    return bytes(run({"replication.when=" + when, "replication.copies=" + std::to_string(copies), "fault=[]",
                      "filter=[]"}),
                 "replicate");
  };
  const double pushes = copied("every-push", 1), sums = copied("after-aggregation", 1);
  CHECK(sums < pushes);
  CHECK(copied("every-push", 2) == 2 * pushes);
  CHECK(copied("after-aggregation", 2) == 2 * sums);
}

TEST_CASE("OSDI 2014 with filters, replicas and a crash: noticed within a second, and nothing lost",
          "[osdi14][slow]") {
  const Json with = run({}), without = run({"fault=[]"}), alone = run({"replication.copies=0"});
  REQUIRE(with["failures"]["recoveries"].size() == 1);
  CHECK(with["failures"]["recoveries"][0]["total_s"].get<double>() < 1);
  CHECK(with["final"] == without["final"]);
  CHECK(with["sim_time_s"].get<double>() > without["sim_time_s"].get<double>());
  CHECK(alone["final"] != without["final"]);
}
