#include "sim/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/render/text_table.hpp"
#include "analysis/statistics/sample.hpp"
#include "sim/calibrate/fit_network.hpp"
#include "sim/calibrate/simulated_steps.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/text/diagnostics.hpp"

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
  const auto steps = [](std::size_t count) { return counted(static_cast<std::int64_t>(count), "step"); };
  if (counts.impossible > 0)
    notes.push_back(fmt::format("Left out: {} with an impossible duration.", steps(counts.impossible)));
  if (counts.zero > 0)
    notes.push_back(fmt::format("Left out: {} with a computation of 0 s.", steps(counts.zero)));
  if (counts.repeated > 0)
    notes.push_back(fmt::format("Left out: {} that the log has already.", steps(counts.repeated)));
  if (counts.beyond > 0)
    notes.push_back(fmt::format("Left out: {} after the first {}, which are all that psim keeps.",
                                steps(counts.beyond), StepLog::most_steps));
}

void note_unknown(bool servers, bool model, bool consistency, std::vector<std::string>& notes) {
  if (servers) notes.push_back("The log does not tell the number of servers: 1, or --servers N.");
  if (model) notes.push_back("The log does not tell the size of the model: 4 B, or --model-bytes SIZE.");
  if (consistency)
    notes.push_back("The log does not tell the consistency model: bsp, or --consistency MODEL.");
}

constexpr double alike = 0.01;  // sizes that differ less are the same

// The size of a push: the median. Notes pushes of different sizes.
std::optional<double> bytes_of(const StepLog& log, std::vector<std::string>& notes) {
  std::vector<double> bytes;
  for (const auto& [worker, steps] : log.workers()) {
    for (const auto& [step, one] : steps)
      if (one.bytes > 0) bytes.push_back(one.bytes);
  }
  if (bytes.empty()) return {};
  const double median = statistics::median_of(bytes);
  const auto [least, most] = std::ranges::minmax_element(bytes);
  if (*most > (1 + alike) * *least)
    notes.push_back(
        fmt::format("The pushes of the log have {:.6g} to {:.6g} B; the median of {:.6g} B counts.", *least,
                    *most, median));
  return median;
}

// Throws LogError if a part of the log is too small for a verdict.
void check_parts(double share, std::size_t fitted, std::size_t judged, std::size_t fewest, const char* what) {
  if (std::min(fitted, judged) >= fewest) return;
  throw LogError(fmt::format("--hold-out {:.3g}% leaves {} to fit and {} to judge", 100 * share,
                             counted(static_cast<std::int64_t>(fitted), what), judged),
                 fmt::format("each part needs {} or more; 0 gives no verdict", fewest));
}

ClusterFacts completed(ClusterFacts facts, bool in_step, const StepTimes& times, const StepLog& log,
                       std::vector<std::string>& notes) {
  const auto logged = static_cast<std::int64_t>(times.workers.size());
  if (!facts.workers) facts.workers = logged;
  else if (*facts.workers != logged)
    notes.push_back(
        fmt::format("The log has {} and the scenario {}: {}.", counted(logged, "worker"), *facts.workers,
                    in_step ? "all of them compute as the log says" : "the scenario deals their times out"));
  if (logged == 1 && !in_step)
    notes.push_back("With one worker the log cannot tell what slows all workers at once.");
  const bool waits = facts.consistency.empty() || !facts.consistency.starts_with("asp");
  if (waits && !times.rest.empty() && (logged == 1 || *facts.workers > logged))
    notes.push_back(
        "Push and pull contain waiting for other workers. If the cluster had more workers than the log, the "
        "fitted bandwidth is too low: give the logs of all workers, or a link test.");
  const std::optional<double> bytes = bytes_of(log, notes);
  if (!facts.model_bytes) facts.model_bytes = bytes;
  else if (bytes && std::abs(*facts.model_bytes / *bytes - 1) > alike)
    notes.push_back(
        fmt::format("A push of the log has {:.6g} B in the median, and --model-bytes says {:.6g} B: "
                    "--model-bytes counts.",
                    *bytes, *facts.model_bytes));
  const bool has_servers = facts.consistency != all_reduce && !facts.gives("architecture");
  note_unknown(!facts.servers && has_servers, !facts.model_bytes, facts.consistency.empty() && has_servers,
               notes);
  return facts;
}

