// Ranges that move with their servers, against consistent hashing and against the mean load; and a shard that
// is cut while training goes on, against training without.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Case {
  std::string unit = "range", placement = "kind = \"hash-ring\"\nvirtual_nodes = 5", rebalance = "load";
  std::string faults = {}, more = {}, recovery = {};
  std::string model = "kind = \"phantom\"\nparameters = 100000";
  std::string consistency = "asp";
  int servers = 5, seed = 1;
  std::string training = "duration = \"2s\"";
};

ScenarioBuilder toml_of(const Case& c) {
  return ScenarioBuilder({"training.batch_size=8", "compute.time=10ms", "compute.distribution=constant",
                          "cluster.workers=4", "recovery.enabled=true", "recovery.heartbeat=20ms",
                          "recovery.timeout=200ms", "recovery.retry=30ms"})
      .links("1GBps", "50us")
      .set("seed", c.seed)
      .with("model", c.model)
      .with("training", c.training)
      .set("consistency.model", c.consistency)
      .set("cluster.servers", c.servers)
      .with("placement", c.placement)
      .set("messages.unit", c.unit)
      .set("recovery.rebalance", c.rebalance)
      .with("recovery", c.recovery)
      .with(c.faults)
      .with(c.more);
}

std::string fault(const std::string& kind, const std::string& node, const std::string& at,
                  const std::string& more = "") {
  return fmt::format("[[fault]]\nkind = \"{}\"\nnodes = [\"{}\"]\nat = \"{}\"\n{}", kind, node, at, more);
}

// By server, parameters at the end.
std::vector<std::int64_t> held(const Json& summary) {
  std::vector<std::int64_t> result;
  for (const Json& server : summary["servers"]) result.push_back(server["parameters"]);
  return result;
}

struct Loads {
  std::vector<double> before, after;
};
Loads loads(const Json& summary, std::size_t which) {
  Loads result;
  for (const Json& server : summary["failures"]["rebalances"].at(which)["servers"]) {
    result.before.push_back(server["load_before_per_s"]);
    result.after.push_back(server["load_after_per_s"]);
  }
  return result;
}

}  // namespace

// Karger et al., 1997: keys move only from the server that leaves, all of its keys, and to several others.
TEST_CASE("a leaver's ranges go to their neighbours, and no others move", "[ranges][slow]") {
  for (const int seed : {1, 2, 3}) {
    const Case stays{.rebalance = "placement", .seed = seed};
    Case leaves = stays;
    leaves.faults = fault("leave", "server 2", "500ms");
    const TracedRun run = toml_of(leaves).trace();
    const std::vector<std::int64_t> before = held(toml_of(stays).run()), after = held(run.summary);
    CHECK(after[2] == 0);
    std::int64_t moved = 0;
    std::size_t takers = 0;
    for (std::size_t s = 0; s < before.size(); ++s) {
      if (s == 2) continue;
      CHECK(after[s] >= before[s]);
      moved += after[s] - before[s];
      takers += after[s] > before[s] ? 1U : 0U;
    }
    CHECK(moved == before[2]);
    CHECK(takers >= 2);
    CHECK(run.summary["failures"]["rebalances"].at(0)["parameters"] == before[2]);
    CHECK(run.summary["failures"]["rebalances"].at(0)["cuts"] == 0);
  }
}

// A server that joins takes what the ring gives it: 1 / (n + 1) in expectation, and from several.
TEST_CASE("a joiner takes its part of the ring", "[ranges][slow]") {
  double share = 0;
  constexpr int seeds = 12;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Case all{.placement = "kind = \"hash-ring\"\nvirtual_nodes = 20",
                   .rebalance = "placement",
                   .seed = seed,
                   .training = "duration = \"600ms\""};
    Case joins = all;
    joins.faults = fault("join", "server 4", "200ms");
    const Json summary = toml_of(joins).run();
    CHECK(held(summary) == held(toml_of(all).run()));  // as if it had always been there
    share += static_cast<double>(held(summary)[4]) / 100000 / seeds;
  }
  // Dirichlet: a server's share of n + 1 with v points each has the variance of Beta(v, n v).
  const double n = 4, v = 20, sd = std::sqrt(n / ((n + 1) * (n + 1) * ((n + 1) * v + 1)));
  CHECK(share == Approx(1 / (n + 1)).epsilon(0).margin(4 * sd / std::sqrt(seeds)));
}

