// What `psim compare` prints.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "analysis/chart.hpp"
#include "sim/cli/compare.hpp"
#include "sim/cli/talk.hpp"
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

constexpr std::size_t most_curves = 12;

// The loss of each row over time, in one run: that with the first row's seed.
std::string loss_chart(const analysis::Comparison& comparison) {
  std::vector<analysis::Series> series;
  std::size_t left_out = 0;
  std::set<std::string> judged;
  for (const analysis::Group& group : comparison.groups) {
    const auto run = std::ranges::find(comparison.runs, group.point, &analysis::ComparedRun::point);
    analysis::Series one{.name = analysis::label_of(group.point), .points = {}};
    judged.insert(where_judged(run->summary));
    for (const Json& point : run->summary["curve"]) {
      if (point["loss"].is_null()) break;  // diverged
      one.points.emplace_back(point["sim_time_s"].get<double>(), point["loss"].get<double>());
    }
    if (one.points.empty()) continue;
    if (series.size() < most_curves) series.push_back(std::move(one));
    else ++left_out;
  }
  std::string out = analysis::chart(series, {.x_label = "s",
                                             .y_label = "loss" + (judged.size() == 1 ? *judged.begin() : ""),
                                             .width = std::clamp(terminal_width() - 14, 40, 100),
                                             .height = 16,
                                             .colour = may_colour()});
  if (out.empty()) return out;
  if (left_out > 0)
    out += fmt::format(
        "Curves are of the first {} rows; {} more are left out (--set KEY=VALUE fixes an axis).\n",
        most_curves, left_out);
  if (comparison.runs.size() > comparison.groups.size())
    out += fmt::format("Curves are of seed {} alone.\n", comparison.runs.front().seed);
  return out;
}

// What the runs' notes say, each kind once.
std::string notes_text(const analysis::Comparison& comparison) {
  std::string out;
  for (const analysis::ComparedNote& note : comparison.notes) {
    out += fmt::format("note: {}", note.text);
    if (comparison.runs.size() > 1)
      out += fmt::format("   ({} of {} runs; these numbers: {}, seed {})", note.runs, comparison.runs.size(),
                         analysis::label_of(note.point), note.seed);
    out += "\n";
  }
  return out.empty() ? out : out + "\n";
}

std::string explanations(const analysis::Comparison& comparison) {
  std::string out;
  if (comparison.runs.size() > comparison.groups.size())
    out +=
        "± is the standard deviation over seeds, paired: every row meets the same data, draws and "
        "stragglers.\n";
  if (comparison.groups.size() > 1)
    out += fmt::format(
        "relative: time divided by that of the first row ({}) with the same seed; `-` where a seed has "
        "none.\n",
        analysis::label_of(comparison.groups.front().point));
  return out.empty() ? out : out + "\n";
}

// "target: accuracy 93 %"; empty where runs have none, or different ones.
std::string target_line(const analysis::Comparison& comparison) {
  std::set<std::string> targets;
  for (const analysis::ComparedRun& run : comparison.runs) targets.insert(target_text(run.summary));
  const std::string& target = *targets.begin();
  return targets.size() > 1 || target.empty() ? "" : fmt::format("target: {}\n", target);
}

void print_for_people(const Command& command, const analysis::Comparison& comparison, const Point& first) {
  fmt::print("{}    (psim {})\n", replay_line(command).replace(5, 3, "compare"), version_text());
  if (const std::string title = comparison.runs.front().summary["title"]; !title.empty())
    fmt::print("{}\n", title);
  fmt::print("{}", target_line(comparison));
  fmt::print("\n{}\n", analysis::table(comparison));
  fmt::print("{}{}{}", explanations(comparison), notes_text(comparison), loss_chart(comparison));
  if (comparison.runs.size() == 1)
    fmt::print(
        "\nThis is one run, so there is nothing to compare. Give axes in [compare] of the scenario, or with\n"
        "  --seeds 1,2,3   or   --set 'consistency=[\"bsp\", \"ssp 3\", \"asp\"]'\n");
  const fs::path folder(first.command.out);
  fmt::print(
      "\n{} runs under {}/   next, of the run in the first row, {} with seed {}:\n  {}\n  sqlite3 {} "
      ".schema\n",
      comparison.runs.size(), folder.parent_path().string(), analysis::label_of(first.labels), first.seed,
      replay_line(first.command), (folder / "run.db").string());
}

}  // namespace

int print_comparison(const Command& command, const analysis::Comparison& comparison, const Point& first) {
  if (command.json) fmt::print("{}\n", analysis::document(comparison).dump(2));
  else print_for_people(command, comparison, first);
  const auto missed = std::ranges::count_if(comparison.runs, misses_target, &analysis::ComparedRun::summary);
  if (missed > 0) say("exit code 1: {} of {} runs missed the target\n", missed, comparison.runs.size());
  return std::ranges::all_of(comparison.runs, is_yes, &analysis::ComparedRun::summary) ? done : answer_is_no;
}

}  // namespace psim::cli