// Notes the facts that no run and no option gives.
void note_unknown_of_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                          std::vector<std::string>& notes) {
  const auto lack = [&](std::string_view field) {
    return std::ranges::none_of(runs, [&](const LoggedRun& run) {
      return std::ranges::any_of(run.fields, [&](const auto& one) { return one.first.starts_with(field); });
    });
  };
  note_unknown(!facts.servers && lack("cluster.servers"), !facts.model_bytes && lack("model."),
               facts.consistency.empty() && lack("consistency"), notes);
  if (lack("compute."))
    notes.push_back("The log does not tell the time of a computation: a column compute_s.");
}

// The verdict on a fit to the first runs.
Verdict verdict_on_runs(const Request& request, std::span<const LoggedRun> runs, const NetworkFit& fit,
                        const ClusterFacts& facts) {
  const std::span<const LoggedRun> last = runs.subspan(fit.steps.size());
  const std::vector<double> predicted = simulated_runs(facts, last, fit.values, seeds_of_verdict);
  Verdict verdict{.within = request.within};
  double bias = 0;
  for (std::size_t i = 0; i < last.size(); ++i) {
    verdict.judged.push_back({last[i].name, last[i].step, predicted[i]});
    bias += verdict.judged.back().error() / static_cast<double>(last.size());
  }
  for (std::size_t i = 0; i < fit.steps.size(); ++i)
    verdict.described.push_back({"fitted: " + runs[i].name, runs[i].step, fit.steps[i]});
  verdict.holds = std::ranges::all_of(
      verdict.judged, [&](const Compared& one) { return std::abs(one.error()) <= request.within; });
  if (!verdict.holds)
    verdict.reasons.push_back(fmt::format("the held-out runs are simulated {:.1f} % too {} in the mean",
                                          100 * std::abs(bias), bias > 0 ? "slow" : "fast"));
  return verdict;
}

// Fits the first runs of a table and judges the last ones. The final fit is to all of them.
void calibrate_runs(const Request& request, const std::function<void(const std::string&)>& tell,
                    Calibration& result) {
  const std::span<const LoggedRun> runs = result.runs;
  result.facts = request.facts;
  note_unknown_of_runs(result.facts, runs, result.notes);
  const auto held_out =
      static_cast<std::size_t>(std::llround(static_cast<double>(runs.size()) * request.hold_out));
  const std::span<const LoggedRun> first = runs.first(runs.size() - held_out);
  constexpr std::size_t fewest = 4;
  if (first.size() < fewest)
    throw LogError(fmt::format("{} to fit: at least {}", counted(std::ssize(first), "run"), fewest),
                   "add runs of other numbers of workers and servers, or lower --hold-out");
  if (request.hold_out > 0) check_parts(request.hold_out, first.size(), held_out, 1, "run");
  tell(fmt::format("fitting {}", counted(std::ssize(first), "run")));
  result.network = fit_runs(result.facts, first, result.measured.link, {});
  if (held_out == 0) return;
  result.verdict = verdict_on_runs(request, runs, result.network, result.facts);
  tell(fmt::format("fitting all {} runs", runs.size()));
  result.network = fit_runs(result.facts, runs, result.measured.link, result.network.values);
}

// Fits the first steps, judges the last ones, and fits all of them.
class StepCalibration {
 public:
  StepCalibration(const Request& request, const std::function<void(const std::string&)>& tell,
                  Calibration& result)
      : request_(request), tell_(tell), result_(result) {}

