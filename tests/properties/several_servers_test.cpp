// Servers hear the same pushes in different orders, and an update takes the first k of them. Each server on
// its own could take other workers than its neighbour, until every worker waits for an update that lacks it
// somewhere.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

// Slow unequal connections: pushes overtake one another on the way to different servers.
std::string scenario(const std::string& consistency, int seed, const std::string& model,
                     const std::string& compute) {
  return fmt::format(R"(seed = {}
{}
[training]
batch_size = 1
steps = 20
[consistency]
{}
[compute]
{}
[cluster]
workers = 5
servers = 4
[cluster.network]
latency = "5ms"
bandwidth = "10Mbps"
share_spread = 2.0
header = "64B"
)",
                     seed, model, consistency, compute);
}

const std::string phantom = "[model]\nkind = \"phantom\"\nparameters = 5000";
const std::string learned = "[data]\nsource = \"blobs\"\nsamples = 60\n[model]\nlayers = [2, 4, 3]";

void never_stuck(const std::string& consistency) {
  for (int seed = 1; seed <= 25; ++seed) {
    const std::string& model = seed % 5 == 0 ? learned : phantom;
    const char* compute = seed % 3 == 0 ? "time = \"0s\"" : "time = \"10ms\"\ndistribution = \"exponential\"";
    const Json run = run_toml(scenario(consistency, seed, model, compute));
    INFO(consistency << ", seed " << seed << "\n" << run["stuck"].dump());
    CHECK(run["stuck"].empty());
    CHECK(run["updates"] >= 20);
  }
}

}  // namespace

TEST_CASE("several servers: k-sync that cancels is never stuck", "[servers]") {
  for (const int k : {1, 2, 4}) never_stuck(fmt::format("model = \"k-sync\"\nk = {}", k));
}

TEST_CASE("several servers: k-sync that drops is never stuck", "[servers]") {
  for (const int k : {1, 2, 4}) never_stuck(fmt::format("model = \"k-sync\"\nk = {}\nlate = \"drop\"", k));
}

TEST_CASE("several servers: k-batch-sync is never stuck", "[servers]") {
  for (const char* late : {"cancel", "drop"}) {
    for (const int k : {1, 2, 4})
      never_stuck(fmt::format("model = \"k-batch-sync\"\nk = {}\nlate = \"{}\"", k, late));
  }
}

TEST_CASE("several servers: k-async is never stuck", "[servers]") {
  for (const int k : {2, 3, 4}) never_stuck(fmt::format("model = \"k-async\"\nk = {}", k));
}

TEST_CASE("several servers: k-batch-async is never stuck", "[servers]") {
  for (const int k : {2, 3, 4}) never_stuck(fmt::format("model = \"k-batch-async\"\nk = {}", k));
}
