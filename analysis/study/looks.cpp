// Remarks for tables that depend on the dates of evaluations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"

namespace psim::analysis {
namespace {

constexpr double coarse = 0.05;  // of a mean time
constexpr double alike = 1.5;    // ratio of two arms' updates in a clock

// Mean updates per clock of a worker, over all runs; none if no clock was finished.
std::optional<double> updates_per_clock(const Cell& cell) {
  double updates = 0, clocks = 0;
  for (const StudyRun& run : cell.runs) {
    const Json workers = run.summary.value("workers", Json::array());  // runs of older versions have none
    updates += run.summary["updates"].get<double>() * static_cast<double>(workers.size());
    clocks += run.summary.value("steps", 0.0);
  }
  return updates > 0 && clocks > 0 ? std::optional(updates / clocks) : std::nullopt;
}

// "50 updates"; empty if evaluations do not depend on updates, or if there is no target.
std::string looked_at_every(const Cell& cell) {
  for (const StudyRun& run : cell.runs) {
    const Json every = run.summary.value("evaluate_every", Json());
    if (run.summary["target"]["given"] == true && every.is_string() &&
        every.get<std::string>().find("update") != std::string::npos)
      return every;
  }
  return {};
}

std::string coarse_grid(const Evaluation& evaluation) {
  std::vector<std::string> rows;
  double most = 0;
  for (const Aggregate& one : evaluation.aggregates) {
    const Statistic* bracket = one.measure("target_bracket_s");
    if (bracket == nullptr || !one.time_to_target) continue;
    const double share = bracket->mean / one.time_to_target->restricted_mean_s;
    if (!(share > coarse)) continue;
    rows.push_back(cell_label(*one.cell));
    most = std::max(most, share);
  }
  if (rows.empty()) return {};
  constexpr std::size_t few = 4;
  const std::size_t more = rows.size() > few ? rows.size() - few : 0;
  rows.resize(rows.size() - more);
  return fmt::format(
      "The gap between the evaluation that first showed the target and the evaluation before it is up to "
      "{:.0f} % of the time to the target ({}{}): these times are uncertain by that much. A shorter "
      "training.evaluate_every makes them more exact.",
      100 * most, fmt::join(rows, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

std::string uneven_looks(const Evaluation& evaluation) {
  for (const Aggregate& one : evaluation.aggregates) {
    const std::string every = looked_at_every(*one.cell);
    const std::optional<double> here = updates_per_clock(*one.cell);
    if (every.empty() || !here) continue;
    for (const Aggregate& other : evaluation.aggregates) {
      const std::optional<double> there = updates_per_clock(*other.cell);
      if (other.cell->condition != one.cell->condition || looked_at_every(*other.cell).empty() || !there ||
          *here < alike * *there)
        continue;
      return fmt::format(
          "{} makes {:.3g} times as many updates in a clock as {}, so with evaluate_every = \"{}\" it is "
          "evaluated that much more often, and one lucky evaluation is enough. \"N samples\" treats all arms "
          "alike, and training.target.hold requires several evaluations in a row.",
          cell_label(*one.cell), *here / *there, cell_label(*other.cell), every);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> remarks_on_looks(const Evaluation& evaluation) {
  std::vector<std::string> texts{coarse_grid(evaluation), uneven_looks(evaluation)};
  std::erase(texts, "");
  return texts;
}

}  // namespace psim::analysis
