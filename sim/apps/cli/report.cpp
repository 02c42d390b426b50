// psim report.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/causes/explain.hpp"
#include "analysis/page/page.hpp"
#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/definition.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/spec/memory.hpp"

namespace psim::cli {
namespace {

// The command with the study's own copy of the scenario instead of the author's file.
std::string in_folder(const std::string& command, const std::string& file) {
  const std::string ends = "/" + file;
  const std::size_t at = command.find(ends);
  if (at == std::string::npos) return command;
  const std::size_t begins = command.rfind(' ', at) + 1;  // 0 if there is no blank
  if (command[begins] == '\'') return command;            // a path with blanks stays unchanged
  return command.substr(0, begins) + command.substr(at + 1);
}

// The folder of a run, if it was recorded with the study.
fs::path recorded_run(const study::StudyFolder& folder, const std::string& hash) {
  return fs::path("runs") / fmt::format("{}-{}", folder.name(), hash.substr(0, 8));
}

// By hash: the command of each run, and its page if it was recorded with the study and has a page.
std::map<std::string, analysis::RunPlace> places_of(const study::StudyFolder& folder) {
  std::map<std::string, analysis::RunPlace> places;
  for (const Json& run : folder.manifest["runs"]) {
    const std::string hash = run["run"];
    analysis::RunPlace& place = places[hash];
    place.command = in_folder(run["command"], folder.name() + ".toml");
    const fs::path page = recorded_run(folder, hash) / analysis::page_name;
    if (analysis::is_page(folder.dir / page)) place.report = page.string();
  }
  return places;
}

// The fields that each arm sets, from the study's own scenario; nothing if that no longer loads.
std::map<std::string, std::vector<analysis::ArmField>> arms_of(const fs::path& scenario,
                                                               const std::string& arm_axis) {
  Diagnostics diagnostics;
  const auto axes = load_axes({.path = scenario.string(), .without_data = true}, diagnostics);
  std::map<std::string, std::vector<analysis::ArmField>> arms;
  for (const Axis& axis : axes.value_or(std::vector<Axis>{})) {
    if (axis.key != arm_axis) continue;
    for (const AxisValue& value : axis.values) {
      for (const Definition& one : definitions(value))
        arms[value.label].push_back({one.field, one.value, one.doc, one.of_value});
      arms[value.label];  // also for an arm that sets nothing
    }
  }
  return arms;
}

int report_study(const fs::path& dir, const std::string& out) {
  const study::StudyFolder folder(dir);
  const fs::path target = page_target(dir, out);
  const analysis::Study study = complete_results(folder);
  write_study_page(folder, study, analysis::evaluate(study), target);
  return done;
}

// The reasons why the run did not reach its milestone sooner. Empty: it never reached it.
std::vector<std::string> milestone_sentences(const analysis::RunRecord& record) {
  const Json date = analysis::milestone_of(record.summary).at_s;
  if (!date.is_number() || !(date.get<double>() > 0)) return {};
  return analysis::explain(record, {.what = analysis::Until::What::date, .date = date}).sentences;
}

// The runs of a study that were recorded with their events: what they did, and why.
std::map<std::string, analysis::CellEvents> events_of(const study::StudyFolder& folder,
                                                      const analysis::Study& study) {
  const std::map<std::string, analysis::RunPlace> places = places_of(folder);
  std::map<std::string, analysis::CellEvents> events;
  for (const analysis::Cell& cell : study.cells) {
    if (cell.runs.empty()) continue;
    const std::string& hash = cell.runs.front().run;
    analysis::CellEvents& one = events[hash];
    one.command = places.at(hash).command;
    const fs::path run = folder.dir / recorded_run(folder, hash);
    if (!fs::exists(run / "run.db") || recorded_meta(run / "run.db")["trace"] != "events") continue;
    const analysis::RunRecord record(run);
    one.timeline = analysis::timeline_of(record);
    one.sentences = analysis::explain(record).sentences;
    one.milestone_sentences = milestone_sentences(record);
  }
  return events;
}

int report_run(const fs::path& dir, const std::string& out, bool json) {
  const fs::path target = json ? fs::path() : page_target(dir, out);
  const Json summary = summary_in(dir);
  say_if_changed(dir);
  for (const char* name : {"bytes_by_kind", "bytes_sent", "curve", "notes", "scenario", "sim_time_s", "stuck",
                           "target", "title", "workers"})
    static_cast<void>(summary.at(name));  // throws
  analysis::RunPage page{
      .summary = summary,
      .target = target_text(summary),
      .command = "psim run scenario.toml",
      .scenario = analysis::scenario_text(dir / "scenario.toml"),
      .with_events = fmt::format("psim run {} --trace events --out {}", file_word(dir / "scenario.toml"),
                                 file_word(dir.string() + "-events"))};
  std::optional<analysis::RunRecord> record;
  std::optional<analysis::Timeline> timeline;
  if (recorded_meta(dir / "run.db")["trace"] == "events") {
    record.emplace(dir);
    timeline = analysis::timeline_of(*record);
    page.why = analysis::document(analysis::explain(*record), record->facts);
    if (json) page.milestone_sentences = milestone_sentences(*record);
    page.record = &*record;
    page.timeline = &*timeline;
  }
  if (json) fmt::print("{}\n", analysis::run_document(page).dump());
  else put_page(target, analysis::run_page(page));
  return done;
}

}  // namespace

void put_page(const fs::path& target, const std::string& text, const char* called) {
  put_file(target, text);
  fmt::print("{}: {}   ({}; open it in a browser: xdg-open {})\n", called, target.string(),
             size_text(static_cast<double>(text.size()), 3), file_word(target));
}

fs::path page_target(const fs::path& dir, const std::string& out, std::string_view name) {
  const fs::path target = out.empty() ? dir / name : fs::path(out);
  if (fs::is_directory(target))
    throw Refused(fmt::format("{} is a folder", target.string()),
                  fmt::format("name a file: {}", (target / name).string()));
  check_is_file(target);
  if (fs::exists(target) && !analysis::bears_page_mark(target))
    throw Refused(fmt::format("{} is not a page of psim", target.string()),
                  "name another file with --out; psim replaces only its own pages");
  const bool is_known_there =
      target.filename() == name && owner_of(target) == fs::weakly_canonical(target).parent_path();
  if (!is_known_there)
    check_outside(target, fmt::format("--out {}.html", fs::canonical(dir).filename().string()));
  return target;
}

void write_study_page(const study::StudyFolder& folder, const analysis::Study& study,
                      const analysis::Evaluation& evaluation, const fs::path& target) {
  const std::string file = study.name + ".toml";
  put_page(target, analysis::study_page({.study = study,
                                         .evaluation = evaluation,
                                         .target = common_target(study),
                                         .command = "psim compare " + file_word(file),
                                         .scenario = read_file(folder.dir / file),
                                         .runs = places_of(folder),
                                         .arms = arms_of(folder.dir / file, study.arm_axis)}));
}

int sliders(const std::string& name, const std::string& out) {
  const fs::path dir = run_or_study(name);
  if (!study::is_study(dir))
    throw Refused(fmt::format("{} is not a study", dir.string()), "`psim studies` lists all studies");
  const study::StudyFolder folder(dir);
  const fs::path target = page_target(dir, out);
  const analysis::Study study = complete_results(folder);
  if (study.cells.size() < 2)
    throw Refused(fmt::format("{} has only one cell, so a slider has no use", dir.string()),
                  "compare several values, or make a page: psim report STUDY");
  const std::map<std::string, analysis::CellEvents> events = events_of(folder, study);
  if (std::ranges::none_of(events, [](const auto& one) { return one.second.timeline.has_value(); }))
    say("note: no run has its events, so the page has no timelines; psim compare --trace events records "
        "them\n");
  put_page(target, analysis::sliders_page(study, events));
  return done;
}

int report(const std::string& name, const std::string& out, bool json) {
  const fs::path dir = run_or_study(name);
  if (study::is_study(dir)) {
    if (json)
      throw Refused(fmt::format("{} is a study", dir.string()),
                    fmt::format("{} is already a JSON document", (dir / "study.json").string()));
    return report_study(dir, out);
  }
  if (runs_shelf().holds(dir)) return about_run(dir, [&] { return report_run(dir, out, json); });
  throw Refused(fmt::format("{} is neither a run nor a study", dir.string()),
                "`psim runs` and `psim studies` list all runs and studies");
}

}  // namespace psim::cli
