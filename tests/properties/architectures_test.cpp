// The architectures without servers learn what bulk-synchronous training with servers learns.
#include <fmt/format.h>
#include <cmath>
#include <fstream>
#include <map>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Training {
  std::string architecture = "";  // fields of [architecture]
  int workers = 4, batch = 8;
  std::string model = "layers = [64, 16, 12, 10]";  // fields of [model]
  std::string training = "learning_rate = 0.25";    // fields of [training]
  std::string end = "steps = 20";
  std::string more = "[compute]\ndistribution = \"lognormal\"\ncv = 0.5\n";
};

ScenarioBuilder toml(const Training& t) {
  return ScenarioBuilder({"training.evaluate_every=1 updates", "cluster.worker.speed=100Mf"})
      .with("architecture", t.architecture)
      .with("model", t.model)
      .set("training.batch_size", t.batch)
      .with("training", t.end)
      .with("training", t.training)
      .set("cluster.workers", t.workers)
      .with(t.more);
}

// The loss at every number of updates.
std::map<std::int64_t, double> losses(const Training& training) {
  const Json summary = toml(training).run();
  CHECK(summary["stuck"].empty());
  CHECK(summary["staleness"]["max"] == 0);
  CHECK(summary["clock_gap"]["max"] <= 1);
  std::map<std::int64_t, double> result;
  for (const Json& point : summary["curve"])
    result.try_emplace(point["updates"].get<std::int64_t>(), point["loss"].get<double>());
  return result;
}

std::string all_reduce(const std::string& algorithm) {
  return fmt::format("kind = \"all-reduce\"\nalgorithm = \"{}\"", algorithm);
}

const std::vector<std::string> algorithms{"ring", "tree", "halving-doubling"};
const std::vector<std::string> optimizers{
    "learning_rate = 0.25",
    "learning_rate = 0.1\noptimizer = \"nesterov\"\nschedule = \"cosine\"\nweight_decay = 0.001"};

const std::vector<std::string> architectures{all_reduce("ring"), all_reduce("tree"),
                                             "kind = \"model-parallel\"",
                                             "kind = \"model-parallel\"\nschedule = \"1f1b\""};

}  // namespace

TEST_CASE("all-reduce learns what bsp learns, but for the order of the sums", "[equivalence][slow]") {
  for (const auto& [precision, relative] :
       std::map<std::string, double>{{"float32", 1e-5}, {"float64", 1e-13}}) {
    Training training{.model = fmt::format("layers = [64, 16, 10]\nprecision = \"{}\"", precision)};
    for (const std::string& optimizer : optimizers) {
      training.training = optimizer;
      training.architecture = "";
      const auto bsp = losses(training);
      REQUIRE(bsp.size() == 21);
      for (const std::string& algorithm : algorithms) {
        INFO(precision << ", " << algorithm << "\n" << optimizer);
        training.architecture = all_reduce(algorithm);
        const auto other = losses(training);
        REQUIRE(other.size() == bsp.size());
        for (const auto& [updates, loss] : bsp) CHECK(other.at(updates) == Approx(loss).epsilon(relative));
      }
    }
  }
}

TEST_CASE("all-reduce learns what bsp learns, whatever a worker does between two sums",
          "[equivalence][rings][slow]") {
  struct Variant {
    std::string training, more;
  };
  const std::vector<Variant> variants{
      {"local_steps = 3", ""},
      {"accumulate = 2", ""},
      {"warmup_steps = 4\noptimizer = \"nesterov\"", ""},
      {"local_steps = 2\naccumulate = 2\nschedule = \"cosine\"", ""},
      {"", "[cluster.worker.device]\ncount = 3\n"},
      {"", "[data]\ndelivery = \"database\"\n"},
      {"", "[data]\npartition = \"dirichlet\"\n"},
      {"accumulate = 2", "[messages]\nunit = \"array\"\noverlap = true\n"},
      {"local_steps = 2", "[messages]\nunit = \"array\"\noverlap = true\nslice = 100\n"},
      {"", "[[filter]]\nkind = \"top-k\"\nfraction = 0.1\n"},
      {"local_steps = 2", "[[filter]]\nkind = \"significant\"\nthreshold = 0.01\n"},
      {"", "[[filter]]\nkind = \"snappy\"\n"},
  };
  for (const Variant& variant : variants) {
    Training training{.model = "layers = [64, 16, 10]\nprecision = \"float64\"",
                      .training = "learning_rate = 0.25\n" + variant.training,
                      .end = "steps = 12",
                      .more = "[compute]\ndistribution = \"lognormal\"\ncv = 0.5\n" + variant.more};
    const auto bsp = losses(training);
    REQUIRE(bsp.size() == 13);
    for (const std::string& algorithm : algorithms) {
      for (const int workers : {4, 3}) {
        if (workers == 3 && algorithm != "halving-doubling") continue;
        INFO(variant.training << variant.more << algorithm << ", W = " << workers);
        training.architecture = "";
        training.workers = workers;
        const auto expected = workers == 4 ? bsp : losses(training);
        training.architecture = all_reduce(algorithm);
        const auto other = losses(training);
        REQUIRE(other.size() == expected.size());
        for (const auto& [updates, loss] : expected) CHECK(other.at(updates) == Approx(loss).epsilon(1e-11));
      }
    }
  }
}

