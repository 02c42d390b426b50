// Work stealing: times against the balanced optimum, the total of samples over the sum of speeds; and what is
// learned against static work.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/oracles/unit_work.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder toml(const std::string& work, const std::string& speed, int batch, int workers,
                     const std::string& more = "", const std::string& latency = "0s") {
  return toml(UnitWork{.training = fmt::format("batch_size = {}\nsteps = 5\nwork = \"{}\"", batch, work),
                       .speed = speed,
                       .workers = workers,
                       .network = fmt::format("latency = \"{}\"", latency),
                       .more = more});
}

double seconds(const Json& run) { return run["sim_time_s"].get<double>(); }

std::vector<long> samples(const Json& run) {
  CHECK(run["stuck"].empty());
  std::vector<long> result;
  for (const Json& worker : run["workers"]) result.push_back(worker["samples"].get<long>());
  return result;
}

long sum(const std::vector<long>& numbers) {
  long total = 0;
  for (const long n : numbers) total += n;
  return total;
}

}  // namespace

TEST_CASE("among equals nothing is stolen, and nothing takes longer", "[work]") {
  for (const std::string latency : {"0s", "1ms"}) {
    const Json run = toml("stealing", "\"1Mf\"", 40, 4, "", latency).run();
    CHECK(samples(run) == std::vector<long>(4, 5 * 40));
    CHECK(seconds(run) ==
          Approx(seconds(toml("static", "\"1Mf\"", 40, 4, "", latency).run())).epsilon(1e-12));
    CHECK(run["updates"] == 5);
  }
}

TEST_CASE("work is stolen alike under all models in which all workers are in one clock", "[work]") {
  const std::string half = "[[straggler]]\nworkers = [1]\nslowdown = 2.0\n[consistency]\nmodel = ";
  const Json bsp = toml("stealing", "\"1Mf\"", 40, 4, half + "\"bsp\"").run();
  CHECK(samples(bsp)[1] < 5 * 40);
  for (const std::string model : {"\"ssp\"\nstaleness = 0", "\"k-sync\"\nk = 4"}) {
    INFO(model);
    CHECK(toml("stealing", "\"1Mf\"", 40, 4, half + model).run()["digest"] == bsp["digest"]);
  }
}

TEST_CASE("a clock takes little more than its samples over the sum of speeds", "[work]") {
  struct Case {
    std::string speed;
    int batch, workers;
    std::string straggler;
    double speeds, slowest;
  };
  const std::string half = "[[straggler]]\nworkers = [1]\nslowdown = 2.0";
  for (const Case& c :
       {Case{"\"1Mf\"", 400, 4, half, 3.5, 0.5}, Case{"[\"1Mf\", \"2Mf\", \"4Mf\"]", 70, 3, "", 7, 1},
        Case{"[\"1Mf\", \"8Mf\"]", 200, 2, "", 9, 1},
        Case{"\"1Mf\"", 400, 8, "[[straggler]]\nworkers = [0, 3]\nslowdown = 8.0", 6.25, 0.125}}) {
    INFO(c.speed << " " << c.straggler);
    const double optimum = 5 * c.batch * c.workers / c.speeds;
    const Json run = toml("stealing", c.speed, c.batch, c.workers, c.straggler).run();
    CHECK(sum(samples(run)) == 5L * c.batch * c.workers);
    CHECK(seconds(run) >= optimum * (1 - 1e-9));
    CHECK(seconds(run) < optimum * 1.06);
    CHECK(seconds(toml("static", c.speed, c.batch, c.workers, c.straggler).run()) ==
          Approx(5 * c.batch / c.slowest).epsilon(1e-6));
    CHECK(run["updates"] == 5);
  }
}

TEST_CASE("a worker that is slow for a while is helped for that while", "[work]") {
  // Clocks of 400 s, 457 s from 400 s to 857 s, then of 400 s again.
  const std::string slow =
      "[[straggler]]\nworkers = [2]\nslowdown = 2.0\nfrom = \"400s\"\nuntil = \"857.14s\"";
  const Json run = toml("stealing", "\"1Mf\"", 400, 4, slow).run();
  CHECK(seconds(run) == Approx(4 * 400 + 400 * 4 / 3.5).epsilon(0.01));
  CHECK(samples(run)[2] < 5 * 400 - 150);
  CHECK(sum(samples(run)) == 5 * 1600);
}

namespace {

std::vector<double> losses(const std::string& work, const std::string& precision, const std::string& training,
                           const std::string& more) {
  const Json run =
      ScenarioBuilder({"model.layers=[64, 8, 10]", "training.batch_size=20", "training.steps=20",
                       "training.learning_rate=0.1", "training.evaluate_every=1 updates", "cluster.workers=3",
                       "cluster.worker.speed=[\"0.5Mf\", \"1Mf\", \"2Mf\"]"})
          .set("model.precision", precision)
          .set("training.work", work)
          .with("training", training)
          .straggler(2, 5, {"from=400ms"})
          .with("cluster", more)
          .run();
  CHECK(run["updates"] == 20);
  CHECK(sum(samples(run)) == 20 * 60);
  if (work == "stealing") CHECK(samples(run)[0] < 20 * 18);
  std::vector<double> result;
  for (const Json& point : run["curve"]) result.push_back(point["loss"].get<double>());
  return result;
}

}  // namespace

TEST_CASE("who computes a sample does not matter to what is learned", "[work][slow]") {
  struct Case {
    std::string training, more;
  };
  for (const Case& c : std::vector<Case>{
           {"", ""},
           {"optimizer = \"momentum\"", "servers = 2\n[messages]\nunit = \"array\"\nacknowledge = true"},
           {"update = \"worker\"", "[cluster.worker.device]\ncount = 2"},
           {"", "[consistency]\naggregation = \"sum\""},
           {"", "servers = 3\n[data]\npartition = \"contiguous\""},
           {"", "[data]\ndelivery = \"database\""}}) {
    INFO(c.training << "\n" << c.more);
    for (const auto& [precision, relative] : {std::pair{"float64", 1e-12}, {"float32", 1e-4}}) {
      const std::vector<double> expected = losses("static", precision, c.training, c.more);
      const std::vector<double> stolen = losses("stealing", precision, c.training, c.more);
      REQUIRE(stolen.size() == expected.size());
      for (std::size_t i = 0; i < stolen.size(); ++i)
        CHECK(stolen[i] == Approx(expected[i]).epsilon(relative));
    }
  }
}

TEST_CASE("stolen samples are named to who has the data, and sent to who has not", "[work]") {
  for (const auto& [data, bytes] : {std::pair{"", 4L},
                                    {"[data]\npartition = \"contiguous\"", 64 * 4 + 4L},
                                    {"[data]\ndelivery = \"database\"\nbytes_per_sample = \"100B\"", 100L}}) {
    const TracedRun run = ScenarioBuilder({"model.layers=[64, 10]", "training.batch_size=40",
                                           "training.steps=3", "training.work=stealing", "cluster.workers=2",
                                           "cluster.worker.speed=[\"1Mf\", \"3Mf\"]"})
                              .with(data)
                              .trace();
    long given = 0;
    for (const RecordedEvent& e : run.events) {
      if (!e.is("received", "piece")) continue;
      CHECK(e["sent_bytes"] == bytes * e["samples"]);
      given += e["samples"];
    }
    CHECK(given == 3 * 40 - samples(run.summary)[0]);
    CHECK(given > 30);
  }
}
