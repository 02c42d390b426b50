// Work as tasks: times by hand, and programs that are consistency models.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/oracles/unit_work.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder unit_work(const std::string& tasks, int steps, const std::string& speeds) {
  return toml(UnitWork{.training = fmt::format("batch_size = 1\nsteps = {}", steps),
                       .speed = speeds,
                       .workers = 2,
                       .more = tasks})
      .set({"consistency=tasks"});
}

ScenarioBuilder learner(const std::string& tasks, const std::string& consistency) {
  return ScenarioBuilder({"data.source=blobs", "data.samples=240", "data.features=6", "data.classes=3",
                          "model.layers=[6, 5, 3]", "model.precision=float64", "training.batch_size=4",
                          "training.steps=12", "training.learning_rate=0.1", "compute.time=2ms",
                          "compute.distribution=exponential", "cluster.workers=3", "cluster.servers=2"})
      .set("consistency", consistency)
      .with(tasks);
}

std::string task(const std::string& name, const std::string& does, const std::string& after,
                 const std::string& more = "") {
  return fmt::format("[[task]]\nname = \"{}\"\ndo = \"{}\"\nafter = [{}]\n{}\n", name, does, after, more);
}

std::string chain(const std::string& pull_after, const std::string& more = "") {
  return task("pull", "pull", pull_after, more) + task("gradient", "gradient", "\"pull\"") +
         task("push", "push", "\"gradient\"");
}

const std::string bsp = chain("\"update[-1]\"") + task("update", "update", "\"push\"");

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-5); }

std::vector<int> by_worker(const Json& run, std::size_t task) {
  return run["tasks"][task]["by_worker"].get<std::vector<int>>();
}

}  // namespace

TEST_CASE("bsp written as tasks has the weights of bsp, bit for bit", "[tasks]") {
  for (const std::string field : {"seed=1", "training.optimizer=adam", "training.schedule=cosine",
                                  "messages.unit=array", "cluster.worker.device.count=2"}) {
    INFO(field);
    const Json tasks = learner(bsp, "tasks").set({field}).run();
    const Json model = learner("", "bsp").set({field}).run();
    CHECK(tasks["model"]["weights"] == model["model"]["weights"]);
    CHECK(tasks["updates"] == model["updates"]);
    CHECK(tasks["pushes"]["applied"] == model["pushes"]["applied"]);
    CHECK(tasks["staleness"]["max"] == 0);
    CHECK(tasks["final"]["loss"] == model["final"]["loss"]);
    CHECK(tasks["curve"].back()["epoch"] == model["curve"].back()["epoch"]);
  }
}

TEST_CASE("units of work go to whoever is free: five of them to machines of speeds 1 and 4", "[tasks]") {
  const std::string tasks =
      chain("\"update[-1]\"", "on = \"any worker\"\ncount = 5") + task("update", "update", "\"push\"");
  const Json run = unit_work(tasks, 3, R"(["0.25Mf", "1.001Mf"])").run();
  // The slow one takes 4 s for its batch; the fast one does the other four meanwhile.
  CHECK(run["sim_time_s"].get<double>() == near(3 * 4));
  CHECK(by_worker(run, 1) == std::vector{3, 12});
  CHECK(run["tasks"][3]["times"] == 3);
  // Shared out beforehand, the slow one has as many as the fast one.
  const Json fixed = unit_work(bsp, 3, R"(["0.25Mf", "1.001Mf"])").run();
  CHECK(by_worker(fixed, 1) == std::vector{3, 3});
  CHECK(fixed["sim_time_s"].get<double>() == near(3 * 4));
}

TEST_CASE("a worker has as many clocks as it has computed, whatever the others do", "[tasks]") {
  const std::string update = task("update", "update", "\"push\"");
  const Json one = unit_work(chain("\"update[-1]\"", "on = \"worker 1\"") + update, 6, "\"1Mf\"").run();
  CHECK(one["workers"][0]["clocks"] == 0);
  CHECK(one["workers"][1]["clocks"] == 6);
  CHECK(one["steps"] == 6);
  // The slow one computes the first unit; meanwhile the other one computes those of clocks that wait for
  // less.
  const Json any =
      unit_work(chain("\"push[-2]\"", "on = \"any worker\"\ncount = 2") + update, 8, R"(["1Mf", "8Mf"])")
          .run();
  CHECK(any["steps"] == 16);
}

TEST_CASE("which worker computes a unit changes no weight", "[tasks]") {
  const std::string tasks =
      chain("\"update[-1]\"", "on = \"any worker\"\ncount = 6") + task("update", "update", "\"push\"");
  const std::string slow = "\n[[straggler]]\nworkers = [1]\nslowdown = 5\n";
  const Json even = learner(tasks, "tasks").run();
  const Json uneven = learner(slow + tasks, "tasks").run();
  CHECK(by_worker(even, 1) != by_worker(uneven, 1));
  // Sums of one update are in the order of workers, so they differ by rounding.
  CHECK(even["final"]["loss"].get<double>() == Approx(uneven["final"]["loss"].get<double>()).epsilon(1e-12));
  CHECK(even["pushes"]["applied"] == uneven["pushes"]["applied"]);
}

TEST_CASE("tasks that wait for applied pushes some clocks back keep workers within that bound", "[tasks]") {
  const std::string slow = "\n[[straggler]]\nworkers = [1]\nslowdown = 6\n";
  for (const int bound : {0, 1, 3}) {
    const std::string tasks = chain(fmt::format("\"push[-1]\", \"all apply[-{}]\"", bound + 1)) +
                              task("apply", "apply", "\"push\"");
    const Json run = learner(slow + tasks, "tasks").run();
    INFO(bound);
    CHECK(run["clock_gap"]["max"] == bound);
    CHECK(run["updates"] == 3 * 12);
  }
}

TEST_CASE("functions of servers change all weights, and tell their norm", "[tasks]") {
  const auto length = [](int steps, double factor) {
    const std::string tasks = bsp +
                              task("shrink", "scale", "\"update\"", fmt::format("amount = {}", factor)) +
                              task("length", "norm", "\"shrink\"");
    const Json run = learner(tasks, "tasks")
                         .set({"training.learning_rate=0", fmt::format("training.steps={}", steps)})
                         .run();
    return run["tasks"][5]["value"].get<double>();
  };
  CHECK(length(1, 0.5) == length(1, 1) / 2);
  CHECK(length(3, 0.5) == length(1, 1) / 8);
  CHECK(length(2, 0) == 0);
}

TEST_CASE("a pull may wait for one push alone, while others still compute", "[tasks]") {
  // Worker 1 is four times as fast; each waits for its own last push and for nobody else.
  const std::string tasks = chain("\"push[-1]\"") + task("apply", "apply", "\"push\"");
  const Json run = unit_work(tasks, 4, R"(["1Mf", "4Mf"])").run();
  CHECK(run["sim_time_s"].get<double>() == near(4));
  CHECK(run["workers"][1]["compute_share"].get<double>() == Approx(0.25).margin(1e-3));
}

TEST_CASE("a program of tasks is recorded in the order in which it was followed", "[tasks]") {
  const TracedRun run = learner(bsp, "tasks").trace();
  int given = 0, done = 0;
  for (const RecordedEvent& event : run.events) {
    given += event.is("task", "given") ? 1 : 0;
    done += event.is("task", "done") ? 1 : 0;
  }
  CHECK(given == 12 * (3 * 3 + 1));
  CHECK(done == given);
}
