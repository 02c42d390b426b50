#include "sim/runs/record_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analysis/run_files.hpp"
#include "model/base/memory.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/estimate.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/simulation.hpp"

namespace psim {
namespace {

// The costs of a run's faults: each is the difference to the same run without the fault, from the same random
// streams.
class FaultCosts {
 public:
  // Call it before this process uses SimGrid: it makes a copy of the process, which waits. No copy if the
  // scenario has no faults, or too many tables of them.
  FaultCosts(const RunRequest& request, const LoadedScenario& loaded);
  ~FaultCosts();
  FaultCosts(FaultCosts&&) = delete;

  // Makes the runs without each fault, and without all of them. Empty if the run is too large for that: this
  // depends on the number of its events and of its operations, not on the machine.
  std::vector<WithoutFault> of(const RunResult& run);

 private:
  OpenFile go_;  // the end of a pipe; the copy works when a byte comes, and ends when the pipe closes
  std::optional<ForkedRun> copy_;
};

constexpr std::size_t most_tables = 8;
// Of all runs together; each bound is several seconds of a core.
constexpr double most_events = 2e6, most_flops = 5e10;

bool are_small(const RunResult& run, std::size_t runs) {
  double samples = 0;
  for (const WorkerStats& worker : run.stats.workers) samples += static_cast<double>(worker.samples);
  const auto times = static_cast<double>(runs);
  return times * static_cast<double>(run.stats.events) <= most_events &&
         times * samples * run.flops_per_sample <= most_flops;
}

Json json_of(const RunResult& run) {
  return {{"sim_time_s", run.sim_time}, {"updates", run.stats.updates()}, {"is_stuck", !run.stuck.empty()}};
}

// The run without the fault of this table, or without all faults.
RunAnswer without(std::optional<std::size_t> table, LoadedScenario loaded) {
  for (std::size_t t = 0; t < loaded.scenario.faults.size(); ++t) {
    if (!table || *table == t) loaded.scenario.faults[t].is_off = true;
  }
  return {.summary = json_of(simulate(loaded, {.threads = 1, .context = ""}, {})).dump()};
}

// Makes all runs, several at once.
RunAnswer all_without(const LoadedScenario& loaded, unsigned cores) {
  const std::size_t tables = loaded.scenario.faults.size();
  std::vector<std::optional<std::size_t>> waiting{std::nullopt};  // all faults last
  for (std::size_t t = tables; tables > 1 && t-- > 0;) waiting.push_back(t);
  std::map<pid_t, std::pair<std::optional<std::size_t>, std::unique_ptr<ForkedRun>>> running;
  Json costs = Json::array();
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < cores) {
      const std::optional<std::size_t> table = waiting.back();
      waiting.pop_back();
      auto run = std::make_unique<ForkedRun>([&] { return without(table, loaded); });
      const pid_t process = run->process();
      running.emplace(process, std::pair(table, std::move(run)));
    }
    int status = 0;
    const auto ended = running.find(waitpid(-1, &status, 0));
    if (ended == running.end()) continue;
    const auto [table, run] = std::move(running.extract(ended).mapped());
    const RunAnswer answer = run->answer(status);
    if (answer.status != RunStatus::done) return answer;
    Json cost = Json::parse(answer.summary);
    cost["fault"] = table ? Json(*table) : tables == 1 ? Json(0) : Json();
    costs.push_back(std::move(cost));
  }
  return {.summary = costs.dump()};
}

FaultCosts::FaultCosts(const RunRequest& request, const LoadedScenario& loaded) {
  const std::size_t tables = loaded.scenario.faults.size();
  if (tables == 0 || tables > most_tables || trace_level(request.trace) != TraceLevel::events) return;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the costs of faults");
  const OpenFile start(ends[0]);
  go_ = OpenFile(ends[1]);
  const unsigned cores = thread_count(request.threads);
  copy_.emplace([&]() -> RunAnswer {
    close(ends[1]);
    char go = 0;
    while (::read(start.number(), &go, 1) < 0 && errno == EINTR) continue;
    return go == 0 ? RunAnswer{.summary = "[]"} : all_without(loaded, cores);
  });
}

FaultCosts::~FaultCosts() {
  if (!copy_) return;
  go_ = OpenFile();
  while (waitpid(copy_->process(), nullptr, 0) < 0 && errno == EINTR) continue;
}

std::vector<WithoutFault> FaultCosts::of(const RunResult& run) {
  std::vector<WithoutFault> costs;
  if (!copy_ || !run.stuck.empty() || !are_small(run, 1 + run.faults.size())) return costs;
  if (::write(go_.number(), "g", 1) != 1) return costs;
  int status = 0;
  while (waitpid(copy_->process(), &status, 0) < 0 && errno == EINTR) continue;
  const RunAnswer answer = copy_->answer(status);
  copy_.reset();
  if (answer.status != RunStatus::done) return costs;  // the run without the fault cannot be made
  for (const Json& one : Json::parse(answer.summary)) {
    if (one.at("is_stuck")) continue;
    costs.push_back(
        {.fault = one.at("fault").is_null() ? std::nullopt : std::optional<std::int64_t>(one.at("fault")),
         .sim_time = one.at("sim_time_s"),
         .updates = one.at("updates")});
  }
  return costs;
}

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

std::string no_room(const LoadedScenario& loaded, const RunRequest& request) {
  if (request.force) return "";
  const unsigned threads = thread_count(request.threads);
  const Estimate needed = estimate(loaded, threads);
  const auto limit = static_cast<double>(address_space_limit());
  if (needed.address_space() > limit)
    return fmt::format(
        "error: this run needs about {:.2g} GB of address space; the limit is {:.2g} GB\n"
        "  = note: {:.2g} GB of it for the stacks of {:.0f} nodes and {}\n"
        "  = help: raise the limit (ulimit -v), or use fewer nodes or --threads; or try anyway with "
        "--force\n",
        needed.address_space() / 1e9, limit / 1e9, needed.stacks / 1e9, needed.nodes,
        counted(threads, "thread"));
  const auto available = static_cast<double>(available_memory());
  if (needed.bytes() <= available) return "";
  const MemoryPart& most = needed.parts.front();
  return fmt::format(
      "error: this run needs about {:.2g} GB of memory; {:.2g} GB are available\n"
      "  = note: most of it, about {:.2g} GB, for {}\n"
      "  = note: it would send about {:.2g} messages\n"
      "  = help: {}; or try anyway with --force\n",
      needed.bytes() / 1e9, available / 1e9, most.bytes / 1e9, most.what, needed.messages, most.help);
}

std::string slow_note(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  if (scenario.cluster.network.model != NetworkModel::fluid) return "";
  const Estimate needed = estimate(loaded, 1);
  // Messages times the square of overlapping transfers, per second: docs/network.md, "What it costs".
  constexpr double solved = 3e10;
  constexpr double long_run = 60;  // seconds
  const double overlap = static_cast<double>(scenario.cluster.workers) * needed.shards;
  const double seconds = needed.messages * overlap * overlap / solved;
  if (!(seconds > long_run) || !std::isfinite(seconds)) return "";
  return fmt::format(
      "note: this run may take about {:.2g} {}: up to {:.0f} of its {:.2g} transfers overlap, and the flow "
      "model recomputes all of them whenever one begins or ends\n"
      "  = help: --set cluster.network.model=nic takes the same time for each message, however many "
      "overlap\n",
      seconds < 7200 ? seconds / 60 : seconds / 3600, seconds < 7200 ? "minutes" : "hours", overlap,
      needed.messages);
}

}  // namespace psim
