// The subcommands for finished runs.
#include "sim/apps/cli/understand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/subcommand.hpp"

namespace psim::cli {
namespace {

struct PageOf {
  std::string name, out;
  bool json = false, sliders = false;
};

const Subcommand understand_table[] = {
    command<WhyCommand>(
        "why",
        [](CLI::App* app, WhyCommand& a) {
          option(app, "run", a.runs)->required()->expected(1, 2);
          option(app, "--until", a.until)->check(one_of({"end", "target"}));
          option(app, "--at", a.at)->excludes("--until")->transform(duration());
          option(app, "--gradients", a.gradients);
          option(app, "--json", a.json);
        },
        [](const WhyCommand& a) { return about_run(run_named(a.runs.back()), [&] { return why(a); }); }),
    command<PageOf>(
        "report",
        [](CLI::App* app, PageOf& a) {
          option(app, "name", a.name)->required();
          option(app, "-o,--out", a.out)->check(not_empty("file"));
          option(app, "--json", a.json)->excludes("--out");
          option(app, "--sliders", a.sliders)->needs("--out")->excludes("--json");
        },
        [](const PageOf& a) { return a.sliders ? sliders(a.name, a.out) : report(a.name, a.out, a.json); }),
    command<ShowCommand>(
        "show",
        [](CLI::App* app, ShowCommand& a) {
          option(app, "run", a.run);
          option(app, "--story", a.story)->check(not_empty("story"));
          option(app, "-o,--out", a.out)->check(not_empty("file"));
          option(app, "--at", a.at)->transform(duration())->excludes("--story");
          option(app, "--film", a.film)->check(not_empty("file"))->excludes("--out");
        },
        [](const ShowCommand& a) { return show(a); }),
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

}  // namespace psim::cli
