// Goal: somebody else finds the same numbers. Method: tests/analysis/reanalysis.py has its own formulas and
// its own copy of the random streams; it reads the runs of a made-up study, and what the library says of
// them.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/statistics/paired_comparison.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "model/base/random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::statistics;
using psim::test::Json;

namespace {

const std::vector<std::string> arms{"bsp", "ssp", "asp"};
const std::map<std::string, std::uint64_t> conditions{{"calm", 12}, {"rough", 18}};  // and their seeds

// Times in sixteenths, so that some tie; under "rough" a fifth of the baseline's runs miss their target.
std::vector<TimedRun> runs_of(const std::string& condition, std::size_t arm) {
  std::vector<TimedRun> runs;
  for (std::uint64_t seed = 1; seed <= conditions.at(condition); ++seed) {
    psim::Stream luck(seed, condition), own(seed, condition, arm + 1);
    const double time =
        std::round(16 * (9 - static_cast<double>(arm)) * std::exp(0.2 * luck.normal() + 0.2 * own.normal())) /
        16;
    const double budget = condition == "rough" ? 10 : 100;
    runs.push_back(
        {.seed = seed, .time_s = std::min(time, budget), .reached = time <= budget, .budget_s = budget});
  }
  return runs;
}

Json number(double x) { return std::isinf(x) ? Json(x > 0 ? "inf" : "-inf") : Json(x); }
Json number(const std::optional<double>& x) { return x ? number(*x) : Json(); }

std::vector<Pair> restricted_pairs(const std::vector<TimedRun>& arm, const std::vector<TimedRun>& baseline,
                                   double tau) {
  std::map<std::uint64_t, double> others;
  for (const TimedRun& run : baseline) others[run.seed] = restricted_time(run, tau);
  std::vector<Pair> pairs;
  for (const TimedRun& run : arm) {
    if (others.contains(run.seed)) pairs.push_back({restricted_time(run, tau), others[run.seed]});
  }
  return pairs;
}

Json json_of(const TimeSummary& summary, const std::optional<RestrictedMean>& area) {
  return {{"runs", summary.runs},
          {"reached", summary.reached},
          {"tau_s", summary.tau_s},
          {"restricted_mean_s", summary.restricted_mean_s},
          {"restricted_sd_s", number(summary.restricted_sd_s)},
          {"median_s", number(summary.median_s)},
          {"survival_mean_s", area->mean_s},
          {"survival_variance_s2", area->variance_s2}};
}

Json json_of(const PairedComparison& c) {
  return {{"seeds", c.seeds},
          {"difference", c.difference.value},
          {"difference_low", number(c.difference.interval.low)},
          {"difference_high", number(c.difference.interval.high)},
          {"ratio", c.ratio->value},
          {"ratio_low", number(c.ratio->interval.low)},
          {"ratio_high", number(c.ratio->interval.high)},
          {"better", c.better},
          {"unpaired_better", c.unpaired_better},
          {"p", c.test.p}};
}

Json analysed(const Resampling& how) {
  Json document{{"seed", how.seed}, {"resamples", how.resamples}, {"draws", 20'000}};
  std::vector<std::vector<double>> medians(arms.size());
  for (const auto& [condition, seeds] : conditions) {
    Json& by_arm = document["conditions"][condition];
    const double tau = runs_of(condition, 0).front().budget_s;
    std::vector<double> family;  // p values
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      const auto runs = runs_of(condition, arm);
      const TimeSummary summary = summarize_times(runs, tau);
      Json& numbers = by_arm[arms[arm]] = json_of(summary, restricted_mean(kaplan_meier(runs), tau));
      medians[arm].push_back(summary.median_s.value_or(std::numeric_limits<double>::infinity()));
      if (arm == 0) continue;
      const PairedComparison pairs =
          compare_pairs(restricted_pairs(runs, runs_of(condition, 0), tau), Better::smaller, how);
      family.push_back(pairs.test.p);
      numbers.update(json_of(pairs));
    }
    const std::vector<double> p = holm(family);
    for (std::size_t i = 0; i < p.size(); ++i) by_arm[arms[i + 1]]["p_holm"] = p[i];
  }
  const auto profiles = performance_profiles(medians);
  for (std::size_t arm = 0; arm < arms.size(); ++arm)
    document["scores"][arms[arm]] = profile_score(profiles[arm]);
  return document;
}

void write_runs(const std::filesystem::path& path) {
  std::ofstream file(path);
  file << "arm,condition,seed,time_s,reached,budget_s\n";
  for (const auto& [condition, seeds] : conditions) {
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      for (const TimedRun& run : runs_of(condition, arm))
        file << fmt::format("{},{},{},{},{},{}\n", arms[arm], condition, run.seed,
                            run.reached ? fmt::format("{}", run.time_s) : "", run.reached, run.budget_s);
    }
  }
}

}  // namespace

TEST_CASE("an independent program finds the same statistics", "[statistics][slow]") {
  if (psim::test::process({"python3", "-c", ""}).code != 0) {
    WARN("skipped: there is no python3");
    return;
  }
  const psim::test::TemporaryFolder folder;
  write_runs(folder.path() / "runs.csv");
  const auto verdict = [&](const Json& document) {
    std::ofstream(folder.path() / "aggregates.json") << document;
    return psim::test::process(
        {"python3", (psim::test::source_folder() / "tests/analysis/reanalysis.py").string(), "runs.csv",
         "aggregates.json"},
        folder.path());
  };
  Json document = analysed({.seed = 7, .resamples = 1000});
  const auto agrees = verdict(document);
  CHECK(agrees.out + agrees.err == "every number agrees to 1e-9\n");
  CHECK(agrees.code == 0);

  Json& low = document["conditions"]["rough"]["asp"]["ratio_low"];
  low = low.get<double>() * (1 + 1e-8);
  const auto differs = verdict(document);
  CHECK(differs.code == 1);
  CHECK(differs.out.find("/conditions/rough/asp/ratio_low") == 0);
}
