#include "sim/runs/fault_costs.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "sim/simulation.hpp"

namespace psim {
namespace {

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

}  // namespace

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

}  // namespace psim
