// All-reduce and pipelines where nodes fail: against runs without faults, formulas, and parameter servers.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Case {
  std::string architecture = "kind = \"all-reduce\"";
  std::string faults = {};
  std::string lost = "remove";  // recovery.workers
  int workers = 4, steps = 40;
  std::string model = "[data]\nsource = \"digits\"\n[model]\nlayers = [64, 16, 10]\n";
  std::string more = {};
};

Json run(const Case& c) {
  const ScenarioBuilder scenario =
      ScenarioBuilder({"training.batch_size=8", "training.learning_rate=0.2", "compute.time=10ms",
                       "compute.distribution=constant", "recovery.heartbeat=10ms", "recovery.timeout=50ms",
                       "recovery.retry=20ms", "recovery.patience=5s"})
          .links("1GBps", "100us")
          .with(c.model)
          .with("architecture", c.architecture)
          .set("training.steps", c.steps)
          .set("cluster.workers", c.workers)
          .with("recovery", c.faults)
          .with(c.more);
  return (c.lost.empty() ? scenario : scenario.set("recovery.workers", c.lost)).run();
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
const std::string large = "[model]\nkind = \"phantom\"\nparameters = 1000000\n";

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
  CHECK(without["failures"]["snapshots"] == 8);  // the last one is there before all have met at the end
  const double step = seconds(without) / 40;
  // The crash comes in step 18, so the last snapshot has 15 updates.
  CHECK(static_cast<int>(0.205 / step) == 18);
  CHECK(seconds(with) == Approx(0.3 + (40 - 15) * step).epsilon(0.02));
}

TEST_CASE("peers: a ring without the lost worker has its own pace", "[oracle][failure]") {
  // 2 (n - 1) rounds of 4 MB / n at 1 GB/s, over two links.
  const auto step = [](int n) { return 0.010 + 2 * (n - 1) * (2e-4 + 4e6 / n / 1e9); };
  const Json told = run({.faults = crash("worker 2", "50ms"), .steps = 200, .model = large});
  CHECK(told["updates"] == 200);
  const auto before = static_cast<int>(0.05 / step(4));
  const double noticed = 0.05 + 0.055;  // 50 ms after the last heartbeat, which came within 10 ms
  CHECK(seconds(told) == Approx(noticed + (200 - before) * step(3)).epsilon(0.01));
}