TEST_CASE("batches by the machines' speeds count by their samples", "[equivalence][rings]") {
  Training training{.model = "layers = [64, 16, 10]\nprecision = \"float64\"",
                    .training = "learning_rate = 0.25\nwork = \"proportional\""};
  const auto with = [&](const std::string& architecture) {
    training.architecture = architecture;
    return toml(training).set({"cluster.worker.speed=[\"100Mf\", \"300Mf\", \"200Mf\", \"200Mf\"]"}).run();
  };
  const Json bsp = with("");
  for (const std::string& algorithm : algorithms) {
    INFO(algorithm);
    const Json other = with(all_reduce(algorithm));
    CHECK(other["final"]["loss"].get<double>() == Approx(bsp["final"]["loss"].get<double>()).epsilon(1e-11));
    for (int w = 0; w < 4; ++w) {
      CHECK(other["workers"][w]["batch_size"] == bsp["workers"][w]["batch_size"]);
      CHECK(other["workers"][w]["samples"] == bsp["workers"][w]["samples"]);
    }
    CHECK(other["workers"][1]["batch_size"] == 12);
  }
}

TEST_CASE("batches by measured times shrink where a worker is slow", "[equivalence][rings]") {
  const Json told = toml({.architecture = all_reduce("ring"),
                          .training = "learning_rate = 0.25\nwork = \"dynamic\"\nwork_every = 4",
                          .more = "[[straggler]]\nworkers = [1]\nslowdown = 3.0\n"})
                        .run();
  // 32 samples of a step by the speeds 1, 1/3, 1, 1.
  CHECK(told["workers"][1]["batch_size"] == 3);
  CHECK(told["workers"][0]["batch_size"].get<int>() + told["workers"][2]["batch_size"].get<int>() +
            told["workers"][3]["batch_size"].get<int>() ==
        29);
  CHECK(told["updates"] == 20);
}

TEST_CASE("quantised sums: all copies stay equal, and error feedback makes up for what is lost",
          "[equivalence][rings][slow]") {
  // psim itself breaks a run off whose copies differ at its end.
  const auto loss = [](const std::string& algorithm, int workers, const std::string& more) {
    const auto all = losses(
        {.architecture = all_reduce(algorithm), .workers = workers, .end = "steps = 60", .more = more});
    return all.rbegin()->second;
  };
  const double untrained = std::log(10.0);
  for (const std::string& algorithm : algorithms) {
    for (const int workers : {2, 3, 4}) {
      INFO(algorithm << ", W = " << workers);
      const double plain = loss(algorithm, workers, "");
      CHECK(loss(algorithm, workers, "[[filter]]\nkind = \"fp16\"\n") == Approx(plain).epsilon(0.01));
      CHECK(loss(algorithm, workers, "[[filter]]\nkind = \"fixed-point\"\nbits = 8\n") ==
            Approx(plain).epsilon(0.05));
      const double fed_back = loss(algorithm, workers, "[[filter]]\nkind = \"one-bit\"\n");
      CHECK(fed_back < (untrained + plain) / 2);
      CHECK(fed_back < loss(algorithm, workers, "[[filter]]\nkind = \"one-bit\"\nerror_feedback = false\n"));
    }
  }
}

TEST_CASE("what a filter leaves out of a whole sum, nobody learns", "[equivalence][rings]") {
  // No sum of gradients of the first step is as large as the threshold.
  for (const std::string& algorithm : algorithms) {
    INFO(algorithm);
    const auto all = losses({.architecture = all_reduce(algorithm),
                             .workers = 2,
                             .model = "layers = [64, 10]\ninit = \"zeros\"",
                             .end = "steps = 1",
                             .more = "[[filter]]\nkind = \"two-bit\"\nthreshold = 100.0\n"});
    CHECK(all.rbegin()->first == 1);
    CHECK(all.rbegin()->second == Approx(std::log(10.0)).epsilon(1e-6));
  }
}