  void make() {
    if (request_.hold_out > 0) {
      const auto size = static_cast<double>(result_.times.size());
      const auto fitted = static_cast<std::size_t>(std::llround(size * (1 - request_.hold_out)));
      const std::size_t later = result_.times.size() - fitted;
      if (result_.times.size() < 2 * fewest_judged) {
        result_.notes.push_back("The log is too short to hold out a part of it: there is no verdict.");
      } else {
        check_parts(request_.hold_out, fitted, later, fewest_judged, "step");
        hold_out(fitted);
      }
    }
    if (result_.times.size() < fewest_judged)
      result_.notes.push_back(
          fmt::format("{} steps are few: the intervals are wide, and slow steps that come now and "
                      "then may be missing. Some hundred make a good log.",
                      result_.times.size()));
    tell_("fitting the whole log");
    fit(result_.times, result_.steps, result_.network);
    const bool fits_log = *result_.facts.workers == std::ssize(result_.times.workers);
    if (!fits_log && result_.network.simulations > 0)
      result_.notes.push_back("The network was fitted with the log's number of workers.");
    if (!result_.network.fits)
      result_.notes.push_back(fmt::format(
          "With {}, simulated steps still differ from the logged ones by {:.0f} %. Check --servers, "
          "--model-bytes, --consistency and the columns push_s and pull_s.",
          result_.measured.link ? "the bandwidth of the link test" : "the best network",
          100 * result_.network.error));
    check_scenario({.scenario = calibrated_scenario(result_), .folder = scratch_.path()});
  }

 private:
  ClusterFacts facts_of(const StepTimes& times) const {
    ClusterFacts facts = result_.facts;
    if (!result_.in_step) facts.workers = std::ssize(times.workers);
    return facts;
  }

  // Whole steps become computations and the rest, which is returned.
  StepRest fit(StepTimes& times, StepFit& steps, NetworkFit& network) {
    StepRest rest;
    steps = fit_steps(times);
    write_file(scratch_.path() / "steps.csv", steps_csv(times));
    network = fit_network(facts_of(times), times, steps, result_.measured, scratch_.path());
    if (!result_.has_whole_steps) return rest;
    rest = rest_of(times, facts_of(times), network.values, scratch_.path());
    network.error = rest.error;
    network.fits = rest.error < worst_fit;
    times = without_rest(times, rest);
    steps = fit_steps(times);
    steps.in_step = result_.in_step;
    write_file(scratch_.path() / "steps.csv", steps_csv(times));
    return rest;
  }

  void hold_out(std::size_t fitted) {
    tell_("fitting the first part");
    StepTimes first = result_.times.part(0, fitted);
    result_.held_out = result_.times.part(fitted, result_.times.size());
    StepFit steps;
    NetworkFit network;
    const StepRest rest = fit(first, steps, network);
    if (result_.has_whole_steps) result_.held_out = without_rest(result_.held_out, rest);
    if (!result_.facts.model_bytes && !result_.facts.gives("model.") && !result_.has_whole_steps)
      first.rest = result_.held_out.rest = {};  // a scenario without messages says nothing about them
    const std::string text = scenario_text({.facts = facts_of(first),
                                            .fit = steps,
                                            .network = network.values,
                                            .steps = static_cast<std::int64_t>(result_.held_out.size()) + 1});
    std::vector<Trial> trials;
    for (std::int64_t seed = 1; seed <= seeds_of_verdict; ++seed)
      trials.push_back({.scenario = text, .folder = scratch_.path(), .seed = seed});
    tell_("simulating the held-out part");
    result_.simulated = simulated_steps(trials);
    for (StepTimes& one : result_.simulated) {
      if (result_.held_out.rest.empty()) one.rest.clear();
    }
    result_.verdict = judge(first, result_.held_out, result_.simulated, request_.within);
  }

  const Request& request_;
  const std::function<void(const std::string&)>& tell_;
  Calibration& result_;
  ScratchFolder scratch_{"psim-calibrate"};
};

// Says what whole steps do not tell.
void note_whole_steps(Calibration& result) {
  const std::string model = result.facts.gives("architecture") ? all_reduce
                            : result.facts.consistency.empty() ? "bsp"
                                                               : result.facts.consistency;
  result.notes.push_back(fmt::format(
      "The log has whole steps, so psim fits computations with which simulated steps under {} take as long "
      "as those of the log. What the network does not take counts as computation.",
      model));
  if (!model.starts_with("asp"))
    result.notes.push_back(
        "Whole steps do not tell how long each worker computed and how long it waited. So the scenario shows "
        "too little gain of what waits less, such as asp. Columns compute_s of all workers would tell.");
  if (!result.in_step) return;
  const std::size_t logged = result.times.workers.size();
  result.times =
      averaged(result.times, static_cast<std::size_t>(*result.facts.workers) == logged ? logged : 1);
}

