// Goal: a plan's runs are those that their own commands make. Method: every shipped scenario, planned with
// three seeds, beside each run loaded by itself.
#include "sim/study/plan.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "sim/record/identity.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/spec/step_trace.hpp"
#include "sim/study/tuning.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using psim::test::source_folder;

namespace {

bool same_data(const DataSplit* a, const DataSplit* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const auto same = [](const Dataset& x, const Dataset& y) {
    return x.size() == y.size() && x.inputs == y.inputs && x.labels == y.labels &&
           x.sparse_inputs.index == y.sparse_inputs.index;
  };
  return same(a->train, b->train) && same(a->test, b->test) && same(a->validation, b->validation);
}

void check_plan(const study::Request& request) {
  study::Plan plan = study::plan_study(request, false, {});
  for (study::PlannedRun& run : plan.runs) {
    INFO(request.scenario << ", seed " << run.seed);
    const LoadedScenario alone = load_for_run(run.request);
    CHECK(run.hash == scenario_hash(alone));
    CHECK(run.seed == alone.scenario.seed);
    if (!run.loaded) continue;
    Diagnostics none;
    if (run.lacks_data) load_data_again(*run.loaded, load_request(run.request, none));
    CHECK(same_data(run.loaded->data.get(), alone.data.get()));
  }
}

}  // namespace

TEST_CASE("each run of a plan is the one that its own command makes", "[study]") {
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "scenarios")) {
    if (entry.path().extension() != ".toml" || entry.path().stem() == "fashion_mnist") continue;
    study::Request request;
    request.scenario = entry.path();
    request.seeds = "1,2,7";
    check_plan(request);
  }
}

TEST_CASE("a plan with more data than it keeps, a seed of an arm, and limits of memory", "[study]") {
  const psim::test::TemporaryFolder folder;
  const std::string file = folder.path() / "scenario.toml";
  const char* const texts[] = {
      R"(data = { source = "blobs", samples = 20000, features = 60 }
model.layers = [60, 3]
)",
      R"(compare.arm = [{ name = "a" }, { name = "b", consistency.model = "asp" }]
)",
      R"(cluster = { servers = 3, server.memory = "1GB" }
placement.kind = "hash-ring"
)"};
  for (const char* text : texts) {
    std::ofstream(file) << text << "training.steps = 1\n";
    study::Request request;
    request.scenario = file;
    request.seeds = "1,2,3,4,5,6,7,8,9,10";
    check_plan(request);
  }
}

TEST_CASE("a short log leaves more of a prediction's variance to the fit", "[unit][study]") {
  Scenario scenario;
  scenario.compute.steps = std::make_shared<StepTrace>(1, std::vector<double>(100, 1.0));
  CHECK(!study::share_of_fit(scenario, 300));
  scenario.compute.resampling.drawn_sample = true;
  CHECK(study::share_of_fit(scenario, 300) == 0.75);
  CHECK(study::share_of_fit(scenario, 25) == 0.2);
}

TEST_CASE("a field on the command line fixes its own axis, not one whose name begins with it", "[study]") {
  const auto runs = [](const std::vector<std::string>& sets) {
    study::Request request;
    request.scenario = source_folder() / "scenarios" / "quickstart.toml";
    request.sets = {"consistency.model=dssp", "training.steps=2", "consistency.staleness_max=[4, 6]"};
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    return study::plan_study(request, false, {}).runs.size();
  };
  CHECK(runs({}) == 2);
  CHECK(runs({"consistency.staleness=2"}) == 2);
}

TEST_CASE("of settings with equal accuracies the one with the least loss is chosen", "[study][tune]") {
  study::Request request;
  request.scenario = source_folder() / "scenarios" / "quickstart.toml";
  const TuneSpec spec{.measure = TuneMeasure::accuracy,
                      .seeds = {101},
                      .fields = {{.key = "training.learning_rate", .values = {"0.1", "0.2", "0.3"}}}};
  const study::MakeTrials make = [](study::Plan& plan) {
    analysis::Study made;
    for (const study::PlannedRun& run : plan.runs) {
      const bool is_best = run.condition.back() == "training.learning_rate=0.2";
      const Json summary{{"sim_time_s", 1.0},
                         {"final_validation", {{"loss", is_best ? 1.0 : 2.0}, {"accuracy", 0.9}}}};
      made.cells.push_back(
          {run.arm, run.condition, {{.run = run.hash, .seed = run.seed, .summary = summary}}});
    }
    return std::optional(std::move(made));
  };
  const std::optional<study::Tuning> tuning = study::tune(request, spec, make);
  REQUIRE(tuning);
  CHECK(tuning->cells.front().setting.sets == std::vector<std::string>{"training.learning_rate=0.2"});
}
