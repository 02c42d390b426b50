// Who computes how much, and how it gets there: times by hand. Links are so fast, and messages so small, that
// they take no time that shows, unless a test is about them.
#include <fmt/format.h>
#include <string>
#include <vector>

#include "tests/oracles/unit_work.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder toml(const std::string& training, const std::string& speed, const std::string& more = "",
                     int workers = 3, const std::string& network = "latency = \"0s\"") {
  return toml(
      UnitWork{.training = training, .speed = speed, .workers = workers, .network = network, .more = more});
}

std::vector<int> batch_sizes(const Json& run) {
  std::vector<int> sizes;
  for (const Json& worker : run["workers"]) sizes.push_back(worker["batch_size"].get<int>());
  return sizes;
}

// A pull and a push of 4 bytes at 1 GB/s.
Approx near(double t) { return Approx(t).epsilon(0).margin(1e-6); }

const std::string speeds = R"(["1Mf", "2Mf", "4Mf"])";

}  // namespace

TEST_CASE("proportional work makes all steps of bsp equally long: 21 samples at 7 a second", "[work]") {
  const Json run = toml("batch_size = 7\nsteps = 5\nwork = \"proportional\"", speeds).run();
  CHECK(run["sim_time_s"].get<double>() == near(5 * 3));
  CHECK(batch_sizes(run) == std::vector{3, 6, 12});
  for (const Json& worker : run["workers"]) {
    CHECK(worker["compute_share"].get<double>() == Approx(1).margin(1e-6));
    CHECK(worker["samples"] == 5 * worker["batch_size"].get<int>());
  }
  // Static work waits for the slowest machine's 7 samples.
  CHECK(toml("batch_size = 7\nsteps = 5", speeds).run()["sim_time_s"].get<double>() == near(5 * 7));
}

TEST_CASE("equal machines share equally, event for event", "[work]") {
  const std::string steps = "batch_size = 7\nsteps = 5\n";
  for (const std::string consistency : {"bsp", "ssp", "asp"}) {
    const std::string more = fmt::format("[consistency]\nmodel = \"{}\"", consistency);
    CHECK(toml(steps + "work = \"proportional\"", "\"3Mf\"", more).run()["digest"] ==
          toml(steps, "\"3Mf\"", more).run()["digest"]);
  }
}

TEST_CASE("dynamic work finds a permanent straggler", "[work]") {
  // Three of 1 Mf, one of them half as fast: 2 : 1 : 2 of 15 samples.
  const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 2.0";
  const Json run =
      toml("batch_size = 5\nsteps = 10\nwork = \"dynamic\"\nwork_every = 2", "\"1Mf\"", slow).run();
  CHECK(batch_sizes(run) == std::vector{6, 3, 6});
  // Two clocks of 10 s until the scheduler knows, then 6 s each.
  CHECK(run["sim_time_s"].get<double>() == near(2 * 10 + 8 * 6));
  CHECK(run["stuck"].empty());
  CHECK(run["workers"][1]["samples"] == 2 * 5 + 8 * 3);
}

TEST_CASE("a clock's update is that of one worker who takes all its samples", "[work]") {
  const auto losses = [](int workers, int batch, const std::string& work, const std::string& speed,
                         const std::string& more = "") {
    const Json run =
        ScenarioBuilder({"model.layers=[64, 8, 10]", "model.precision=float64", "training.steps=25",
                         "training.learning_rate=0.2", "training.evaluate_every=1 updates"})
            .set("training.batch_size", batch)
            .with("training", work)
            .set("cluster.workers", workers)
            .set("cluster.worker.speed", speed)
            .with(more)
            .run();
    CHECK(run["updates"] == 25);
    std::vector<double> result;
    for (const Json& point : run["curve"]) result.push_back(point["loss"].get<double>());
    return result;
  };
  const std::vector<double> alone = losses(1, 21, "", "\"1Mf\"");
  const std::string machines = R"(["100Mf", "200Mf", "400Mf"])";
  const std::string late = "[[straggler]]\nworkers = [2]\nslowdown = 5.0\nfrom = \"2ms\"";
  for (const auto& all : {losses(3, 7, "work = \"proportional\"", machines),
                          losses(3, 7, "work = \"dynamic\"\nwork_every = 3", machines, late)}) {
    REQUIRE(all.size() == alone.size());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == Approx(alone[i]).epsilon(1e-12));
  }
}

namespace {

// One worker; a step's 4 samples of 1 MB take 2 hops of 1 ms and 4 ms at 1 GB/s.
double delivered(const std::string& flops, int prefetch, int steps) {
  const Json run =
      toml(
          fmt::format("batch_size = 4\nsteps = {}", steps), "\"" + flops + "\"",
          fmt::format("[data]\ndelivery = \"database\"\nbytes_per_sample = \"1MB\"\nprefetch = {}", prefetch),
          1, "latency = \"1ms\"")
          .run();
  CHECK(run["stuck"].empty());
  return run["sim_time_s"].get<double>();
}

constexpr double path = 0.002, transfer = 0.004;

}  // namespace

TEST_CASE("a worker waits for its batch, or asks for it ahead", "[work]") {
  // join and start, ask, the batch; 1 s for 4 samples; push and finished.
  const double before = 2 * path, batch = 2 * path + transfer, after = 2 * path;
  CHECK(delivered("4Mf", 0, 1) == near(before + batch + 1 + after));
  CHECK(delivered("4Mf", 1, 1) == near(before + batch + 1 + after));
  // Push and pull take one round trip; the next batch is asked for when the step begins.
  CHECK(delivered("4Mf", 0, 3) == near(before + 3 * (batch + 1) + after));
  CHECK(delivered("4Mf", 1, 3) == near(before + batch + 3 * (1 + 2 * path)));
  // Where computing takes no time, the database is the bound: the next batch leaves when the last has come.
  CHECK(delivered("4000Gf", 2, 20) == Approx(before + path + 20 * (path + transfer) + after).margin(1e-5));
}

TEST_CASE("delivered bytes are those of the samples", "[work]") {
  const auto bytes = [](const std::string& data, const std::string& model, const std::string& delivery) {
    return ScenarioBuilder({"training.batch_size=4", "training.steps=3", "cluster.workers=2"})
        .with("data", data)
        .set("data.delivery", delivery)
        .with("model", model)
        .run()["bytes_sent"]
        .get<long>();
  };
  const std::string digits = "source = \"digits\"", mlp = "layers = [64, 10]";
  CHECK(bytes(digits, mlp, "database") - bytes(digits, mlp, "local") == 3 * 2 * 4 * (64 * 4 + 4));
  const std::string clicks = "source = \"clicks\"\nfeatures = 200\nnonzeros = 6",
                    logistic = "kind = \"logistic\"";
  CHECK(bytes(clicks, logistic, "database") - bytes(clicks, logistic, "local") == 3 * 2 * 4 * (6 * 8 + 4));
}