// Steps, or whole runs.
void calibrate_log(const Request& request, const std::function<void(const std::string&)>& tell,
                   ClusterLog& log, Calibration& result) {
  if (!log.runs.empty()) {
    if (!log.steps.is_empty())
      throw LogError("the logs have single steps and whole runs", "calibrate with one of them");
    result.runs = std::move(log.runs);
    return calibrate_runs(request, tell, result);
  }
  if (log.steps.is_empty())
    throw LogError("the logs have no steps of workers",
                   log.transfers.empty() ? "CSV with the columns worker,step,compute_s"
                                         : "a link test alone tells nothing about computations");
  result.times = step_times(log.steps, request.skip, result.notes);
  result.has_whole_steps = log.has_whole_steps;
  result.in_step = log.has_whole_steps && request.facts.is_synchronous();
  result.facts = completed(request.facts, result.in_step, result.times, log.steps, result.notes);
  if (log.has_whole_steps) note_whole_steps(result);
  StepCalibration(request, tell, result).make();
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
  result.measured = {.link = fit_link(log.transfers), .server = server_work(log.steps)};
  if (log.transfers.size() == 1)
    result.notes.push_back("The link test has one transfer, which tells the bandwidth without an interval.");
  calibrate_log(request, tell, log, result);
  take_given(request.facts, result.network.fitted);
  return result;
}

std::string Calibration::judged_on() const {
  return runs.empty() ? counted(std::ssize(held_out.compute), "step")
                      : counted(std::ssize(verdict->judged), "run");
}

std::string calibrated_scenario(const Calibration& calibration) {
  const std::string head = scenario_comment(calibration), title = scenario_title(calibration);
  if (!calibration.runs.empty())
    return head + run_text(calibration.facts, calibration.network.values, calibration.runs.front(),
                           calibration.network.fitted, title);
  return head + scenario_text({.facts = calibration.facts,
                               .fit = calibration.steps,
                               .network = calibration.network.values,
                               .steps = static_cast<std::int64_t>(calibration.times.size()),
                               .values = calibration.network.fitted,
                               .title = title});
}

namespace {

// Of each worker: computation and rest.
std::vector<double> mean_steps(const StepTimes& times) {
  std::vector<double> means(times.compute.front().size(), 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t w = 0; w < means.size(); ++w)
      means[w] += (times.compute[i][w] + (times.rest.empty() ? 0 : times.rest[i][w])) /
                  static_cast<double>(times.size());
  }
  return means;
}

}  // namespace

StepRest rest_of(const StepTimes& whole, const ClusterFacts& facts, const NetworkValues& network,
                 const std::filesystem::path& folder) {
  constexpr int most_rounds = 8;
  constexpr double close = 1e-3;
  const std::vector<double> logged = mean_steps(whole);
  StepRest rest{.seconds = std::vector<double>(logged.size(), 0)};
  const std::string text = scenario_text({.facts = facts,
                                          .fit = {},
                                          .network = network,
                                          .from = StepsFrom::file,
                                          .steps = static_cast<std::int64_t>(whole.size()) + 1});
  for (int round = 0; round < most_rounds; ++round) {
    write_file(folder / "steps.csv", steps_csv(without_rest(whole, rest)));
    std::vector<Trial> trials;
    for (std::int64_t seed = 1; seed <= seeds_of_search; ++seed)
      trials.push_back({.scenario = text, .folder = folder, .seed = seed});
    std::vector<double> errors(logged.size(), 0);  // by worker, in seconds
    for (const StepTimes& run : simulated_steps(trials)) {
      const std::vector<double> steps = mean_steps(run);
      for (std::size_t w = 0; w < steps.size(); ++w) {
        const std::size_t column = logged.size() == 1 ? 0 : w;
        const double runs = seeds_of_search * static_cast<double>(steps.size() / logged.size());
        errors[column] += (steps[w] - logged[column]) / runs;
      }
    }
    rest.error = 0;
    for (std::size_t w = 0; w < errors.size(); ++w) {
      rest.error = std::max(rest.error, std::abs(errors[w]) / logged[w]);
      rest.seconds[w] = std::max(0.0, rest.seconds[w] + errors[w]);
    }
    if (rest.error < close) break;
  }
  return rest;
}

