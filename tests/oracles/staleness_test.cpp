// Staleness of an applied push: versions that passed between the pull of its weights and the update that it
// is part of. Each update makes every gradient in hand one older, so on an ideal network the sum of all ages
// is an exact integer, whatever the distribution of step times and the workers' speeds; means follow from it.
#include <map>
#include <set>
#include <vector>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const std::string speeds =
    "[cluster.worker]\nspeed = [\"2Gf\", \"1Gf\", \"500Mf\", \"125Mf\", \"1Gf\", \"800Mf\", \"3Gf\", "
    "\"50Mf\"]\n";
const std::string gamma_times = "distribution = \"gamma\"\ncv = 1.5";

// What one server saw.
struct Ages {
  std::int64_t updates = 0, sum_applied = 0, sum_in_hand = 0;
  int contradictions = 0;  // pushes whose staleness is not what their version says
};

Ages ages_at(int server, const std::vector<RecordedEvent>& events) {
  Ages ages;
  std::map<int, std::multiset<std::int64_t>>
      in_hand;  // of each worker: versions of weights sent, not yet applied
  for (const RecordedEvent& e : events) {
    if (e.node != server) continue;
    if (e.is("sent", "weights")) in_hand[e.peer].insert(e["version"]);
    if (e.is("model_update")) ages.updates = e["version"];
    if (!e.is("push_outcome", "applied")) continue;
    ages.sum_applied += e["staleness_updates"];
    auto& versions = in_hand[e.peer];
    const auto found = versions.find(e["version"]);
    if (found == versions.end() || e["staleness_updates"] != ages.updates - e["version"])
      ++ages.contradictions;
    if (found != versions.end()) versions.erase(found);
  }
  for (const auto& [worker, versions] : in_hand) {
    for (const std::int64_t version : versions) ages.sum_in_hand += ages.updates - version;
  }
  return ages;
}

// `aged`: gradients in hand that an update makes older.
void check_identity(const Ideal& scenario, int aged) {
  const TracedRun run = toml(scenario).trace();
  INFO(scenario.consistency << ", P = " << scenario.workers << ", " << scenario.compute);
  for (int server = 1; server <= scenario.servers; ++server) {
    const Ages ages = ages_at(server, run.events);
    CHECK(ages.updates > 500);
    CHECK(ages.contradictions == 0);
    CHECK(ages.sum_applied + ages.sum_in_hand == ages.updates * aged);
  }
  CHECK(run.summary["staleness"]["mean"].get<double>() * run.summary["pushes"]["applied"].get<double>() ==
        Approx(double(ages_at(1, run.events).sum_applied) * scenario.servers));
}

double mean_staleness(const Ideal& scenario) {
  const Json run = toml(scenario).run();
  INFO(scenario.consistency << ", P = " << scenario.workers << ", " << scenario.compute);
  CHECK(run["pushes"]["applied"].get<double>() >= 1e5);
  return run["staleness"]["mean"].get<double>();
}

std::string model(const char* name, int k) { return fmt::format("model = \"{}\"\nk = {}", name, k); }

}  // namespace

TEST_CASE("staleness identity of finite runs: asp ages P - 1 gradients an update", "[oracle][slow]") {
  for (const std::string& compute :
       {Ideal{}.compute, gamma_times, std::string("distribution = \"pareto\"\nalpha = 1.5")}) {
    check_identity({.consistency = R"(model = "asp")", .workers = 8, .duration = 600, .compute = compute}, 7);
  }
  check_identity(
      {.consistency = R"(model = "asp")", .workers = 8, .duration = 600, .time = "", .cluster = speeds}, 7);
  check_identity({.consistency = R"(model = "asp")", .workers = 1, .duration = 1000}, 0);
  check_identity({.consistency = R"(model = "asp")", .workers = 5, .duration = 300, .servers = 3}, 4);
}

TEST_CASE("staleness identity of finite runs: k-batch-async ages P - 1 gradients an update",
          "[oracle][slow]") {
  for (const int k : {1, 3, 8}) {
    check_identity({.consistency = model("k-batch-async", k), .workers = 8, .duration = 700}, 7);
    check_identity({.consistency = model("k-batch-async", k),
                    .workers = 8,
                    .duration = 600,
                    .compute = gamma_times,
                    .time = "",
                    .cluster = speeds},
                   7);
  }
}

