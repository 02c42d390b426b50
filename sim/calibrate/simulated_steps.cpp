#include "sim/calibrate/simulated_steps.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/simulation.hpp"

namespace psim::calibrate {
namespace {

using Json = nlohmann::ordered_json;

// Watches when workers begin and end the computations of their steps.
class StepWatch final : public EventSink {
 public:
  explicit StepWatch(std::uint32_t first_worker, std::size_t workers)
      : first_(first_worker), spans_(workers) {}

  void on(const Event& event, std::uint64_t) override {
    const auto* computation = event.as<Computation>();
    if (computation == nullptr || computation->work != Work::step || event.node < first_) return;
    std::vector<Span>& spans = spans_.at(event.node - first_);
    if (computation->phase == ComputePhase::begun && computation->is_first())
      spans.push_back({event.at, event.at});
    if (computation->phase == ComputePhase::ended && computation->is_last() && !spans.empty())
      spans.back().end = event.at;
  }

  Json json() const {
    Json workers = Json::array();
    for (const std::vector<Span>& spans : spans_) {
      Json compute = Json::array(), rest = Json::array();
      for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
        compute.push_back(spans[i].end - spans[i].begin);
        rest.push_back(spans[i + 1].begin - spans[i].end);
      }
      workers.push_back({{"compute", compute}, {"rest", rest}});
    }
    return workers;
  }

 private:
  struct Span {
    double begin, end;
  };
  std::uint32_t first_;
  std::vector<std::vector<Span>> spans_;  // by worker
};

LoadedScenario loaded_trial(const Trial& trial) {
  RunRequest request;
  request.scenario = "the fitted scenario";
  request.text = trial.scenario;
  request.seed = trial.seed;
  request.data_dirs = {trial.folder.string()};
  return load_for_run(request);
}

RunAnswer answer_of_trial(const Trial& trial) {
  const LoadedScenario loaded = loaded_trial(trial);
  const ClusterSpec& cluster = loaded.scenario.cluster;
  StepWatch watch(static_cast<std::uint32_t>(1 + cluster.servers), static_cast<std::size_t>(cluster.workers));
  const RunResult result = simulate(loaded, {}, {&watch});
  if (!result.stuck.empty())
    throw Refused("the simulated cluster gets stuck: " + result.stuck.front(),
                  "another --consistency or --set may be what the cluster does");
  return {.summary = watch.json().dump()};
}

UserError refused(const Trial& trial, const std::string& why) {
  const std::string which = trial.name.empty() ? "fitted scenario" : "scenario of the run " + trial.name;
  return {
      fmt::format("psim refuses the {}:\n{}", which, why),
      "the remark in a line names its origin; --model-bytes, --servers, --consistency, --preset and --set "
      "change such lines"};
}

StepTimes steps_of(const std::string& text) {
  const Json workers = Json::parse(text);
  std::size_t steps = SIZE_MAX;
  for (const Json& worker : workers) steps = std::min(steps, worker["compute"].size());
  if (steps == 0)
    throw UserError("a run of one step has no time from a step to the next", "training.steps is 2 or more");
  StepTimes times;
  times.compute.resize(steps);
  times.rest.resize(steps);
  for (const Json& worker : workers) {
    times.workers.push_back(std::ssize(times.workers));
    for (std::size_t i = 0; i < steps; ++i) {
      times.compute[i].push_back(worker["compute"][i].get<double>());
      times.rest[i].push_back(worker["rest"][i].get<double>());
    }
  }
  return times;
}

}  // namespace

std::vector<StepTimes> simulated_steps(const std::vector<Trial>& trials) {
  const std::size_t at_once = thread_count(0);
  std::vector<StepTimes> results;
  for (std::size_t first = 0; first < trials.size(); first += at_once) {
    std::vector<std::unique_ptr<ForkedRun>> runs;
    const std::size_t end = std::min(trials.size(), first + at_once);
    for (std::size_t i = first; i < end; ++i)
      runs.push_back(std::make_unique<ForkedRun>([&trial = trials[i]] { return answer_of_trial(trial); }));
    for (std::size_t i = first; i < end; ++i) {
      const std::unique_ptr<ForkedRun>& run = runs[i - first];
      int status = 0;
      while (waitpid(run->process(), &status, 0) < 0 && errno == EINTR) continue;
      const RunAnswer answer = run->answer(status);
      if (answer.status == RunStatus::refused) throw refused(trials[i], answer.why);
      if (answer.status != RunStatus::done)
        throw std::runtime_error("a simulation of the cluster failed: " + answer.why);
      results.push_back(steps_of(answer.summary));
    }
  }
  return results;
}

void check_scenario(const Trial& trial) {
  try {
    loaded_trial(trial);
  } catch (const Invalid& invalid) {
    throw refused(trial, invalid.text);
  }
}

}  // namespace psim::calibrate
