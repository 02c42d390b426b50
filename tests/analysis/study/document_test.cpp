// Goal: other programs find every number of a study, under its name. Method: studies made by hand.
#include "analysis/study/files.hpp"

#include <cmath>

#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

Json made(const Study& s) { return document(s, evaluate(s)); }

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> all;
  for (const auto& [key, value] : object.items()) all.push_back(key);
  return all;
}
using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("the document of a study has every run and every aggregate", "[study]") {
  const Json json = made(study(
      {"m.k"}, {cell("a", {"1"}, reaching({2, 4}, 10)), cell("b", {"1"}, {reached(1, 10), missed(10)})}));
  CHECK(keys(json) == Keys{"schema", "psim", "cpu_family", "build", "name", "title", "arm_axis",
                           "condition_axes", "baseline", "budget_s", "runs", "aggregates", "holm", "notes"});
  CHECK(json["schema"] == "psim.compare/2");
  CHECK(json["condition_axes"] == Json{"m.k"});
  CHECK(json["baseline"] == "a");
  CHECK(json["budget_s"] == 10.0);
  REQUIRE(json["runs"].size() == 4);
  CHECK(json["runs"][2]["arm"] == "b");
  CHECK(json["runs"][2]["condition"] == Json{{"m.k", "1"}});
  CHECK(json["runs"][2]["seed"] == 1);
  CHECK(json["runs"][2]["run"] == "b/1#1");
  CHECK(json["runs"][2]["sim_time_s"] == 1.0);
  const Json& b = json["aggregates"][1];
  CHECK(keys(b) == Keys{"arm",
                        "condition",
                        "n",
                        "reached",
                        "diverged",
                        "unlearned",
                        "time_to_target",
                        "time_s",
                        "versus_baseline",
                        "pareto",
                        "cause",
                        "updates",
                        "s_per_update",
                        "samples_per_s",
                        "staleness",
                        "staleness_max",
                        "compute_percent",
                        "wait_percent",
                        "network_percent",
                        "absent_percent",
                        "bytes_sent",
                        "memory_bytes",
                        "final_loss",
                        "final_accuracy"});
  CHECK(b["n"] == 2);
  CHECK(b["reached"] == 1);
  CHECK(b["time_s"] == nullptr);
  CHECK(keys(b["time_to_target"]) == Keys{"restricted_mean_s", "restricted_mean_ci95", "restricted_sd_s",
                                          "median_s", "budget_s", "method"});
  CHECK(b["time_to_target"]["restricted_mean_s"] == 5.5);
  CHECK(b["time_to_target"]["median_s"] == 1.0);  // half of them
  CHECK(b["time_to_target"]["method"] == "restricted mean");
  CHECK(keys(b["versus_baseline"]) == Keys{"ratio", "ratio_ci95", "difference_s", "difference_ci95",
                                           "p_better", "p_better_unpaired", "p_value", "p_value_holm",
                                           "reached", "seeds", "order", "learns", "replicates", "predicted",
                                           "budget_s", "cut_arm", "cut_baseline", "cut_both", "trustworthy"});
  CHECK(b["versus_baseline"]["reached"] ==
        Json{{"arm", 1}, {"baseline", 2}, {"p_value", 1.0}, {"p_value_holm", nullptr}, {"decides", false}});
  CHECK(b["versus_baseline"]["ratio"].get<double>() == Approx(std::sqrt(0.5 * 2.5)));
  CHECK(b["versus_baseline"]["difference_s"] == 2.5);
  CHECK(b["versus_baseline"]["p_better"] == 0.5);
  CHECK(b["versus_baseline"]["seeds"] == 2);
  CHECK(b["final_loss"] == Json{{"mean", 0.5}, {"sd", 0.0}, {"n", 2}});
  CHECK(json["aggregates"][0]["versus_baseline"] == nullptr);
}

TEST_CASE("without a target the time of the whole run stands in", "[study]") {
  const Json a = made(study({}, {cell("a", {}, lasting({2, 4}))}))["aggregates"][0];
  CHECK(a["time_to_target"] == nullptr);
  CHECK(a["time_s"]["mean"] == 3.0);
  CHECK(a["time_s"]["n"] == 2);
}

TEST_CASE("what is not finite or not known is null in a document", "[study]") {
  const Json json = made(
      study({}, {cell("a", {}, {{.time = 1, .loss = {}}}), cell("b", {}, {{.time = 2, .loss = HUGE_VAL}})}));
  const Json& versus = json["aggregates"][1]["versus_baseline"];
  CHECK(json["aggregates"][0]["final_loss"] == nullptr);
  CHECK(json["aggregates"][1]["final_loss"]["mean"] == nullptr);
  CHECK(versus["ratio"].get<double>() == Approx(2));
  CHECK(versus["budget_s"] == nullptr);
  CHECK(versus["ratio_ci95"][1] == nullptr);  // one seed bounds nothing
  CHECK(json["aggregates"][0]["time_s"]["sd"] == nullptr);
  CHECK(json["budget_s"] == nullptr);
}

TEST_CASE("two conditions have profiles in the document", "[study]") {
  const Json json =
      made(study({"k"}, {cell("a", {"1"}, reaching({1}, 9)), cell("a", {"2"}, {missed(9)}),
                         cell("b", {"1"}, reaching({2}, 9)), cell("b", {"2"}, reaching({4}, 9))}));
  REQUIRE(json["profiles"].size() == 2);
  CHECK(json["profiles"][0]["arm"] == "a");
  CHECK(json["profiles"][0]["score"] == 0.5);
  CHECK(json["profiles"][0]["ratios"] == Json{1.0, nullptr});  // a miss has no ratio
  CHECK(json["aggregates"][1]["time_to_target"]["median_s"] == nullptr);
}