StepTimes without_rest(const StepTimes& whole, const StepRest& rest) {
  constexpr double least = 0.01;
  StepTimes times = whole;
  times.rest.clear();
  for (std::vector<double>& row : times.compute) {
    std::vector<double>& others = times.rest.emplace_back();
    for (std::size_t w = 0; w < row.size(); ++w) {
      const double computing = std::max(row[w] - rest.seconds[w], least * row[w]);
      others.push_back(row[w] - computing);
      row[w] = computing;
    }
  }
  return times;
}

StepTimes averaged(const StepTimes& whole, std::size_t columns) {
  StepTimes times = whole;
  times.workers.resize(columns);
  for (std::vector<double>& row : times.compute) row.assign(columns, statistics::mean_of(row));
  return times;
}

namespace {

// The values that the scenario lacks. Without them messages take no time.
std::vector<std::string> lacks(const Calibration& calibration) {
  std::vector<std::string> missing;
  if (!calibration.runs.empty()) return missing;
  if (calibration.network.values.bandwidth == NetworkValues().bandwidth &&
      !calibration.facts.gives("cluster.network.bandwidth"))
    missing.push_back("the bandwidth (1e15 B/s here)");
  if (!calibration.facts.model_bytes && !calibration.facts.gives("model."))
    missing.push_back("the size of the model (4 B here)");
  return missing;
}

// The lines of a comment in a file.
std::string as_comment(const std::string& text) {
  std::string out;
  for (const std::string& line : analysis::wrapped(text, 100)) out += "# " + line + "\n";
  return out;
}

}  // namespace

std::string verdict_line(const Calibration& calibration) {
  const Verdict& verdict = *calibration.verdict;
  const char *holds = verdict.holds ? "holds" : "does not hold", *subject = "The model", *rest = "";
  if (verdict.only_computations) {
    subject = "The model of the computations";
    rest = calibration.times.rest.empty()
               ? " Communication is not judged: the log has no push and pull."
               : " Communication is not judged: the log does not tell the size of the model (--model-bytes).";
  }
  return fmt::format("{} {} within {:.3g} %.{}", subject, holds, 100 * verdict.within, rest);
}

std::string judgement(const Compared& judged, double within) {
  return fmt::format("{} {:.3g} %", std::abs(judged.error()) <= within ? "within" : "beyond", 100 * within);
}

std::vector<std::string> warnings(const Calibration& calibration) {
  const std::vector<std::string> missing = lacks(calibration);
  if (missing.empty()) return {};
  return {fmt::format(
      "Communication is free in this scenario, because the log does not tell {}. So predictions are those of "
      "a cluster that only computes. Calibrate with a link test too (a file of bytes,seconds, nccl-tests or "
      "iperf3), or with push_s and pull_s in the log, and with --model-bytes SIZE. Or set the values: "
      "--set cluster.network.bandwidth=10Gbps --model-bytes 100MB.",
      fmt::join(missing, " and "))};
}

std::string scenario_title(const Calibration& calibration) {
  std::string title = "A cluster as its log shows it";
  if (!lacks(calibration).empty()) title += "; communication is free";
  if (calibration.verdict && !calibration.verdict->holds)
    title += fmt::format("; the model does not hold within {:.3g} %", 100 * calibration.verdict->within);
  return title;
}

std::string scenario_comment(const Calibration& calibration) {
  std::string out = as_comment("Made by psim calibrate; calibration.json has every value with its interval.");
  if (!calibration.verdict) {
    out += as_comment("No verdict: no part of the log was held out.");
  } else {
    const std::vector<Compared>& judged = calibration.verdict->judged;
    const auto worst =
        std::ranges::max_element(judged, {}, [](const Compared& one) { return std::abs(one.error()); });
    out += as_comment(fmt::format("Verdict on the last {}: {} Worst: {}, {:+.1f} %.", calibration.judged_on(),
                                  verdict_line(calibration), worst->name, 100 * worst->error()));
  }
  for (const std::string& warning : warnings(calibration)) out += as_comment("WARNING: " + warning);
  return out;
}

}  // namespace psim::calibrate
