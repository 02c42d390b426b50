// All-reduce and pipelines where nodes fail: against runs without faults, formulas, and parameter servers.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

const std::string recovery = R"([recovery]
heartbeat = "10ms"
timeout = "50ms"
retry = "20ms"
patience = "5s"
)";

struct Case {
  std::string architecture = "kind = \"all-reduce\"";
  std::string faults = {};
  std::string lost = "remove";  // recovery.workers
  int workers = 4, steps = 40;
  std::string model = "[data]\nsource = \"digits\"\n[model]\nlayers = [64, 16, 10]\n";
  std::string more = {};
};

Json run(const Case& c) {
  const std::string lost = c.lost.empty() ? "" : fmt::format("workers = \"{}\"\n", c.lost);
  return run_toml(fmt::format(R"({}[architecture]
{}
[training]
batch_size = 8
steps = {}
learning_rate = 0.2
[compute]
time = "10ms"
distribution = "constant"
[cluster]
workers = {}
[cluster.network]
bandwidth = "1GBps"
latency = "100us"
simgrid_model = "cm02"
share_spread = 0.0
{}{}{}{})",
                              c.model, c.architecture, c.steps, c.workers, recovery, lost, c.faults, c.more));
}

std::string all_reduce(const std::string& algorithm) {
  return fmt::format("kind = \"all-reduce\"\nalgorithm = \"{}\"", algorithm);
}

std::string crash(const std::string& worker, const std::string& at, const std::string& restart_after = "") {
  return fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"{}\"]\nat = \"{}\"\n{}", worker, at,
                     restart_after.empty() ? "" : fmt::format("restart_after = \"{}\"\n", restart_after));
}

double loss(const Json& summary) { return summary["final"]["loss"]; }
double seconds(const Json& summary) { return summary["sim_time_s"]; }
const std::string phantom = "[model]\nkind = \"phantom\"\nparameters = 1000000\n";

}  // namespace

TEST_CASE("peers: whatever is lost on its way comes again, and the weights are the same",
          "[oracle][failure]") {
  const std::string lossy =
      "[[fault]]\nkind = \"drop\"\nprobability = 0.05\n[[fault]]\nkind = \"duplicate\"\nprobability = 0.1\n";
  std::vector<Case> cases{{.architecture = "kind = \"model-parallel\"", .lost = "", .workers = 2}};
  for (const char* algorithm : {"ring", "tree", "halving-doubling"})
    cases.push_back({.architecture = all_reduce(algorithm), .lost = "wait"});
  for (Case& one : cases) {
    INFO(one.architecture);
    const Json without = run(one);
    one.faults = lossy;
    const Json with = run(one);
    CHECK(with["stuck"].empty());
    CHECK(with["updates"] == 40);
    CHECK(loss(with) == loss(without));
    CHECK(with["failures"]["repeated_requests"] > 0);
    CHECK(seconds(with) > seconds(without));
  }
}

TEST_CASE("peers: who waits for a lost worker waits for ever", "[oracle][failure]") {
  for (const std::string architecture : {"kind = \"all-reduce\"", "kind = \"model-parallel\""}) {
    const Json told = run({.architecture = architecture,
                           .faults = crash("worker 1", "105ms", "50ms"),
                           .lost = "wait",
                           .workers = 2});
    INFO(told["stuck"].dump());
    REQUIRE(told["stuck"].size() == 2);
    CHECK(told["stuck"][0].get<std::string>().find("worker 0 waits for worker 1 to send its ") !=
          std::string::npos);
    CHECK(told["updates"] < 12);
  }
}

TEST_CASE("peers: a partition delays those that wait by as much as it lasts", "[oracle][failure]") {
  const Json without = run({.lost = "wait"});
  const Json with = run(
      {.faults =
           "[[fault]]\nkind = \"partition\"\nbetween = [[\"worker 1\"], [\"rest\"]]\nfrom = \"0.1s\"\nuntil "
           "= \"0.3s\"\n",
       .lost = "wait"});
  CHECK(loss(with) == loss(without));
  CHECK(with["failures"]["false_suspicions"] == 1);
  // Until the end of the partition, and at most the longest of the waits before a repetition: 20, 40, 80, 160
  // ms.
  CHECK(seconds(with) - seconds(without) >= 0.19);
  CHECK(seconds(with) - seconds(without) <= 0.31);
}

