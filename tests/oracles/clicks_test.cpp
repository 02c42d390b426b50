// Goal: the shipped scenario of a sparse model learns, and l1 does what it is for. Method: against the
// majority class, and with more and less l1.
#include <algorithm>
#include <numbers>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

Json clicks(const FieldValues& settings = {}) { return run_file("scenarios/clicks.toml", settings); }

}  // namespace

TEST_CASE("logistic regression learns to predict clicks", "[clicks][slow]") {
  const Json run = clicks();
  CHECK(run["initial"]["loss"].get<double>() == Approx(std::numbers::ln2).epsilon(1e-12));
  CHECK(run["initial"]["auc"] == 0.5);
  CHECK(run["initial"]["nonzero_weights"] == 0);
  // Weights of zero say "no click" to everything.
  const double no_click = run["initial"]["accuracy"], majority = std::max(no_click, 1 - no_click);
  CHECK(run["final"]["accuracy"].get<double>() > majority + 0.1);
  CHECK(run["final"]["auc"].get<double>() > 0.7);
  CHECK(run["final"]["loss"].get<double>() < 0.6);
  CHECK(run["model"]["parameters"] == 50'001);
  CHECK(run["model"]["flops_per_sample"] == 84);
}

TEST_CASE("l1 makes weights exactly zero, more of them the larger it is", "[clicks][slow]") {
  const auto nonzero = [](const std::string& l1) {
    return clicks({"training.l1=" + l1})["final"]["nonzero_weights"].get<int>();
  };
  const int without = nonzero("0"), little = nonzero("1e-4"), much = nonzero("1e-3");
  CHECK(without > 30'000);
  CHECK(little < without * 2 / 3);
  CHECK(much < little / 4);
  CHECK(much > 100);
  CHECK(nonzero("10") == 0);
}

TEST_CASE("every optimizer learns a sparse model, in both precisions", "[clicks][slow]") {
  const std::string optimizer = GENERATE("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam");
  const std::string precision = GENERATE("float32", "float64");
  std::string toml = content(source_folder() / "scenarios/clicks.toml");
  toml.erase(toml.find("l1 = "), std::string("l1 = 1e-4\n").size());
  const Json run = ScenarioBuilder::from(toml)
                       .set({"training.optimizer=" + optimizer, "training.learning_rate=0.01",
                             "model.precision=" + precision})
                       .run();
  CHECK(run["final"]["loss"].get<double>() < 0.685);
  CHECK(run["final"]["auc"].get<double>() > 0.65);
}