TEST_CASE("peers: a long run in which something may fail comes to its end", "[oracle][failure]") {
  // More steps than those after which a run whose workers compute the same again and again is ended.
  const Json told = run({.faults = crash("worker 2", "50ms", "50ms"), .steps = 800, .model = large});
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

TEST_CASE("peers: stages go back to the newest version that all of them have stored",
          "[oracle][failure][rings]") {
  const std::string pipeline = "kind = \"model-parallel\"";
  for (const std::string every : {"5 updates", "60ms"}) {
    for (const std::string worker : {"worker 0", "worker 1"}) {
      INFO(every << ", " << worker);
      const std::string snapshots = fmt::format("[snapshot]\nevery = \"{}\"\n", every);
      const Json without =
          run({.architecture = pipeline, .lost = "restart", .workers = 2, .more = snapshots});
      const Json with = run({.architecture = pipeline,
                             .faults = crash(worker, "305ms", "95ms"),
                             .lost = "restart",
                             .workers = 2,
                             .more = snapshots});
      CHECK(with["stuck"].empty());
      CHECK(with["updates"] == 40);
      CHECK(loss(with) == loss(without));
      const double step = seconds(without) / 40;
      const int at_crash = static_cast<int>(0.305 / step);
      CHECK(seconds(with) > 0.4 + (40 - at_crash) * step);
      CHECK(seconds(with) < 0.4 + (40 - at_crash + 7) * step + 0.05);
    }
  }
}

// The last stage is through with a step first, and stores its weights; the other may crash before it does.
// And a slow disk takes 41 ms for the first stage's 4 kB, 6 ms for the other's.
TEST_CASE("peers: stages go back together, whatever each of them has stored",
          "[oracle][failure][rings][slow]") {
  for (const std::string disk : {"", "bandwidth = \"100kBps\"\n"}) {
    const Case base{.architecture = "kind = \"model-parallel\"",
                    .lost = "restart",
                    .workers = 2,
                    .more = "[snapshot]\nevery = \"5 updates\"\n" + disk};
    const Json without = run(base);
    const double step = seconds(without) / 40;
    for (int part = 0; part < 24; ++part) {
      Case one = base;
      one.faults = crash(part % 2 == 0 ? "worker 0" : "worker 1",
                         fmt::format("{:.3f}ms", 1e3 * step * (24 + part / 8.0)), "5ms");
      INFO(disk << one.faults);
      const Json with = run(one);
      CHECK(with["stuck"].empty());
      CHECK(loss(with) == loss(without));
      CHECK(seconds(with) < 55 * step);  // from the beginning it would take more than 64
    }
  }
}

// Nobody is left who knows how far the others were.
TEST_CASE("peers: the scheduler and all workers crash at once", "[oracle][failure][rings]") {
  for (const std::string architecture : {"kind = \"model-parallel\"", "kind = \"all-reduce\""}) {
    double last = 0;
    for (const std::string snapshots : {"", "[snapshot]\nevery = \"5 updates\"\n"}) {
      INFO(architecture << snapshots);
      Case one{.architecture = architecture, .lost = "restart", .workers = 2, .more = snapshots};
      const Json without = run(one);
      for (const std::string node : {"scheduler", "worker 0", "worker 1"})
        one.faults += crash(node, "305ms", "5ms");
      const Json with = run(one);
      CHECK(with["stuck"].empty());
      CHECK(with["updates"] == 40);
      CHECK(loss(with) == loss(without));
      CHECK((last == 0 || seconds(with) < last - 0.1));  // what was stored need not be done again
      last = seconds(with);
    }
  }
}

TEST_CASE("peers: clocks that others finish without a worker are not its own", "[oracle][failure]") {
  const Json told = run({.faults = "[[fault]]\nkind = \"slow\"\nfactor = 0.0\nnodes = [\"worker 0\"]\n"
                                   "from = \"105ms\"\nuntil = \"305ms\"\n"});
  CHECK(told["updates"] == 40);
  for (const Json& worker : told["workers"])
    CHECK(worker["samples"].get<int>() == worker["clocks"].get<int>() * worker["batch_size"].get<int>());
  CHECK(told["workers"][0]["clocks"] < told["workers"][1]["clocks"]);
}

TEST_CASE("peers: a pipeline without snapshots begins anew", "[oracle][failure][rings]") {
  const Case base{
      .architecture = "kind = \"model-parallel\"\nschedule = \"1f1b\"", .lost = "restart", .workers = 2};
  const Json without = run(base);
  Case crashing = base;
  crashing.faults = crash("worker 1", "205ms", "95ms");
  const Json with = run(crashing);
  CHECK(loss(with) == loss(without));
  CHECK(seconds(with) == Approx(seconds(without) + 0.3).epsilon(0.03));
}

TEST_CASE("peers: the recovery of a lost worker is told in parts", "[oracle][failure][rings]") {
  const auto step = [](int n) { return 0.010 + 2 * (n - 1) * (2e-4 + 4e6 / n / 1e9); };
  const Json told = run({.faults = crash("worker 2", "50ms"), .steps = 60, .model = large});
  REQUIRE(told["failures"]["recoveries"].size() == 1);
  const Json elastic = told["failures"]["recoveries"][0];
  CHECK(elastic["worker"] == 2);
  CHECK(elastic["at_s"] == 0.05);
  // 50 ms after the last heartbeat, which came within 10 ms.
  CHECK(elastic["detection_s"].get<double>() >= 0.04);
  CHECK(elastic["detection_s"].get<double>() <= 0.051);
  CHECK(elastic["reforming_s"].get<double>() < 0.003);  // views, standings and their answers
  CHECK(elastic["lost_work_s"].get<double>() == Approx(step(3)).epsilon(0.02));
  CHECK(elastic["total_s"].get<double>() ==
        Approx(elastic["detection_s"].get<double>() + elastic["reforming_s"].get<double>() +
               elastic["lost_work_s"].get<double>()));

  const Json again = run({.faults = crash("worker 2", "205ms", "95ms"),
                          .lost = "restart",
                          .more = "[snapshot]\nevery = \"5 updates\"\n"});
  const Json restarted = again["failures"]["recoveries"].at(0);
  // Step 18 was in hand, and versions 16, 17 and 18 are made again.
  const double usual = seconds(run({.lost = "restart"})) / 40;
  CHECK(restarted["lost_work_s"].get<double>() == Approx(4 * usual).epsilon(0.03));
  CHECK(restarted["detection_s"].get<double>() + restarted["reforming_s"].get<double>() ==
        Approx(0.1).epsilon(0.1));
}

TEST_CASE("peers: halving-doubling goes on with any number", "[oracle][failure][rings]") {
  const Json told = run({.architecture = all_reduce("halving-doubling"),
                         .faults = crash("worker 2", "50ms", "200ms"),
                         .steps = 100,
                         .model = large});
  CHECK(told["stuck"].empty());
  CHECK(told["updates"] == 100);
}

TEST_CASE("peers: a worker that leaves does its step, and the others go on at their own pace",
          "[oracle][failure][rings]") {
  const auto step = [](int n) { return 0.010 + 2 * (n - 1) * (2e-4 + 4e6 / n / 1e9); };
  const std::string leaves = "[[fault]]\nkind = \"leave\"\nnodes = [\"worker 3\"]\nat = \"200ms\"\n";
  const Json told = run({.faults = leaves, .steps = 100, .model = large});
  CHECK(told["stuck"].empty());
  CHECK(told["updates"] == 100);
  CHECK(told["failures"]["suspicions"] == 0);
  const auto before = static_cast<int>(0.2 / step(4)) + 1;
  CHECK(seconds(told) == Approx(before * step(4) + (100 - before) * step(3)).epsilon(0.02));
  CHECK(told["workers"][3]["samples"] == 8 * before);

  const std::string back = leaves + "[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"500ms\"\n";
  const Json returned = run({.faults = back, .steps = 100, .model = large});
  CHECK(returned["updates"] == 100);
  CHECK(returned["workers"][3]["samples"].get<int>() > 8 * (before + 10));
}

TEST_CASE("peers: the samples of a worker that is gone are the others'", "[oracle][failure][rings]") {
  // It never comes: the others deal out all samples among them, as servers' workers do.
  const std::string late = "[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"1000s\"\n";
  Case one{.faults = "lost_data = \"reassign\"\n" + late};
  const Json ring = run(one);
  one.architecture = "kind = \"parameter-server\"";
  const Json servers = run(one);
  CHECK(loss(ring) == Approx(loss(servers)).epsilon(1e-4));
  one = {.faults = late};
  CHECK(loss(ring) != Approx(loss(run(one))).epsilon(1e-4));
}

TEST_CASE("peers: whoever waits lives through a frozen, a slow and a late member",
          "[oracle][failure][rings][slow]") {
  for (const std::string architecture : {"kind = \"all-reduce\"", "kind = \"model-parallel\""}) {
    INFO(architecture);
    const Case base{.architecture = architecture, .lost = "wait", .workers = 2};
    const Json without = run(base);
    const auto with = [&](const std::string& fault) {
      Case one = base;
      one.faults = "[[fault]]\n" + fault;
      const Json told = run(one);
      INFO(fault);
      CHECK(told["stuck"].empty());
      CHECK(loss(told) == loss(without));
      return seconds(told) - seconds(without);
    };
    const double frozen =
        with("kind = \"slow\"\nnodes = [\"worker 1\"]\nfactor = 0.0\nfrom = \"0.1s\"\nuntil = \"0.3s\"\n");
    CHECK(frozen >= 0.2 - 0.011);  // what was on its way when the worker froze is of a step of 10 ms
    CHECK(frozen <= 0.31);         // and the longest of the waits before a repetition
    CHECK(
        with("kind = \"slow\"\nnodes = [\"worker 1\"]\nfactor = 0.5\nfrom = \"0.1s\"\nuntil = \"0.3s\"\n") <=
        0.11);
    const double late = with("kind = \"join\"\nnodes = [\"worker 1\"]\nat = \"0.25s\"\n");
    CHECK(late >= 0.25);
    CHECK(late <= 0.301);  // the first message to it is repeated after 20, 60, 140 and 300 ms
  }
}

TEST_CASE("peers: a lost worker in the middle of overlap, of filters and of local steps",
          "[oracle][failure][rings][slow]") {
  const std::vector<std::string> settings{
      "[messages]\nunit = \"array\"\noverlap = true\n", "[[filter]]\nkind = \"one-bit\"\n",
      "[[filter]]\nkind = \"top-k\"\nfraction = 0.05\n",
      "[messages]\nunit = \"array\"\noverlap = true\nslice = 100\n[[filter]]\nkind = \"fp16\"\n"};
  for (const std::string& more : settings) {
    for (const std::string lost : {"remove", "restart"}) {
      INFO(more << lost);
      const Json told = run({.faults = crash("worker 2", "205ms", "95ms"), .lost = lost, .more = more});
      CHECK(told["stuck"].empty());
      CHECK(told["updates"] == 40);
      const Json without = run({.lost = lost, .more = more});
      if (lost == "restart") CHECK(loss(told) == loss(without));
      else CHECK(loss(told) < 1.5 * loss(without));
    }
  }
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
  CHECK(refusal("recovery.workers=restart", "parameter-server").find("needs workers that hold the model") !=
        std::string::npos);
  CHECK(refusal("fault=[{kind=\"leave\", nodes=[\"worker 0\"], at=\"1s\"}]", "model-parallel")
            .find("needs training that continues without lost workers") != std::string::npos);
}
