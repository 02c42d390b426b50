#include "sim/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/calibrate/simulated_steps.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/scratch.hpp"

namespace psim::calibrate {
namespace {

constexpr std::int64_t seeds_of_verdict = 10;

// Throws LogError if the file looks damaged; otherwise notes what was left out.
void note_counts(const StepLog::Counts& counts, std::vector<std::string>& notes) {
  const auto share = [&](std::size_t count) {
    return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(counts.steps + count, 1));
  };
  constexpr double most_wrong = 0.01;
  if (share(counts.impossible) > most_wrong)
    throw LogError(fmt::format("{} of {} steps have an impossible duration", counts.impossible,
                               counts.steps + counts.impossible),
                   "durations are at least 0: differences of two dates of the same machine's clock");
  if (share(counts.zero) > most_wrong)
    throw LogError(fmt::format("{} of {} steps compute for 0 s", counts.zero, counts.steps + counts.zero),
                   "the clock of the log is too coarse, or the column is another one");
  if (counts.impossible > 0)
    notes.push_back(fmt::format("{} steps with an impossible duration are left out.", counts.impossible));
  if (counts.zero > 0)
    notes.push_back(fmt::format("{} steps that compute for 0 s are left out.", counts.zero));
  if (counts.repeated > 0)
    notes.push_back(
        fmt::format("{} steps are in the log again; the first line of each counts.", counts.repeated));
  if (counts.beyond > 0)
    notes.push_back(
        fmt::format("The log has {} more steps than the {} that psim keeps; the first ones count.",
                    counts.beyond, StepLog::most_steps));
}

ClusterFacts completed(ClusterFacts facts, const StepTimes& times, const StepLog& log,
                       std::vector<std::string>& notes) {
  const auto logged = static_cast<std::int64_t>(times.workers.size());
  if (!facts.workers) facts.workers = logged;
  else if (*facts.workers != logged)
    notes.push_back(
        fmt::format("The log has {} workers and the scenario {}: the scenario deals their times out.", logged,
                    *facts.workers));
  if (logged == 1) notes.push_back("With one worker the log cannot tell what slows all workers at once.");
  if (!facts.model_bytes) {
    std::vector<double> bytes;
    for (const auto& [worker, steps] : log.workers()) {
      for (const auto& [step, one] : steps)
        if (one.bytes > 0) bytes.push_back(one.bytes);
    }
    if (!bytes.empty()) facts.model_bytes = quantile_of(bytes, 0.5);
  }
  if (!facts.servers) notes.push_back("The log does not tell the number of servers: 1, or --servers N.");
  if (!facts.model_bytes)
    notes.push_back("The log does not tell the size of the model: 4 B, or --model-bytes SIZE.");
  if (facts.consistency.empty())
    notes.push_back("The log does not tell the consistency model: bsp, or --consistency MODEL.");
  return facts;
}

}  // namespace

Calibration calibrate(const Request& request, const std::function<void(const std::string&)>& tell) {
  ClusterLog log;
  for (std::size_t i = 0; i < request.logs.size(); ++i) {
    tell("reading " + request.logs[i]);
    read_log(request.logs[i], static_cast<std::int64_t>(i), request.names, log);
  }
  Calibration result{.notes = log.notes, .counts = log.steps.counts()};
  note_counts(result.counts, result.notes);
  if (log.steps.is_empty())
    throw LogError("the logs have no steps of workers",
                   log.transfers.empty() ? "CSV with the columns worker,step,compute_s"
                                         : "a link test alone tells nothing about computations");
  result.times = step_times(log.steps, request.skip, result.notes);
  result.facts = completed(request.facts, result.times, log.steps, result.notes);
  result.link = fit_link(log.transfers);
  const ScratchFolder scratch("psim-calibrate");
  const bool fits_log = *result.facts.workers == std::ssize(result.times.workers);
  const auto fit_all = [&](const StepTimes& times, StepFit& steps, NetworkFit& network) {
    steps = fit_steps(times);
    write_file(scratch.path() / "steps.csv", steps_csv(times));
    ClusterFacts facts = result.facts;
    facts.workers = std::ssize(times.workers);
    network = fit_network(facts, times, steps, result.link, scratch.path());
  };
  if (request.hold_out > 0) {
    const auto size = static_cast<double>(result.times.size());
    const auto fitted = static_cast<std::size_t>(std::llround(size * (1 - request.hold_out)));
    if (fitted < fewest_steps || result.times.size() - fitted < fewest_steps) {
      result.notes.push_back("The log is too short to hold out a part of it: there is no verdict.");
    } else {
      tell("fitting the first part");
      const StepTimes first = result.times.part(0, fitted);
      result.held_out = result.times.part(fitted, result.times.size());
      StepFit steps;
      NetworkFit network;
      fit_all(first, steps, network);
      ClusterFacts facts = result.facts;
      facts.workers = std::ssize(first.workers);
      const std::string text =
          scenario_text({.facts = facts,
                         .fit = steps,
                         .network = network.values,
                         .steps = static_cast<std::int64_t>(result.held_out.size()) + 1});
      std::vector<Trial> trials;
      for (std::int64_t seed = 1; seed <= seeds_of_verdict; ++seed)
        trials.push_back({.scenario = text, .folder = scratch.path(), .seed = seed});
      tell("simulating the held-out part");
      result.simulated = simulated_steps(trials);
      for (StepTimes& one : result.simulated) {
        if (result.held_out.rest.empty()) one.rest.clear();
      }
      result.verdict = judge(first, result.held_out, result.simulated, request.within);
    }
  }
  tell("fitting the whole log");
  fit_all(result.times, result.steps, result.network);
  if (!fits_log && result.network.simulations > 0)
    result.notes.push_back("The network was fitted with the log's number of workers.");
  return result;
}

