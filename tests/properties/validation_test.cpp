// With a validation set the test set decides nothing: another one changes the last evaluation, and nothing
// before it. Method: image files with one training set and two test sets, of right and of wrong labels.
#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "model/base/database.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

// `count` images of 2 x 2 pixels in two classes: the first or the second pixel is bright. `wrong`: each has
// the other class.
void write_images(const fs::path& folder, const std::string& name, std::uint32_t count, bool wrong) {
  std::ofstream images(folder / (name + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (name + "-labels-idx1-ubyte"), std::ios::binary);
  images << big_endian(0x803) << big_endian(count) << big_endian(2) << big_endian(2);
  labels << big_endian(0x801) << big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool second = i % 2 == 1;
    for (const std::uint32_t pixel : {second ? 40U : 250U, second ? 250U : 40U, i * 37 % 200, i * 91 % 200})
      images << static_cast<char>(pixel);
    labels << static_cast<char>(second != wrong);
  }
}

class Images {
 public:
  explicit Images(bool wrong_test) {
    write_images(folder_.path(), "train", 80, false);
    write_images(folder_.path(), "t10k", 20, wrong_test);
  }
  Json run(const ScenarioBuilder& scenario) const { return scenario.data_folder(folder_.path()).run(); }
  Outcome say(const ScenarioBuilder& scenario) const {
    std::ofstream(folder_.path() / "scenario.toml") << scenario.toml();
    return psim::test::psim({"run", "scenario.toml", "--out", "run"}, folder_.path());
  }
  fs::path run_db() const { return folder_.path() / "run" / "run.db"; }

 private:
  TemporaryFolder folder_;
};

ScenarioBuilder scenario(double fraction, const std::string& training, const std::string& more = "") {
  return ScenarioBuilder({"data.source=idx", "data.path=\".\"", "model.layers=[4, 2]",
                          "training.batch_size=4", "training.learning_rate=0.5", "training.epochs=4",
                          "training.evaluate_every=2 updates", "cluster.workers=4", "compute.time=1ms"})
      .set("data.validation_fraction", fraction)
      .with("training", training)
      .with(more);
}

// All but what is computed of the test set, and who ran it.
Json before_the_end(Json summary) {
  for (const char* key : {"final", "scenario_hash"}) summary.erase(key);
  if (summary.contains("groups")) {
    for (Json& group : summary["groups"]) group.erase("final");
  }
  if (summary.contains("inference")) summary["inference"].erase("accuracy");
  return summary;
}

constexpr const char* target = "target = { accuracy = 0.95 }";

}  // namespace

TEST_CASE("with a validation set another test set changes nothing before the end", "[validation]") {
  const Images right(false), wrong(true);
  const std::string fault =
      "[[fault]]\nkind = \"slow\"\nnodes = [\"worker 1\"]\nfactor = 0.2\nwhen = \"loss < 0.6\"\n";
  for (const ScenarioBuilder& one :
       {scenario(0.25, target), scenario(0.25, "target = { loss = 0.3, stop = false }", fault),
        scenario(0.25, target, "[architecture]\nkind = \"all-reduce\"\n"),
        scenario(0.25, "", "[inference]\nrate = 2000\nrefresh = \"2ms\"\n"),
        scenario(0.25, target, "[[group]]\nname = \"a\"\n[[group]]\nname = \"b\"\nset = [\"seed = 2\"]\n")}) {
    INFO(one.toml());
    const Json a = right.run(one), b = wrong.run(one);
    CHECK(before_the_end(a) == before_the_end(b));
    CHECK(a["scenario_hash"] != b["scenario_hash"]);
    CHECK(a["final"]["accuracy"] == 1.0);
    CHECK(b["final"]["accuracy"] == 0.0);
    CHECK(a["final_validation"]["accuracy"] == 1.0);
    CHECK(b["final_validation"]["accuracy"] == 1.0);
    CHECK(a["curve"].back()["loss"] == a["final_validation"]["loss"]);
  }
}

TEST_CASE("a target is reached on the validation set, whatever the test set says", "[validation]") {
  const Images wrong(true);
  const Json judged = wrong.run(scenario(0.25, target));
  CHECK(judged["target"]["reached"] == true);
  CHECK(judged["evaluated_on"]["target"] == "validation");
  CHECK(judged["evaluated_on"]["final"] == "test");
  const Json by_test = wrong.run(scenario(0, target));
  CHECK(by_test["target"]["reached"] == false);
  CHECK(by_test["evaluated_on"]["target"] == "test");
  CHECK(by_test["final_validation"].is_null());
  CHECK(by_test["updates"] > judged["updates"]);
}

TEST_CASE("what is held out is not learned: an epoch has fewer steps", "[validation]") {
  const Images right(false);
  CHECK(right.run(scenario(0, ""))["steps"] == 80);  // 80 samples, 4 epochs, batches of 4
  CHECK(right.run(scenario(0.25, ""))["steps"] == 60);
}

TEST_CASE("without a test set the validation set has the last word", "[validation]") {
  const Json summary = ScenarioBuilder({"data.test_fraction=0", "data.validation_fraction=0.2",
                                        "model.layers=[64, 10]", "training.steps=20", "cluster.workers=2"})
                           .run();
  CHECK(summary["final"] == summary["final_validation"]);
  CHECK(summary["evaluated_on"]["final"] == "validation");
}

TEST_CASE("sparse data, regressions and pipelines hold out samples as others do", "[validation]") {
  const std::string rest = "[training]\nsteps = 10\nbatch_size = 4\n[cluster]\nworkers = 2\n";
  for (const std::string& begin :
       {std::string("[data]\nsource = \"clicks\"\nfeatures = 100\nvalidation_fraction = 0.2\n"
                    "[model]\nkind = \"logistic\"\n"),
        std::string("[data]\nsource = \"teacher\"\nfeatures = 5\nclasses = 2\nvalidation_fraction = 0.2\n"
                    "[model]\nlayers = [5, 2]\nloss = \"half-sse\"\n"),
        std::string("[architecture]\nkind = \"model-parallel\"\n[data]\nvalidation_fraction = 0.2\n"
                    "[model]\nlayers = [64, 16, 10]\n")}) {
    INFO(begin);
    const Json summary = ScenarioBuilder::from(begin + rest).run();
    CHECK(summary["evaluated_on"]["curve"] == "validation");
    CHECK(summary["final"]["loss"] != summary["final_validation"]["loss"]);
    CHECK(summary["curve"].back()["loss"] == summary["final_validation"]["loss"]);
  }
}

TEST_CASE("psim run says what was judged on the validation set", "[validation]") {
  const Images wrong(true);
  const Outcome outcome = wrong.say(scenario(0.25, target));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("accuracy 95 % on the validation set reached after") != std::string::npos);
  CHECK(outcome.out.find("accuracy 100.00 % on the validation set\n  test        loss") != std::string::npos);
  CHECK(outcome.out.find(", accuracy 0.00 %\n") != std::string::npos);
  const auto number = [&](const std::string& sql) {
    psim::InputRows rows(wrong.run_db(), sql);
    REQUIRE(rows.next());
    return sqlite3_column_double(rows.row(), 0);
  };
  CHECK(number("SELECT count(*) FROM evaluation WHERE samples = 'test'") == 1);
  CHECK(number("SELECT accuracy FROM evaluation WHERE samples = 'test'") == 0);
  CHECK(number("SELECT count(*) FROM evaluation WHERE samples = 'validation'") > 2);
}