// With a dense model the load of a server is in proportion to its values.
TEST_CASE("a joiner takes the mean load, whether shards are ranges or whole servers' parts", "[ranges]") {
  for (const char* unit : {"range", "server"}) {
    INFO(unit);
    const Json summary =
        toml_of({.unit = unit, .faults = fault("join", "server 4", "1s"), .servers = 5}).run();
    REQUIRE(summary["failures"]["rebalances"].size() == 1);
    const Loads measured = loads(summary, 0);
    double before = 0, after = 0;
    for (std::size_t s = 0; s < 5; ++s) {
      before += measured.before[s];
      after += measured.after[s];
    }
    CHECK(measured.before[4] == 0);
    CHECK(after == Approx(before).epsilon(0.05));
    CHECK(measured.after[4] == Approx(after / 5).epsilon(0.08));
    const std::vector<std::int64_t> values = held(summary);
    CHECK(values[4] == Approx(20000).epsilon(0.051));
    const auto most = *std::ranges::max_element(measured.before);
    for (std::size_t s = 0; s < 4; ++s) CHECK(measured.after[s] <= most * 1.02);
    CHECK(values[0] + values[1] + values[2] + values[3] + values[4] == 100000);
    if (std::string(unit) == "server") CHECK(summary["failures"]["rebalances"].at(0)["cuts"] > 0);
  }
}

// Under bsp every update is the mean of all workers' gradients, wherever the parts of the model are.
TEST_CASE("a cut changes no weight", "[ranges][slow]") {
  const Case alone{.unit = "server",
                   .placement = "kind = \"even\"",
                   .model = "layers = [64, 10, 10]\nprecision = \"float64\"",
                   .consistency = "bsp",
                   .servers = 3,
                   .training = "steps = 60\nlearning_rate = 0.1"};
  const std::string data = "[data]\nsource = \"digits\"\n";
  const auto weights_of = [&](Case c) {
    c.more += data;
    const Json summary = toml_of(c).run();
    CHECK(summary["failures"]["rebalances"].size() >= 1);
    std::int64_t cuts = 0;
    for (const Json& one : summary["failures"]["rebalances"]) cuts += one["cuts"].get<std::int64_t>();
    CHECK(cuts >= 1);
    return Json(summary["model"]["weights"]);
  };
  Case still = alone;
  still.more = data;
  const Json expected = toml_of(still).run()["model"]["weights"];
  const std::string join = fault("join", "server 2", "200ms");
  const std::string copies = "[replication]\ncopies = 1\n", every_push = copies + "when = \"every-push\"\n";
  const std::string lossy =
      "[[fault]]\nkind = \"drop\"\nprobability = 0.1\nfrom = \"150ms\"\nuntil = \"400ms\"\n";
  const std::string doubled =
      "[[fault]]\nkind = \"duplicate\"\nprobability = 0.3\nfrom = \"150ms\"\nuntil = \"400ms\"\n";
  std::vector<Case> cases;
  for (const std::string& more : {std::string(), copies, every_push}) {
    for (const std::string& faults : {join, join + lossy, join + doubled}) {
      for (const char* hand_over : {"two-phase", "stop-and-copy"}) {
        Case c = alone;
        c.faults = faults;
        c.more = more;
        c.recovery = fmt::format("hand_over = \"{}\"\n", hand_over);
        cases.push_back(c);
      }
    }
  }
  for (const char* at : {"200500us", "201ms", "203ms", "210ms", "300ms"}) {
    for (const char* who : {"server 0", "server 1", "server 2"}) {
      Case c = alone;
      c.faults = join + fault("crash", who, at, "restart_after = \"100ms\"\n");
      c.more = copies;
      cases.push_back(c);
    }
  }
  for (const Case& c : cases) {
    INFO(toml_of(c).toml());
    CHECK(weights_of(c) == expected);
  }
}

// Workers' copies and lists of keys, updates that close on a date, inference nodes' weights.
TEST_CASE("what others keep of a shard goes on where it is cut", "[ranges][slow]") {
  const Case joins{.unit = "server",
                   .placement = "kind = \"even\"",
                   .faults = fault("join", "server 2", "300ms"),
                   .consistency = "ssp",
                   .servers = 3,
                   .training = "duration = \"1s\""};
  Case sparse = joins;
  sparse.model = "kind = \"logistic\"";
  sparse.more =
      "[data]\nsource = \"clicks\"\nsamples = 500\nfeatures = 2000\nnonzeros = 10\n"
      "[[filter]]\nkind = \"key-caching\"\n";
  const std::vector<std::pair<Case, FieldValues>> cases{
      {joins, {"consistency.staleness=3", "consistency.cache=true"}},
      {joins, {"consistency.model=bsp", "consistency.deadline=12ms"}},
      {joins, {"inference.refresh=20ms", "inference.rate=200"}},
      {sparse, {"messages.keys=per-value"}}};
  for (const auto& [one, more] : cases) {
    const ScenarioBuilder scenario = toml_of(one).set(more);
    INFO(scenario.toml());
    const KeptRun run(scenario);
    REQUIRE(exit_code(run.summary()) == 0);
    const Json moved = run.summary()["failures"]["rebalances"].at(0);
    CHECK(moved["parameters"] > 0);
    if (one.model == joins.model) CHECK(moved["cuts"] >= 1);
    run.check_promises();
  }
}
