#include "sim/cli/record_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "analysis/run_files.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"
#include "sim/cluster/make_link_map.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/one_machine.hpp"

namespace psim::cli {
namespace {

std::map<std::string, std::string> host_facts(const Command& command, double wall_seconds) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::vector<fs::path> folders = data_folders(command);
  folders.push_back(fs::absolute(command.scenario).parent_path());
  std::string dirs;
  for (const fs::path& dir : folders) dirs += fs::absolute(dir).string() + "\n";
  return {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"host", name},
          {"wall_s", fmt::format("{:.3f}", wall_seconds)},
          {"threads", fmt::to_string(thread_count(command.threads))},
          {"data_dirs", dirs}};
}

RunOptions options_of(const Command& command) {
  return {.threads = thread_count(command.threads), .context = command.context};
}

RunResult progressing(const Command& command, const LoadedScenario& loaded, std::vector<EventSink*> sinks) {
  return simulate_with_progress(loaded, options_of(command), std::move(sinks), command.progress == "json");
}

// The run goes into a folder of its own beside `dir` and is moved there when it is complete.
Json simulate_into(const fs::path& dir, const Command& command, const LoadedScenario& loaded,
                   const RunIdentity& identity) {
  UnfinishedRun unfinished(dir);
  const fs::path& partial = unfinished.path();
  const double begin = host_seconds();
  Json summary;
  {
    RunFile file(partial / "run.db", trace_level(command.trace), loaded.scenario, loaded.jobs);
    const RunResult result = progressing(command, loaded, {&file});
    summary = make_summary(identity, loaded.scenario, result);
    const std::map<std::string, std::string> meta{{"schema", "psim.run/1"},
                                                  {"psim", version_text()},
                                                  {"instruction_set", instruction_set()},
                                                  {"build", build_id()},
                                                  {"scenario", identity.name},
                                                  {"scenario_hash", identity.scenario_hash},
                                                  {"seed", fmt::to_string(identity.seed)},
                                                  {"digest", result.digest},
                                                  {"sim_time_s", shortest(result.sim_time)},
                                                  {"trace", command.trace}};
    // Where messages change on their way, no message has a way of its own.
    if (trace_level(command.trace) == TraceLevel::events && !result.sums)
      file.write_links(make_link_map(on_its_bus(loaded.scenario), file.connections()));
    file.finish(result, meta, host_facts(command, host_seconds() - begin));
  }
  write_file(partial / "scenario.toml",
             "# with every default written out; psim run takes this file as it is\n" +
                 resolved_toml(loaded.scenario));
  for (std::size_t n = 0; n < loaded.jobs.size(); ++n)
    write_file(partial / fmt::format("namespace-{}.toml", n),
               "# this namespace alone, with every default written out; psim run takes this file as it is\n" +
                   resolved_toml(loaded.jobs[n].scenario));
  write_file(partial / "summary.json", summary.dump(2) + "\n");
  analysis::seal(partial);
  unfinished.move_into_place();
  return summary;
}

}  // namespace

LoadedScenario load_for_run(const Command& command) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(command, diagnostics);
  std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded || !diagnostics.empty()) throw Invalid{diagnostics.render()};
  say("{}", diagnostics.render_notes());
  return std::move(*loaded);
}

Json make_and_record(const Command& command, const LoadedScenario& loaded, const RunIdentity& identity) {
  if (!command.out.empty()) return simulate_into(folder_named(command.out), command, loaded, identity);
  return make_summary(identity, loaded.scenario, progressing(command, loaded, {}));
}

}  // namespace psim::cli
