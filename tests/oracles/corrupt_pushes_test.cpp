// Goal: a corrupt push moves the weights as its definition says, at no other cost. Method: weights after one
// step, and runs whose results must be equal bit for bit.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double rate = 0.25;

// A softmax regression in double precision; each worker takes `steps` steps.
ScenarioBuilder regression(const std::string& model, int workers, int steps = 1) {
  return ScenarioBuilder({"model.layers=[64, 10]", "model.precision=float64", "training.batch_size=16",
                          "cluster.servers=2"})
      .set("consistency.model", model)
      .set("training.learning_rate", rate)
      .set("training.steps", steps)
      .set("cluster.workers", workers);
}

ScenarioBuilder corrupted(const ScenarioBuilder& scenario, const std::string& nodes, const std::string& how,
                          const std::string& more = "from=0s") {
  return scenario.fault("corrupt", nodes,
                        {"how=" + how.substr(0, how.find(' ')), how.substr(how.find(' ') + 1), more});
}

// The last weights, as `psim export --weights` writes them.
std::vector<double> weights_of(const ScenarioBuilder& scenario) {
  const KeptRun run(scenario);
  const TemporaryFolder folder;
  REQUIRE(run.ask("export", {"--weights", folder.path().string() + "/last"}).code == 0);
  std::vector<double> weights;
  for (const char* name : {"W1", "b1"}) {
    std::ifstream file(folder.path() / "last" / (std::string(name) + ".npy"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::size_t header =
        10 + static_cast<unsigned char>(bytes.at(8)) + 256 * static_cast<unsigned char>(bytes.at(9));
    for (std::size_t at = header; at < bytes.size(); at += sizeof(double)) {
      double& weight = weights.emplace_back();
      std::copy_n(bytes.data() + at, sizeof weight, reinterpret_cast<char*>(&weight));
    }
  }
  REQUIRE(weights.size() == 650);
  return weights;
}

}  // namespace

TEST_CASE("corrupt: after one step the weights have moved as the push says", "[corrupt]") {
  const ScenarioBuilder one = regression("asp", 1), two = regression("bsp", 2);
  const std::vector<double> first = weights_of(corrupted(one, "worker 0", "scale factor=0"));
  const std::vector<double> constant = weights_of(corrupted(one, "worker 0", "constant factor=3"));
  const std::vector<double> honest = weights_of(two),
                            against = weights_of(corrupted(two, "workers", "sign factor=1"));
  for (std::size_t i = 0; i < first.size(); ++i) {
    REQUIRE(constant[i] == Approx(first[i] - rate * 3).margin(1e-12));
    REQUIRE(against[i] - first[i] == Approx(first[i] - honest[i]).margin(1e-12));
  }
}

TEST_CASE("corrupt: a median of eight stays among the six honest pushes", "[corrupt]") {
  const ScenarioBuilder median = regression("bsp", 8).set("consistency.aggregation", "median");
  const std::string bad = R"(["worker 1", "worker 6"])";
  const std::vector<double> first = weights_of(corrupted(median, "workers", "scale factor=0"));
  const std::vector<double> weights = weights_of(corrupted(median, bad, "constant factor=1e6"));
  std::vector<double> least(first.size(), HUGE_VAL), most(first.size(), -HUGE_VAL);
  for (const int worker : {0, 2, 3, 4, 5, 7}) {
    // The mean of eight pushes of which seven are zero.
    std::string others;
    for (int w = 0; w < 8; ++w) {
      if (w != worker) others += (others.empty() ? "" : ", ") + ("\"worker " + std::to_string(w) + "\"");
    }
    const std::vector<double> alone =
        weights_of(corrupted(regression("bsp", 8), "[" + others + "]", "scale factor=0"));
    for (std::size_t i = 0; i < first.size(); ++i) {
      least[i] = std::min(least[i], 8 * (alone[i] - first[i]));
      most[i] = std::max(most[i], 8 * (alone[i] - first[i]));
    }
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    REQUIRE(weights[i] - first[i] >= least[i] - 1e-12);
    REQUIRE(weights[i] - first[i] <= most[i] + 1e-12);
  }
}

TEST_CASE("corrupt: what changes nothing changes no bit, and no fault changes a date", "[corrupt]") {
  for (const char* model : {"bsp", "asp"}) {
    for (const char* more :
         {"", "[training]\nlocal_steps = 2", "[messages]\nunit = \"array\"\noverlap = true",
          "[training]\nalgorithm = \"elastic\"", "[training]\nwork = \"stealing\""}) {
      INFO(model << ": " << more);
      const ScenarioBuilder plain =
          regression(model, 4, 20).set("training.evaluate_every", "\"1 update\"").with(more);
      const Json honest = plain.run(), same = corrupted(plain, "workers", "scale factor=1").run(),
                 wrong = corrupted(plain, "worker 2", "noise factor=1").run(),
                 over = corrupted(plain, "worker 2", "noise factor=1", "until=1ns").run(),
                 late = corrupted(plain, "worker 2", "noise factor=1", "from=1000s").run();
      CHECK(same["model"]["weights"] == honest["model"]["weights"]);
      CHECK(wrong["model"]["weights"] != honest["model"]["weights"]);
      CHECK(over["model"]["weights"] == honest["model"]["weights"]);
      CHECK(late["model"]["weights"] == honest["model"]["weights"]);
      for (const Json& one : {same, wrong, over}) CHECK(one["sim_time_s"] == honest["sim_time_s"]);
      CHECK(corrupted(plain, "worker 2", "noise factor=1").run()["digest"] == wrong["digest"]);
    }
  }
}

TEST_CASE("corrupt: until ends it", "[corrupt]") {
  const ScenarioBuilder plain = regression("asp", 1, 10).set("compute.time", "1s");
  const std::vector<double> halfway =
      weights_of(corrupted(plain, "worker 0", "scale factor=0", "until=\"9.5s\""));
  const std::vector<double> first = weights_of(corrupted(plain, "worker 0", "scale factor=0"));
  const std::vector<double> early =
      weights_of(corrupted(plain, "worker 0", "scale factor=0", "until=\"0.5s\""));
  CHECK(halfway != first);  // the tenth step counts
  CHECK(early == weights_of(plain));
}

TEST_CASE("corrupt: an all-reduce sums the wrong push, and all copies stay equal", "[corrupt]") {
  for (const char* algorithm : {"ring", "tree", "halving-doubling"}) {
    const ScenarioBuilder ring = ScenarioBuilder({"architecture.kind=all-reduce", "model.layers=[64, 10]",
                                                  "training.steps=5", "cluster.workers=4"})
                                     .set("architecture.algorithm", algorithm);
    const Json honest = ring.run(), same = corrupted(ring, "workers", "scale factor=1").run(),
               wrong = corrupted(ring, "worker 1", "copy of=\"worker 3\"").run();
    CHECK(same["model"]["weights"] == honest["model"]["weights"]);
    CHECK(wrong["model"]["weights"] != honest["model"]["weights"]);
    CHECK(wrong["sim_time_s"] == honest["sim_time_s"]);
  }
}

TEST_CASE("corrupt: a worker that crashes and comes back still pushes wrong values, and promises are kept",
          "[corrupt]") {
  const ScenarioBuilder plain = regression("asp", 3, 30)
                                    .set("compute.time", "1ms")
                                    .fault("crash", "worker 1", {"at=5ms", "restart_after=5ms"});
  const KeptRun run(corrupted(plain, "worker 1", "sign factor=2"));
  run.check_promises();
  CHECK(run.summary()["model"]["weights"] !=
        corrupted(plain, "worker 1", "sign factor=2", "until=\"8ms\"").run()["model"]["weights"]);
}

TEST_CASE("corrupt: the effect of staleness is measured on right gradients", "[corrupt]") {
  const Json measured =
      KeptRun(corrupted(regression("bsp", 4, 5), "worker 1", "sign factor=3")).told("why", {"--gradients"});
  CHECK(measured["gradients"]["count"] == 3 * 5);
  CHECK(measured["gradients"]["cosine_min"] == Approx(1));
}

TEST_CASE("byzantine: two wrong gradients of eight stop the mean, and no robust aggregation",
          "[corrupt][slow]") {
  const auto accuracy = [](const FieldValues& settings) {
    return run_file("scenarios/byzantine.toml", settings)["final"]["accuracy"].get<double>();
  };
  CHECK(accuracy({}) < 0.2);
  CHECK(accuracy({"fault=[]"}) > 0.9);
  for (const char* aggregation :
       {"{aggregation=\"median\"}", "{aggregation=\"trimmed-mean\", trimmed_share=0.25}",
        "{aggregation=\"krum\", byzantine=2}"})
    CHECK(accuracy({"consistency=" + std::string(aggregation)}) > 0.9);
}
