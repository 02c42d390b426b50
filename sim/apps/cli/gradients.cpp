#include "sim/apps/cli/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/render/text_table.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/nodes/worker/gradient_probe.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/simulation.hpp"

namespace psim::cli {
namespace {

struct Sum {
  std::int64_t count = 0;
  double cosine = 0, least = 1, ratio = 0;
  void add(const ProbedGradient& one) {
    ++count;
    cosine += one.cosine;
    ratio += one.ratio;
    least = std::min(least, one.cosine);
  }
  double mean_cosine() const { return cosine / static_cast<double>(count); }
  double mean_ratio() const { return ratio / static_cast<double>(count); }
};

Json json_of(const Sum& sum) {
  return {{"count", sum.count},
          {"cosine_mean", sum.mean_cosine()},
          {"cosine_min", sum.least},
          {"length_ratio_mean", sum.mean_ratio()}};
}

std::string table_of(const std::map<std::int64_t, Sum>& by_staleness) {
  using analysis::ColumnName;
  std::vector<analysis::TextColumn> columns{ColumnName("staleness", "psim why --gradients"),
                                            ColumnName("gradients", "psim why --gradients"),
                                            {"cosine"},
                                            {"least"},
                                            {"length"}};
  for (const auto& [staleness, sum] : by_staleness) {
    columns[0].cells.push_back(fmt::to_string(staleness));
    columns[1].cells.push_back(fmt::to_string(sum.count));
    columns[2].cells.push_back(fmt::format("{:.4f}", sum.mean_cosine()));
    columns[3].cells.push_back(fmt::format("{:.4f}", sum.least));
    columns[4].cells.push_back(fmt::format("{:.3f}", sum.mean_ratio()));
  }
  return analysis::render(columns, 100);
}

}  // namespace

GradientsReport measure_gradients(const fs::path& path) {
  const FinishedRun run = open_run(path);
  const LoadedScenario loaded = load_again(run);
  GradientProbe probe;
  Progress progress(loaded);
  const RunResult result =
      simulate(loaded, {.threads = thread_count(0), .context = "", .gradients = &probe}, {&progress});
  progress.erase();
  if (run.summary.at("digest") != result.digest)
    throw Refused("the run now has another result, so its gradients cannot be compared",
                  fmt::format("psim replay {} shows the difference", file_word(path)));
  if (probe.gradients().empty())
    throw Refused("psim cannot compare this run's gradients with fresh gradients",
                  "it needs workers that push the gradient of one dense batch on pulled weights");
  Sum all;
  std::map<std::int64_t, Sum> by_staleness;
  for (const ProbedGradient& one : probe.gradients()) {
    all.add(one);
    by_staleness[one.staleness].add(one);
  }
  Json rows = Json::array();
  for (const auto& [staleness, sum] : by_staleness) {
    Json row{{"staleness", staleness}};
    row.update(json_of(sum));
    rows.push_back(std::move(row));
  }
  Json json = json_of(all);
  json["by_staleness"] = std::move(rows);
  return {
      .text = fmt::format("the cosine between an applied gradient and a fresh gradient of the same samples "
                          "is {:.4f} on average\n\n{}",
                          all.mean_cosine(), table_of(by_staleness)),
      .json = std::move(json)};
}

}  // namespace psim::cli
