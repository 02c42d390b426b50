// psim why.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/causes/difference.hpp"
#include "analysis/render/text_table.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/nodes/worker/gradient_probe.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/simulation.hpp"

namespace psim::cli {

// The effect of staleness on a run's gradients: makes the run once more, with a probe.

// The gradients of each staleness, in updates.
struct GradientsReport {
  std::string text;
  Json json;
};

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

// Throws Refused if gradients cannot be compared, or if the run now has another result.
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

namespace {

analysis::Until until_of(const WhyCommand& command) {
  using What = analysis::Until::What;
  if (command.at) return {What::date, *command.at};
  return {command.until == "target" ? What::target : What::end};
}

std::size_t width() { return static_cast<std::size_t>(terminal_width().value_or(100)); }

int why_two(const WhyCommand& command) {
  if (command.gradients)
    throw Refused("--gradients takes one run", "use psim why RUN --gradients for each run");
  const std::array<std::string, 2> names{command.runs[0], command.runs[1]};
  const std::array records{open_record(run_named(names[0])), open_record(run_named(names[1]))};
  const analysis::Difference difference = analysis::difference_of(records, names, until_of(command));
  if (command.json) fmt::print("{}\n", analysis::document(difference, records).dump(2));
  else fmt::print("{}", analysis::text(difference, width()));
  return done;
}

}  // namespace

int why(const WhyCommand& command) {
  if (command.runs.size() == 2) return why_two(command);
  const fs::path run = run_named(command.runs.front());
  const analysis::RunRecord record = open_record(run);
  const analysis::Explanation why = analysis::explain(record, until_of(command));
  std::optional<GradientsReport> gradients;
  if (command.gradients) gradients = measure_gradients(run);
  if (command.json) {
    Json document = analysis::document(why, record.facts);
    if (gradients) document["gradients"] = gradients->json;
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}", analysis::text(why, record.facts, width()));
    if (gradients) fmt::print("\n{}", gradients->text);
  }
  return done;
}

}  // namespace psim::cli