TEST_CASE("staleness identity of finite runs: k-async ages P - k gradients an update", "[oracle][slow]") {
  for (const int k : {1, 3, 6, 8}) {
    check_identity({.consistency = model("k-async", k), .workers = 8, .duration = 1600}, 8 - k);
    check_identity({.consistency = model("k-async", k),
                    .workers = 8,
                    .duration = k < 8 ? 2000.0 : 20000.0,
                    .compute = gamma_times,
                    .time = "",
                    .cluster = speeds},
                   8 - k);
  }
}

TEST_CASE("mean staleness of asp is P - 1, whatever the distribution and the speeds", "[oracle][slow]") {
  CHECK(mean_staleness({.consistency = R"(model = "asp")", .workers = 8, .duration = 13000}) ==
        Approx(7).epsilon(0.001));
  CHECK(mean_staleness(
            {.consistency = R"(model = "asp")", .workers = 3, .duration = 34000, .compute = gamma_times}) ==
        Approx(2).epsilon(0.001));
  CHECK(mean_staleness({.consistency = R"(model = "asp")",
                        .workers = 8,
                        .duration = 12500,
                        .time = "",
                        .cluster = speeds}) == Approx(7).epsilon(0.001));
}

TEST_CASE("mean staleness of k-batch-async is (P - 1) / k", "[oracle][slow]") {
  CHECK(mean_staleness({.consistency = model("k-batch-async", 2), .workers = 30, .duration = 3500}) ==
        Approx(14.5).epsilon(0.001));
  CHECK(mean_staleness({.consistency = model("k-batch-async", 8),
                        .workers = 8,
                        .duration = 13000,
                        .compute = gamma_times}) == Approx(7.0 / 8).epsilon(0.001));
}

TEST_CASE("mean staleness of k-async is P / k - 1", "[oracle][slow]") {
  CHECK(mean_staleness({.consistency = model("k-async", 6), .workers = 8, .duration = 23000}) ==
        Approx(1.0 / 3).epsilon(0.001));
  CHECK(mean_staleness(
            {.consistency = model("k-async", 2), .workers = 8, .duration = 14500, .compute = gamma_times}) ==
        Approx(3).epsilon(0.001));
}

TEST_CASE("no synchronous model applies a stale gradient", "[oracle]") {
  for (const std::string& consistency :
       {std::string(R"(model = "bsp")"), std::string("model = \"ssp\"\nstaleness = 0"), model("k-sync", 4),
        model("k-sync", 4) + "\nlate = \"drop\"", model("k-batch-sync", 4),
        model("k-batch-sync", 4) + "\nlate = \"drop\"", model("k-async", 8)}) {
    const Json run = toml({.consistency = consistency,
                           .duration = 500,
                           .cluster = "[[straggler]]\nworkers = [1]\nslowdown = 5.0\n"})
                         .run();
    INFO(consistency);
    CHECK(run["updates"] > 50);
    CHECK(run["staleness"]["mean"] == 0);
    CHECK(run["staleness"]["max"] == 0);
  }
}

TEST_CASE("asp with exponential steps: staleness is geometric", "[oracle][slow]") {
  const TracedRun run = (toml({.consistency = R"(model = "asp")", .workers = 8, .duration = 6000})).trace();
  std::map<std::int64_t, double> seen;
  double n = 0, sum = 0, squares = 0;
  for (const RecordedEvent& e : run.events) {
    if (!e.is("push_outcome", "applied")) continue;
    const auto value = static_cast<double>(e["staleness_updates"]);
    ++seen[e["staleness_updates"]];
    ++n;
    sum += value;
    squares += value * value;
  }
  CHECK(n > 45'000);
  for (int l = 0; l < 40; ++l) {
    const double p = std::pow(7.0 / 8, l) / 8;
    INFO("staleness " << l);
    CHECK(seen[l] / n == Approx(p).epsilon(0).margin(4 * std::sqrt(p * (1 - p) / n)));
  }
  const double kurtosis = 9 + 1 / 56.0;  // of a geometric distribution: 9 + p^2 / (1 - p)
  CHECK(squares / n - sum / n * (sum / n) ==
        Approx(56).epsilon(0).margin(4 * 56 * std::sqrt((kurtosis - 1) / n)));
}
