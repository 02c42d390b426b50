// Samples a second: those whose gradients the model takes in. Every number here follows from the scenario by
// hand.
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Steps of exactly 10 ms on a network that takes no time, unless `tables` says otherwise.
struct Case {
  std::string training = "steps = 20";
  std::string consistency = R"(model = "bsp")";
  std::string tables = "";
  int workers = 4;
  std::string architecture = R"(kind = "parameter-server")";
  std::string messages = "";
};

Json run(const Case& c) {
  const bool has_servers = c.architecture.find("server") != std::string::npos;
  return ScenarioBuilder({"model.kind=phantom", "model.arrays=[400, 400, 200, 200]", "training.batch_size=8",
                          "compute.time=10ms", "cluster.network.latency=0s",
                          "cluster.network.bandwidth=1000Tbps", "cluster.network.share_spread=0.0"})
      .with("architecture", c.architecture)
      .with("training", c.training)
      .with(has_servers ? "[consistency]\n" + c.consistency : "")
      .with("messages", c.messages)
      .set("cluster.workers", c.workers)
      .with("cluster", has_servers ? "servers = 2" : "")
      .with(c.tables)
      .run();
}

std::int64_t sum(const Json& summary, const char* key) {
  std::int64_t all = 0;
  for (const Json& worker : summary["workers"]) all += worker[key].get<std::int64_t>();
  return all;
}

const std::string one_is_slow = "[[straggler]]\nworkers = [3]\nslowdown = 2.0\n";

}  // namespace

TEST_CASE("throughput is the samples of all workers by the time of a step", "[throughput]") {
  const Json bsp = run({});
  CHECK(bsp["samples_per_s"].get<double>() == Approx(4 * 8 / 0.01).epsilon(1e-4));
  CHECK(sum(bsp, "samples_used") == 4 * 8 * 20);
  CHECK(run({.training = "steps = 20\nlocal_steps = 3\naccumulate = 2"})["samples_per_s"].get<double>() ==
        Approx(4 * 8 / 0.01).epsilon(1e-4));
  CHECK(run({.tables = one_is_slow})["samples_per_s"].get<double>() == Approx(4 * 8 / 0.02).epsilon(1e-4));
  // Three workers at full speed, and one at half of it.
  CHECK(run({.training = "duration = \"10s\"",
             .consistency = "model = \"asp\"",
             .tables = one_is_slow})["samples_per_s"]
            .get<double>() == Approx(3.5 * 8 / 0.01).epsilon(1e-2));
}

TEST_CASE("a gradient that servers drop is no throughput", "[throughput]") {
  // An update takes the first three pushes of four, and the slow worker's comes too late for every one of
  // them.
  const Json first = run({.consistency = "model = \"k-batch-sync\"\nk = 3", .tables = one_is_slow});
  CHECK(first["samples_per_s"].get<double>() == Approx(3 * 8 / 0.01).epsilon(1e-2));
  CHECK(sum(first, "samples_used") == 8 * first["pushes"]["applied"].get<std::int64_t>() / 2);
  CHECK(sum(first, "samples_used") == 3 * 8 * 20);
}

TEST_CASE("without servers a gradient counts when its worker has the update", "[throughput]") {
  for (const char* architecture : {R"(kind = "all-reduce")", R"(kind = "model-parallel")"}) {
    const Json summary = run({.architecture = architecture});
    INFO(architecture);
    CHECK(sum(summary, "samples_used") == sum(summary, "samples"));
    CHECK(summary["samples_per_s"].get<double>() ==
          Approx(static_cast<double>(sum(summary, "samples")) / summary["sim_time_s"].get<double>()));
  }
}

