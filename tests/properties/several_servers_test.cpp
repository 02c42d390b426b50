// Servers hear the same pushes in different orders, and an update takes the first k of them. Each server on
// its own could take other workers than its neighbour, until every worker waits for an update that lacks it
// somewhere.
#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Case {
  std::string consistency;
  int workers = 5, servers = 4, steps = 20;
  std::string compute = "time = \"10ms\"\ndistribution = \"exponential\"";
  std::string model = "[model]\nkind = \"phantom\"\nparameters = 5000";
  std::string network = "latency = \"5ms\"\nbandwidth = \"10Mbps\"";
  std::string shares = "share_spread = 2.0\nheader = \"64B\"";
};

// Unequal connections: pushes overtake one another on the way to different servers.
ScenarioBuilder scenario(const Case& c, int seed) {
  return ScenarioBuilder({"training.batch_size=1"})
      .set("seed", seed)
      .with(c.model)
      .set("training.steps", c.steps)
      .with("consistency", c.consistency)
      .with("compute", c.compute)
      .set("cluster.workers", c.workers)
      .set("cluster.servers", c.servers)
      .with("cluster.network", c.network)
      .with("cluster.network", c.shares);
}

void never_stuck(const Case& c, int first_seed, int last_seed) {
  for (int seed = first_seed; seed <= last_seed; ++seed) {
    const Json run = scenario(c, seed).run();
    INFO(c.consistency << ", seed " << seed << "\n" << run["stuck"].dump());
    CHECK(run["stuck"].empty());
    CHECK(run["updates"] >= c.steps);
  }
}

std::string model(const char* name, int k, const char* late = nullptr) {
  return fmt::format("model = \"{}\"\nk = {}{}", name, k,
                     late == nullptr ? "" : fmt::format("\nlate = \"{}\"", late));
}

const std::string learned = "[data]\nsource = \"blobs\"\nsamples = 60\n[model]\nlayers = [2, 4, 3]";

}  // namespace

TEST_CASE("several servers: k-sync is never stuck", "[servers][slow]") {
  for (const char* late : {"cancel", "drop"}) {
    for (const int k : {2, 4}) never_stuck({.consistency = model("k-sync", k, late)}, 1, 15);
  }
}

TEST_CASE("several servers: k-sync with very uneven steps is never stuck", "[servers][slow]") {
  Case c{.servers = 5,
         .steps = 12,
         .compute = "time = \"20ms\"\ndistribution = \"gamma\"\ncv = 3.0",
         .model = learned,
         .network =
             "latency = \"50us\"\nbandwidth = \"100Mbps\"\nsimgrid_model = \"cm02\"\ncross_traffic = true"};
  for (const char* late : {"cancel", "drop"}) {
    for (const int k : {1, 2, 3}) {
      c.consistency = model("k-sync", k, late);
      never_stuck(c, 24, 40);
    }
  }
}

TEST_CASE("several servers: k-batch-sync is never stuck", "[servers][slow]") {
  for (const char* late : {"cancel", "drop"}) {
    for (const int k : {2, 4}) never_stuck({.consistency = model("k-batch-sync", k, late)}, 1, 15);
  }
}

TEST_CASE("several servers: k-batch-sync goes on for the last server", "[servers][slow]") {
  Case c{
      .workers = 6,
      .servers = 3,
      .steps = 16,
      .compute = "time = \"0s\"",
      .model = "[model]\nkind = \"phantom\"\nparameters = 27",
      .network = "latency = \"50us\"\nbandwidth = \"1Mbps\"\ntopology = \"two-tier\"\ncross_traffic = true",
      .shares = "share_spread = 0.0"};
  for (const char* late : {"cancel", "drop"}) {
    for (const int k : {1, 2, 3, 5}) {
      c.consistency = model("k-batch-sync", k, late);
      never_stuck(c, 1, 2);
    }
  }
}

TEST_CASE("several servers: k-async is never stuck", "[servers][slow]") {
  for (const int k : {2, 3, 4}) never_stuck({.consistency = model("k-async", k)}, 1, 10);
}

TEST_CASE("several servers: k-batch-async is never stuck", "[servers][slow]") {
  for (const int k : {2, 3, 4}) never_stuck({.consistency = model("k-batch-async", k)}, 1, 10);
}

TEST_CASE("several servers: a server may be through before a worker has its first weights",
          "[servers][slow]") {
  Case c{.workers = 4,
         .servers = 2,
         .steps = 2,
         .compute = "time = \"0s\"",
         .model = learned,
         .network = "latency = \"5ms\"\nbandwidth = \"1Mbps\"\ntopology = \"two-tier\""};
  for (const char* name : {"k-sync", "k-batch-sync"}) {
    for (const char* late : {"cancel", "drop"}) {
      c.consistency = model(name, 2, late);
      never_stuck(c, 1, 15);
    }
  }
}