TEST_CASE("where sums are exact, all-reduce learns what bsp learns, bit for bit", "[equivalence][slow]") {
  // Integers, and rates that are powers of two: after five steps a weight has no more than 53 digits.
  for (const int workers : {2, 4, 8}) {
    Training training{
        .workers = workers,
        .batch = 1,
        .model =
            "layers = [3, 2]\nbias = false\nactivation = \"identity\"\nloss = "
            "\"half-sse\"\ninit = \"zeros\"\nprecision = \"float64\"",
        .training = "learning_rate = 0.0625",
        .end = "steps = 5",
        .more = ScenarioBuilder(
                    {"data.source=inline",
                     "data.inputs=[[1, 2, 0], [0, 1, -1], [2, -1, 1], [1, 1, 3], [-2, 0, 1], [3, 1, 1], [0, "
                     "2, 2], "
                     "[1, -3, 0]]",
                     "data.targets=[[1, -2], [3, 0], [5, 1], [-4, 2], [1, 1], [0, 7], [2, 3], [-1, -1]]"})
                    .toml()};
    const auto bsp = losses(training);
    REQUIRE(bsp.size() == 6);
    for (const std::string& algorithm : algorithms) {
      INFO(algorithm << ", W = " << workers);
      training.architecture = all_reduce(algorithm);
      CHECK(losses(training) == bsp);
    }
  }
}

TEST_CASE("a pipeline of W workers learns what one worker with batches of W b learns, bit for bit",
          "[equivalence][slow]") {
  for (const std::string& optimizer : optimizers) {
    const auto one = losses({.workers = 1, .batch = 24, .training = optimizer});
    REQUIRE(one.size() == 21);
    for (const std::string more :
         {"", "\nschedule = \"1f1b\"", "\nmicro_batches = 1", "\nmicro_batches = 24"}) {
      INFO(optimizer << more);
      CHECK(losses({.architecture = "kind = \"model-parallel\"" + more,
                    .workers = 3,
                    .batch = 8,
                    .training = optimizer}) == one);
    }
  }
}

TEST_CASE("a target, a duration and epochs end a run without servers", "[equivalence][slow]") {
  for (const std::string& architecture : architectures) {
    INFO(architecture);
    const Training base{.architecture = architecture, .workers = 2};
    Training training = base;
    training.end = "target = { loss = 1.5 }";
    const Json target = toml(training).run();
    REQUIRE(target["target"]["reached"] == true);
    CHECK(target["target"]["updates"] == target["updates"]);
    CHECK(target["final"]["loss"].get<double>() <= 1.5);
    CHECK(target["curve"][target["curve"].size() - 2]["loss"].get<double>() > 1.5);

    training.end = "duration = \"80ms\"";
    const Json duration = toml(training).run();
    CHECK(duration["sim_time_s"] == 0.08);
    CHECK(duration["updates"].get<int>() > 0);

    training.end = "epochs = 0.5";  // 1,438 samples in batches of 16
    const Json epochs = toml(training).run();
    CHECK(epochs["updates"] == 45);
    CHECK(epochs["steps"] == 90);
    CHECK(epochs["curve"].back()["epoch"].get<double>() == Approx(45 * 16 / 1438.0));
  }
}

TEST_CASE("a run without servers can be replayed", "[equivalence][slow]") {
  for (const std::string& architecture : architectures) {
    INFO(architecture);
    const KeptRun run(toml({.architecture = architecture, .workers = 2}));
    REQUIRE(exit_code(run.summary()) == 0);
    const Outcome replay = run.ask("replay");
    INFO(replay.out << replay.err);
    CHECK(replay.code == 0);
  }
}

TEST_CASE("a comparison over architectures leaves out what has no meaning, and runs what is the same once",
          "[equivalence]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << toml({.workers = 2, .end = "steps = 2"}).toml() << R"(
[consistency]
model = "ssp"
staleness = 1
[compare]
"cluster.servers" = [1, 3]
architecture = [{ kind = "parameter-server" }, { kind = "all-reduce", algorithm = "tree" }]
)";
  const Outcome outcome = psim::test::psim({"compare", "scenario.toml", "--json"}, folder.path());
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json runs = Json::parse(outcome.out)["runs"];
  REQUIRE(runs.size() == 4);
  CHECK(runs[0]["arm"] == "1");
  CHECK(runs[1]["arm"] == "1");
  CHECK(runs[1]["condition"]["architecture"] == "all-reduce algorithm=tree");
  CHECK(runs[1]["servers"].empty());
  CHECK(runs[2]["arm"] == "3");
  CHECK(runs[3]["digest"] == runs[1]["digest"]);
  CHECK(runs[3]["scenario_hash"] == runs[1]["scenario_hash"]);
  CHECK(runs[2]["digest"] != runs[0]["digest"]);
}
