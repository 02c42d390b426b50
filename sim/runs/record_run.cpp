#include "sim/runs/record_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <optional>

#include "analysis/run_files.hpp"
#include "sim/cluster/make_link_map.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/fault_costs.hpp"
#include "sim/runs/host_clock.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/simulation.hpp"

namespace psim {
namespace {

std::map<std::string, std::string> host_facts(const RunRequest& request, double wall_seconds) {
  std::vector<fs::path> folders = data_folders(request);
  folders.push_back(fs::absolute(request.scenario).parent_path());
  std::string dirs;
  for (const fs::path& dir : folders) dirs += fs::absolute(dir).string() + "\n";
  return {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"host", host_name()},
          {"wall_s", fmt::format("{:.3f}", wall_seconds)},
          {"threads", fmt::to_string(thread_count(request.threads))},
          {"data_dirs", dirs}};
}

RunResult make(const RunRequest& request, const LoadedScenario& loaded, std::vector<EventSink*> sinks,
               EventSink* watcher) {
  if (watcher != nullptr) sinks.push_back(watcher);
  return simulate(loaded, {.threads = thread_count(request.threads), .context = request.context}, sinks);
}

// Writes the run to a temporary folder next to `dir`, and moves it to `dir` when it is complete.
Json simulate_into(const fs::path& dir, const RunRequest& request, const LoadedScenario& loaded,
                   const RunIdentity& identity, EventSink* watcher) {
  UnfinishedRun unfinished(dir);
  const fs::path& partial = unfinished.path();
  std::optional<FaultCosts> costs;
  if (request.costs) costs.emplace(request, loaded);
  const double begin = host_seconds();
  Json summary;
  {
    RunFile file(partial / "run.db", trace_level(request.trace), loaded.scenario, loaded.jobs);
    const RunResult result = make(request, loaded, {&file}, watcher);
    summary = make_summary(identity, loaded.scenario, result);
    const std::map<std::string, std::string> meta{{"schema", "psim.run/1"},
                                                  {"psim", version_text()},
                                                  {"cpu_family", cpu_family()},
                                                  {"build", build_id()},
                                                  {"scenario", identity.name},
                                                  {"scenario_hash", identity.scenario_hash},
                                                  {"seed", fmt::to_string(identity.seed)},
                                                  {"digest", result.digest},
                                                  {"sim_time_s", shortest(result.sim_time)},
                                                  {"trace", request.trace}};
    // If switches sum messages, a message has no path of its own.
    if (trace_level(request.trace) == TraceLevel::events && !result.sums)
      file.write_links(make_link_map(on_its_bus(loaded.scenario), file.connections()));
    const auto facts = host_facts(request, host_seconds() - begin);
    if (costs) file.write_without_faults(costs->of(result));
    file.finish(result, meta, facts);
  }
  write_file(partial / "scenario.toml",
             "# with every default written out; psim run accepts this file unchanged\n" +
                 resolved_toml(loaded.scenario));
  for (std::size_t n = 0; n < loaded.jobs.size(); ++n)
    write_file(
        partial / fmt::format("namespace-{}.toml", n),
        "# this namespace alone, with every default written out; psim run accepts this file unchanged\n" +
            resolved_toml(loaded.jobs[n].scenario));
  write_file(partial / "summary.json", summary.dump(2) + "\n");
  analysis::seal(partial);
  unfinished.move_into_place();
  return summary;
}

}  // namespace

Json make_and_record(const RunRequest& request, const LoadedScenario& loaded, const RunIdentity& identity,
                     EventSink* watcher) {
  if (!request.out.empty())
    return simulate_into(folder_named(request.out), request, loaded, identity, watcher);
  return make_summary(identity, loaded.scenario, make(request, loaded, {}, watcher));
}

}  // namespace psim
