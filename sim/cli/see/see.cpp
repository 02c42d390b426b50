// The subcommands that look at finished runs.
#include "sim/cli/see/see.hpp"

#include "sim/cli/subcommand.hpp"
#include "sim/cli/validators.hpp"

namespace psim::cli {
namespace {

const Subcommand subcommands[] = {
    {"why", "Say why a run took as long as it did: its critical path, and who waited for whom.",
     "  psim why latest                                    of the last run\n"
     "  psim why latest --until target                     until the target was reached\n"
     "  psim why runs/a runs/b                             where two runs part, and what made the "
     "difference\n"
     "  psim why latest --json | jq .waits\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("run", a.why.runs,
                       "The run, recorded with --trace events: its path or name, or `latest`.")
           ->required()
           ->expected(1, 2);
       app->add_option("--until", a.why.until, "What to explain: the end, or when the target was reached.")
           ->check(one_of({"end", "target"}));
       app->add_option("--at", a.why.at, "Explain what had happened until this date, for example 2s.")
           ->excludes("--until")
           ->transform(duration());
       app->add_flag("--gradients", a.why.gradients,
                     "Make the run once more and compare each gradient with a fresh one.");
       app->add_flag("--json", a.why.json, "Print one JSON document.");
     },
     [](const Asked& a) { return why(a.why); }},
};

}  // namespace

std::span<const Subcommand> see_subcommands() { return subcommands; }

fs::path run_named(const std::string& name) {
  return fs::exists(fs::symlink_status(name)) ? fs::path(name) : found_on(runs_shelf(), name);
}

}  // namespace psim::cli