TEST_CASE("whatever a worker pushes, all that it has computed counts once", "[throughput]") {
  const Case cases[] = {
      {.training = "steps = 20\nupdate = \"worker\"", .consistency = "model = \"asp\""},
      {.training = "steps = 20\nupdate = \"worker\""},
      {.training = "steps = 20\nwarmup_steps = 5"},
      {.training = "steps = 20\nlocal_steps = 2\npull_every = 2", .consistency = "model = \"asp\""},
      {.training = "steps = 20\nwork = \"stealing\"", .tables = one_is_slow},
      {.training = "steps = 20\nwork = \"proportional\"", .tables = one_is_slow},
      {.consistency = "model = \"ssp\"\nstaleness = 2", .tables = one_is_slow},
      {.consistency = "model = \"k-async\"\nk = 2", .messages = "unit = \"array\""},
      {.messages = "overlap = true\nunit = \"array\""},
      {.consistency = "model = \"tasks\"",
       .tables =
           ScenarioBuilder()
               .add("task", {"name=pull", "do=pull", "on=any worker", "count=8", "after=[\"update[-1]\"]"})
               .add("task", {"name=gradient", "do=gradient", "after=[\"pull\"]"})
               .add("task", {"name=push", "do=push", "after=[\"gradient\"]"})
               .add("task", {"name=update", "do=update", "after=[\"push\"]"})
               .toml()},
  };
  for (const Case& c : cases) {
    const Json summary = run(c);
    INFO(c.training << c.consistency << c.messages);
    CHECK(sum(summary, "samples") > 0);
    CHECK(sum(summary, "samples_used") == sum(summary, "samples"));
  }
}

TEST_CASE("a push of elastic averaging has what was computed before it", "[throughput]") {
  const Json summary = run(
      {.training = "steps = 20\nalgorithm = \"elastic\"\nlocal_steps = 2", .consistency = "model = \"asp\""});
  CHECK(sum(summary, "samples") == 20 * 4 * 16);
  CHECK(sum(summary, "samples_used") == 19 * 4 * 16);  // nobody has those of the last clock
}

TEST_CASE("a worker that crashes and does its clocks again counts what it pushes", "[throughput]") {
  const Json summary = run({.training = "steps = 100",
                            .tables = "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\"]\nat = "
                                      "\"205ms\"\nrestart_after = \"100ms\"\n"});
  const std::int64_t pushes = summary["pushes"]["applied"].get<std::int64_t>() / 2;
  CHECK(sum(summary, "samples_used") == 8 * pushes);
}

TEST_CASE("training.samples ends a run after so many samples of all workers", "[throughput]") {
  CHECK(sum(run({.training = "samples = 1000"}), "samples") == 32 * 32);  // 31.25 clocks of 32
  CHECK(sum(run({.training = "samples = 1024"}), "samples") == 32 * 32);
  CHECK(sum(run({.training = "samples = 1025"}), "samples") == 33 * 32);
  CHECK(sum(run({.training = "samples = 1"}), "samples") == 32);
  CHECK(sum(run({.training = "samples = 1000\nlocal_steps = 2\naccumulate = 2"}), "samples") == 8 * 128);
  // The first clock has 3 batches more.
  CHECK(sum(run({.training = "samples = 1000\nwarmup_steps = 4"}), "samples") == 29 * 32 + 3 * 32);
  CHECK(sum(run({.training = "samples = 1000\nsteps = 7"}), "samples") == 7 * 32);  // what comes first
  CHECK(sum(run({.training = "samples = 1000", .consistency = "model = \"asp\"", .tables = one_is_slow}),
            "samples") == 32 * 32);
}

TEST_CASE("samples and epochs end a run alike", "[throughput]") {
  const auto of = [](const std::string& end) {
    return run_file("scenarios/quickstart.toml", {end})["model"]["weights"];
  };
  const Json samples = run_file("scenarios/quickstart.toml", {"training.epochs=1"});
  std::int64_t all = 0;
  for (const Json& worker : samples["workers"]) all += worker["samples"].get<std::int64_t>();
  CHECK(of("training.samples=" + std::to_string(all)) == samples["model"]["weights"]);
  CHECK(of("training.samples=" + std::to_string(all + 1)) != samples["model"]["weights"]);
}
