// The subcommands for finished runs.
#include "sim/apps/cli/understand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "analysis/verify/verify.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/validators.hpp"

namespace psim::cli {
namespace {

CLI::Option* add_run(CLI::App* app, auto& run) {
  return app->add_option("run", run, "A run with its events: its path, its name, or `latest`.")->required();
}

struct PageOf {
  std::string name, out;
  bool json = false, sliders = false;
};

const Subcommand understand_table[] = {
    command<WhyCommand>(
        "why",
        [](CLI::App* app, WhyCommand& a) {
          add_run(app, a.runs)->expected(1, 2);
          app->add_option("--until", a.until,
                          "Explain the run up to its end, or up to the date when it reached the target.")
              ->check(one_of({"end", "target"}));
          app->add_option("--at", a.at, "Explain the run up to this date, for example 2s.")
              ->excludes("--until")
              ->transform(duration());
          app->add_flag(
              "--gradients", a.gradients,
              "Repeat the run, and compare each gradient with the gradient of the same samples at the "
              "newest weights.");
          app->add_flag("--json", a.json, "Print one JSON document.");
        },
        [](const WhyCommand& a) { return about_run(run_named(a.runs.back()), [&] { return why(a); }); }),
    command<PageOf>(
        "report",
        [](CLI::App* app, PageOf& a) {
          app->add_option("name", a.name, "A run or study: its path, its name, or `latest`.")->required();
          app->add_option("-o,--out", a.out,
                          "The file; default: report.html in the folder of the run or study.")
              ->check(not_empty("file"));
          app->add_flag("--json", a.json, "For a run: print the data of the page as one JSON document.")
              ->excludes("--out");
          app->add_flag("--sliders", a.sliders,
                        "For a study: a page with a slider for each axis, and two settings side by side.")
              ->needs("--out")
              ->excludes("--json");
        },
        [](const PageOf& a) { return a.sliders ? sliders(a.name, a.out) : report(a.name, a.out, a.json); }),
};

}  // namespace

Room understand_subcommands() { return understand_table; }

fs::path run_named(const std::string& name) {
  return fs::exists(fs::symlink_status(name)) ? fs::path(name) : found_on(runs_shelf(), name);
}

void say_if_changed(const fs::path& run) {
  if (const std::string broken = analysis::broken_seal(run); !broken.empty())
    say("note: {}: {}\n", run.string(), broken);
}

analysis::RunRecord open_record(const fs::path& run) {
  analysis::RunRecord record(run);
  say_if_changed(run);
  return record;
}

int about_run(const fs::path& run, const std::function<int()>& answer) try {
  return answer();
} catch (const Json::exception& error) {
  throw analysis::unfit_summary(run, error);
}

// psim verify.

// `name`: a path, or a name on the shelf of runs, as in psim replay.
int verify(const std::string& name, bool json) {
  const analysis::Verdict verdict = analysis::verify(run_named(name));
  if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

}  // namespace psim::cli
