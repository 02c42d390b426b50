// psim export of a study: its charts.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/export.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"

namespace psim::cli {
namespace {

struct OfRuns {
  std::string words;  // as the user gives them
  bool is_given;
  std::string instead;
};

// Throws Invalid for options that only runs have.
void check_options(const ExportCommand& asked, const fs::path& dir) {
  const std::string study = file_word(dir);
  const auto a_run = [&](const char* words) {
    return fmt::format("`psim export RUN {}`; `psim runs --study {}` lists the runs", words, study);
  };
  const OfRuns options[] = {
      {"--perfetto", !asked.perfetto.empty(), a_run("--perfetto FILE")},
      {"--paje", !asked.paje.empty(), a_run("--paje FILE")},
      {"--csv", !asked.csv.empty(),
       fmt::format("runs.csv and curves.csv in {} are the study's tables; for a run: {}", study,
                   a_run("--csv FILE"))},
      {"--dot", !asked.dot.empty(), a_run("--dot FILE")},
      {"--weights", !asked.weights.empty(), a_run("--weights FOLDER")},
      {"--tikz", !asked.tikz.empty(), a_run("--tikz FILE")},
      {"--from", asked.from.has_value(), a_run("--from DATE --svg FOLDER")},
      {"--until", asked.until.has_value(), a_run("--until DATE --svg FOLDER")},
      {"--all-flows", asked.all_flows, a_run("--all-flows --perfetto FILE")}};
  Refusals wrong;
  for (const OfRuns& one : options) {
    wrong.check([&] {
      if (one.is_given)
        throw Refused(fmt::format("{} is for a run, but {} is a study: export it with --svg FOLDER",
                                  one.words, dir.string()),
                      one.instead);
    });
  }
  wrong.throw_if_any();
}

}  // namespace

int export_study(const ExportCommand& asked, const fs::path& dir) {
  check_options(asked, dir);
  check_charts_folder(asked, dir);
  const study::StudyFolder folder(dir);
  const analysis::Study study = complete_results(folder);
  const analysis::StudyPictures made =
      analysis::study_pictures(study, analysis::evaluate(study), asked.width_mm);
  if (fs::exists(fs::symlink_status(folder_named(asked.svg)))) {
    for (const analysis::Picture& one : made.pictures)
      check_file(folder_named(asked.svg) / one.name, analysis::svg_mark, asked.force);
  }
  write_charts(asked, made.pictures);
  for (const std::string& remark : made.remarks) fmt::print("note: {}\n", remark);
  return done;
}

}  // namespace psim::cli