std::string calibrated_scenario(const Calibration& calibration) {
  return "# Made by psim calibrate; calibration.json has every value with its interval.\n" +
         scenario_text({.facts = calibration.facts,
                        .fit = calibration.steps,
                        .network = calibration.network.values,
                        .steps = static_cast<std::int64_t>(calibration.times.size()),
                        .values = calibration.network.fitted,
                        .title = "A cluster as its log shows it"});
}

nlohmann::ordered_json calibration_json(const Calibration& calibration, const Request& request) {
  using Json = nlohmann::ordered_json;
  const auto interval = [](const statistics::Interval& one) {
    return Json{one.low, std::isfinite(one.high) ? Json(one.high) : Json()};
  };
  Json json{{"schema", "psim.calibration/1"}, {"psim", version_text()}, {"logs", request.logs}};
  json["workers"] = calibration.times.workers.size();
  json["steps"] = calibration.times.size();
  json["left_out"] = {{"impossible", calibration.counts.impossible},
                      {"zero", calibration.counts.zero},
                      {"repeated", calibration.counts.repeated},
                      {"beyond", calibration.counts.beyond}};
  json["notes"] = calibration.notes;
  const StepFit& fit = calibration.steps;
  Json workers = Json::array();
  for (std::size_t w = 0; w < fit.means.size(); ++w)
    workers.push_back({{"worker", calibration.times.workers[w]},
                       {"mean_s", fit.means[w]},
                       {"interval_s", interval(fit.intervals[w])}});
  json["step_times"] = {{"workers", workers},
                        {"cv", fit.cv},
                        {"shared", fit.shared},
                        {"memory_steps", fit.memory},
                        {"shared_memory_steps", fit.shared_memory},
                        {"block_steps", fit.block}};
  Json values = Json::array();
  for (const Fitted& one : calibration.network.fitted) {
    Json value{{"field", one.field}, {"value", one.value}, {"unit", one.unit}, {"how", one.how}};
    value["interval"] = one.interval ? interval(*one.interval) : Json();
    value["cannot_be_told"] = !one.missing.empty();
    if (!one.missing.empty()) value["measure"] = one.missing;
    values.push_back(std::move(value));
  }
  json["network"] = {{"values", values},
                     {"error", calibration.network.error},
                     {"simulations", calibration.network.simulations}};
  if (!calibration.verdict) {
    json["verdict"] = nullptr;
    return json;
  }
  const Verdict& verdict = *calibration.verdict;
  const auto compared = [](const std::vector<Compared>& all) {
    Json list = Json::array();
    for (const Compared& one : all)
      list.push_back({{"what", one.name},
                      {"measured", one.measured},
                      {"simulated", one.simulated},
                      {"error", one.error()}});
    return list;
  };
  json["verdict"] = {{"holds", verdict.holds},
                     {"within", verdict.within},
                     {"held_out_steps", calibration.held_out.size()},
                     {"judged", compared(verdict.judged)},
                     {"described", compared(verdict.described)},
                     {"reasons", verdict.reasons}};
  return json;
}

}  // namespace psim::calibrate
