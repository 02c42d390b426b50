// What `psim compare` prints.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/chart.hpp"
#include "sim/cli/compare_report.hpp"
#include "sim/record/summary.hpp"

namespace psim::cli {
namespace {

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 86;
}

bool may_colour() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string loss_chart(const analysis::Comparison& comparison) {
  std::vector<analysis::Series> series;
  for (const analysis::Group& group : comparison.groups) {
    const auto run = std::ranges::find(comparison.runs, group.point, &analysis::ComparedRun::point);
    analysis::Series one{
        .name = group.point.empty() ? "as it is" : fmt::format("{}", fmt::join(group.point, ", ")),
        .points = {}};
    for (const Json& point : run->summary["curve"]) {
      if (point["loss"].is_null()) break;  // diverged
      one.points.emplace_back(point["sim_time_s"].get<double>(), point["loss"].get<double>());
    }
    if (!one.points.empty()) series.push_back(std::move(one));
    if (series.size() == 12) break;
  }
  return analysis::chart(series, {.x_label = "s",
                                  .y_label = "loss",
                                  .width = std::clamp(terminal_width() - 14, 40, 100),
                                  .height = 16,
                                  .colour = may_colour()});
}

}  // namespace

int print_comparison(const Command& command, const analysis::Comparison& comparison,
                     const std::string& folder) {
  if (command.json) {
    fmt::print("{}\n", analysis::document(comparison).dump(2));
    return done;
  }
  fmt::print("{}    (psim {})\n", replay_line(command).replace(5, 3, "compare"), version_text());
  if (const std::string title = comparison.runs.front().summary["title"]; !title.empty())
    fmt::print("{}\n", title);
  fmt::print("\n{}\n", analysis::table(comparison));
  const bool several = comparison.runs.size() > comparison.groups.size();
  if (several)
    fmt::print(
        "± is the standard deviation over seeds, paired: every group meets the same data, draws and "
        "stragglers.\n\n");
  fmt::print("{}", loss_chart(comparison));
  if (several) fmt::print("\nCurves are of seed {}.", comparison.runs.front().seed);
  const Json& first = comparison.runs.front().summary;
  const fs::path run = run_directory(scenario_name(command.scenario), first["scenario_hash"]).filename();
  fmt::print("\n{} runs under {}/   next: psim run {} --set ..., or sqlite3 {} .schema\n",
             comparison.runs.size(), folder, command.scenario, (fs::path(folder) / run / "run.db").string());
  return done;
}

}  // namespace psim::cli