TEST_CASE("peers: a restart from the beginning gives the weights of a run without a crash",
          "[oracle][failure]") {
  for (const char* algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Json without = run({.architecture = all_reduce(algorithm), .lost = "restart"});
    const Json with = run({.architecture = all_reduce(algorithm),
                           .faults = crash("worker 2", "205ms", "95ms"),
                           .lost = "restart"});
    CHECK(loss(with) == loss(without));
    CHECK(with["updates"] == 40);
    // All that was done until the restart is done again.
    CHECK(seconds(with) == Approx(seconds(without) + 0.3).epsilon(0.02));
  }
}

TEST_CASE("peers: a restart from a snapshot does again what came after it", "[oracle][failure]") {
  const std::string snapshots = "[snapshot]\nevery = \"5 updates\"\n";
  const Json without = run({.lost = "restart", .more = snapshots});
  const Json with = run({.faults = crash("worker 2", "205ms", "95ms"), .lost = "restart", .more = snapshots});
  CHECK(loss(with) == loss(without));
  CHECK(without["failures"]["snapshots"] == 7);  // the eighth is on its way when the run ends
  const double step = seconds(without) / 40;
  // The crash comes in step 18, so the last snapshot has 15 updates.
  CHECK(static_cast<int>(0.205 / step) == 18);
  CHECK(seconds(with) == Approx(0.3 + (40 - 15) * step).epsilon(0.02));
}

TEST_CASE("peers: a ring without the lost worker has its own pace", "[oracle][failure]") {
  // 2 (n - 1) rounds of 4 MB / n at 1 GB/s, over two links.
  const auto step = [](int n) { return 0.010 + 2 * (n - 1) * (2e-4 + 4e6 / n / 1e9); };
  const Json told = run({.faults = crash("worker 2", "50ms"), .steps = 200, .model = phantom});
  CHECK(told["updates"] == 200);
  const auto before = static_cast<int>(0.05 / step(4));
  const double noticed = 0.05 + 0.055;  // 50 ms after the last heartbeat, which came within 10 ms
  CHECK(seconds(told) == Approx(noticed + (200 - before) * step(3)).epsilon(0.01));
}

TEST_CASE("peers: a long run in which something may fail comes to its end", "[oracle][failure]") {
  // More steps than those after which a run whose workers compute the same again and again is ended.
  const Json told = run({.faults = crash("worker 2", "50ms", "50ms"), .steps = 800, .model = phantom});
  CHECK(told["stuck"].empty());
  CHECK(told["updates"] == 800);
}

TEST_CASE("peers: the mean is that of the gradients that there are", "[oracle][failure]") {
  const std::string late = "[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"1000s\"\n";
  const Json ring = run({.faults = late});
  Json servers = run({.architecture = "kind = \"parameter-server\"", .faults = late});
  CHECK(ring["updates"] == 40);
  CHECK(loss(ring) == Approx(loss(servers)).epsilon(1e-4));
  CHECK(loss(ring) != Approx(loss(run({}))).epsilon(1e-4));
}

TEST_CASE("peers: who comes back gets the others' copy", "[oracle][failure]") {
  // Worker 0 was away for most of the run; it comes back, and is soon alone.
  std::string faults = crash("worker 0", "105ms", "450ms");
  for (const char* worker : {"worker 1", "worker 2", "worker 3"}) faults += crash(worker, "640ms");
  const Json told = run({.faults = faults, .steps = 60});
  CHECK(told["updates"] == 60);
  CHECK(told["stuck"].empty());
  CHECK(told["failures"]["state_bytes"] > 4 * (64 * 16 + 16 * 10));
  // With its own copy of step 9 it would be where a run of some 20 steps is.
  CHECK(loss(told) < loss(run({.steps = 40})));
  CHECK(loss(run({.steps = 40})) < 0.8 * loss(run({.steps = 20})));
}

TEST_CASE("peers: what no algorithm could do is refused", "[oracle][failure]") {
  const auto refusal = [](const std::string& set, const std::string& architecture) {
    const TemporaryFolder folder;
    const Outcome told = psim::test::psim({"run", "quickstart", "--set", "architecture.kind=" + architecture,
                                           "--set", "recovery.enabled=true", "--set", set, "--out", "run"},
                                          folder.path());
    CHECK(told.code == 2);
    return told.err;
  };
  CHECK(refusal("recovery.workers=remove", "model-parallel")
            .find("needs a copy of the whole model in every worker") != std::string::npos);
  CHECK(refusal("recovery.workers=restart", "parameter-server")
            .find("needs a copy of the whole model in every worker") != std::string::npos);
  CHECK(refusal("architecture.algorithm=halving-doubling", "all-reduce")
            .find("halving-doubling needs a power of two of workers") != std::string::npos);
}
