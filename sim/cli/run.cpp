// psim run and check.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "analysis/run_files.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/compare.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/reference/reference.hpp"

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

// The run goes into a folder of its own beside `dir` and is moved there when it is complete.
Json simulate_into(const fs::path& dir, const Command& command, const LoadedScenario& loaded,
                   const RunIdentity& identity) {
  UnfinishedRun unfinished(dir);
  const fs::path& partial = unfinished.path();
  const double begin = host_seconds();
  Json summary;
  {
    RunFile file(partial / "run.db", trace_level(command.trace), loaded.scenario);
    const RunResult result = simulate_with_progress(loaded, options_of(command), {&file});
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

LoadedScenario load(const Command& command) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(command, diagnostics);
  std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded || !diagnostics.empty()) throw Invalid{diagnostics.render()};
  say("{}", diagnostics.render_notes());
  return std::move(*loaded);
}

// ... and says when a run will take long.
void require_room(const LoadedScenario& loaded, const Command& command) {
  if (std::string why_not = no_room(loaded, command); !why_not.empty()) throw Invalid{std::move(why_not)};
  say("{}", slow_note(loaded));
}

// What compares the scenario as it was run: along its own axes, or with several seeds where it has none.
std::string compare_line(Command command, bool has_axes) {
  if (!has_axes) {
    command.seed.reset();
    std::erase_if(command.sets, [](const std::string& set) { return set.starts_with("seed="); });
    command.seeds = "1,2,3";
  }
  return replay_line(command).replace(5, 3, "compare");
}

}  // namespace

int run(const Command& command) {
  const LoadedScenario loaded = load(command);
  const RunIdentity identity = identity_of(loaded, scenario_name(command.scenario));
  const bool keep = !command.json || !command.out.empty();
  const fs::path dir =
      !command.out.empty() ? folder_named(command.out) : run_directory(identity.name, identity.scenario_hash);

  std::optional<Json> summary;
  bool reused = false;
  if (keep) {
    if (!command.force) {
      Finished found = finished_run(dir, identity.scenario_hash, command.trace);
      if (!found.why_not.empty()) {
        check_target(dir);
        say("{}/ is computed again: {}\n", dir.string(), found.why_not);
      }
      summary = std::move(found.summary);
    }
    reused = summary.has_value();
    if (!reused) {
      require_room(loaded, command);
      summary = simulate_into(dir, command, loaded, identity);
    }
    set_latest(dir);
  } else {
    require_room(loaded, command);
    summary =
        make_summary(identity, loaded.scenario, simulate_with_progress(loaded, options_of(command), {}));
  }

  if (command.json) {
    fmt::print("{}\n", summary->dump(2));
  } else {
    fmt::print("{}", summary_text(*summary, replay_line(command)));
    fmt::print("\n{} {}/   next: {}, or psim replay {}\n", reused ? "already done, see" : "wrote",
               dir.string(), compare_line(command, loaded.has_axes), dir.string());
  }
  for (const auto& line : (*summary)["stuck"]) say("stuck: {}\n", line.get<std::string>());
  if (misses_target(*summary)) say("exit code 1: the target was not reached\n");
  return is_yes(*summary) ? done : answer_is_no;
}

int check(const Command& command) {
  const LoadedScenario loaded = load(command);
  std::string runs;
  if (loaded.has_axes)
    runs = fmt::format("; psim compare makes {} runs of it", plan_comparison(command, false).points.size());
  fmt::print("{}", resolved_toml(loaded.scenario));
  say("{} is a valid scenario; printed above with every default{}\n", command.scenario, runs);
  return done;
}

}  // namespace psim::cli
