// Turns runs into the values of a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "analysis/run_record.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {
namespace {

using statistics::TimedRun;

Statistic statistic(const std::vector<double>& values) {
  return {.mean = statistics::mean_of(values), .sd = statistics::sd_of(values), .n = values.size()};
}

bool has_target(const Cell& cell) { return cell.runs.front().summary["target"]["given"].get<bool>(); }

std::vector<TimedRun> timed_runs(const Cell& cell) {
  std::vector<TimedRun> runs;
  for (const StudyRun& run : cell.runs) runs.push_back(timed(run));
  return runs;
}

// The date up to which the times of an arm are known, and whether that needs Kaplan-Meier.
struct Budget {
  double seconds = 0;
  bool differ = false;
};

// The budget of the runs, if it is the same for all, or if runs with other budgets reached the target
// earlier. Otherwise the latest time that the Kaplan-Meier curve knows. A stuck run never reaches its target,
// so any budget will do.
Budget budget_of(const Cell& cell, const std::vector<TimedRun>& runs) {
  std::set<double> missed, own;
  double latest = 0, longest = 0;
  for (const TimedRun& run : runs) {
    if (std::isfinite(run.budget_s)) (run.reached ? own : missed).insert(run.budget_s);
    if (run.reached) latest = std::max(latest, run.time_s);
  }
  for (const StudyRun& run : cell.runs) longest = std::max(longest, run.summary["sim_time_s"].get<double>());
  if (missed.size() > 1 || (!missed.empty() && latest > *missed.begin())) {
    const double known = statistics::kaplan_meier(runs).known_until_s;
    const double reached = latest > 0 ? latest : *missed.begin();
    return {.seconds = std::isfinite(known) ? known : reached, .differ = true};
  }
  if (!missed.empty()) return {.seconds = *missed.begin()};
  if (own.size() == 1) return {.seconds = std::max(*own.begin(), latest)};
  return {.seconds = latest > 0 ? latest : longest};
}

TimeToTarget by_kaplan_meier(const std::vector<TimedRun>& runs, double budget) {
  const statistics::SurvivalCurve curve = statistics::kaplan_meier(runs);
  const auto mean = statistics::restricted_mean(curve, budget);
  // The budget is the latest time that the curve knows, so a known median is within it.
  return {.restricted_mean_s = mean->mean_s,
          .restricted_sd_s = std::nullopt,
          .interval_s = statistics::restricted_interval(*mean, runs.size(), budget),
          .median_s = statistics::survival_median(curve),
          .budget_s = budget,
          .by_kaplan_meier = true};
}

// An infinite budget cuts nothing.
TimeToTarget within_one_budget(const std::vector<TimedRun>& runs, double budget, bool is_cut) {
  const statistics::TimeSummary summary = statistics::summarize_times(runs, budget);
  const double most = is_cut ? budget : std::numeric_limits<double>::infinity();
  return {.restricted_mean_s = summary.restricted_mean_s,
          .restricted_sd_s = summary.restricted_sd_s,
          .interval_s = statistics::restricted_interval(
              *statistics::restricted_mean(statistics::kaplan_meier(runs), budget), runs.size(), most),
          .median_s = summary.median_s,
          .budget_s = budget};
}

TimeToTarget time_to_target(const Cell& cell) {
  const std::vector<TimedRun> runs = timed_runs(cell);
  const Budget budget = budget_of(cell, runs);
  const auto cut = static_cast<std::size_t>(std::ranges::count_if(
      runs, [&](const TimedRun& run) { return !run.reached || run.time_s > budget.seconds; }));
  TimeToTarget time = budget.differ ? by_kaplan_meier(runs, budget.seconds)
                                    : within_one_budget(runs, budget.seconds, cut > 0);
  time.cut = cut;
  return time;
}

// Whether seeds change the times of a cell. They do not if step times come from a trace, or if nothing in the
// run is random: then all seeds are the same observation.
bool has_replicates(const Cell& cell) {
  if (cell.runs.size() < 2) return true;
  if (std::ranges::any_of(cell.runs, &StudyRun::by_trace)) return false;
  if (cell.predicts()) return true;  // the cluster may vary little
  constexpr double alike = 1e-3;     // share of the time: random batches change sizes of messages by less
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const StudyRun& run : cell.runs) {
    const std::optional<double> time = time_of(run.summary);
    if (!time) return true;  // stuck, or missed its target: its length is its budget
    least = std::min(least, *time);
    most = std::max(most, *time);
  }
  return most - least > alike * most;
}

Aggregate measured(const Cell& cell) {
  Aggregate result{.cell = &cell, .n = cell.runs.size()};
  std::vector<double> times;
  for (const StudyRun& run : cell.runs) {
    if (run.summary["target"]["reached"]) ++result.reached;
    if (const auto time = time_of(run.summary)) times.push_back(*time);
    result.staleness_max = std::max(result.staleness_max, run.summary["staleness"]["max"].get<double>());
    const Json first = value_at(run.summary, "/initial/loss"_summary),
               last = value_at(run.summary, "/final/loss"_summary);
    const bool is_judged = first.is_number();  // a phantom has no loss
    const bool has_loss = last.is_number() && std::isfinite(last.get<double>());
    result.diverged += is_judged && !has_loss;
    result.unlearned += is_judged && has_loss && last >= first;
  }
  result.replicates = has_replicates(cell);
  result.predicted =
      result.replicates && cell.predicts() && times.size() == cell.runs.size() && times.size() > 1;
  if (has_target(cell)) {
    result.time_to_target = time_to_target(cell);
    result.predicted = result.predicted && result.time_to_target->cut == 0;
    if (!result.replicates) result.time_to_target->interval_s.reset();
    if (result.predicted) result.time_to_target->interval_s = statistics::prediction_interval(times);
  } else if (times.size() == cell.runs.size()) {
    result.time = statistic(times);
    result.time_interval_s = !result.replicates ? std::nullopt
                             : result.predicted ? statistics::prediction_interval(times)
                                                : statistics::student_interval(times);
    if (result.time_interval_s) result.time_interval_s->low = std::max(0.0, result.time_interval_s->low);
  }
  for (const Measure& measure : measures()) {
    std::vector<double> values;
    for (const StudyRun& run : cell.runs) {
      const Json value = value_of(measure, run.summary);
      if (!value.is_null()) values.push_back(value.get<double>());
    }
    if (!values.empty()) result.measures.emplace(measure.key, statistic(values));
  }
  return result;
}

// Calls `visit` with every run; a run under several labels only once.
template <class F>
void for_each_run(const Study& study, F&& visit) {
  std::set<std::string> seen;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      if (seen.insert(run.run).second) visit(cell, run);
    }
  }
}

// A note if runs acknowledge pushes in different ways: that alone changes messages and times.
void add_note_on_acknowledgement(const Study& study, std::vector<StudyNote>& notes) {
  const auto how = [](const StudyRun& run) { return run.summary.value("acknowledgement", "none"); };
  const std::string first = how(study.cells.front().runs.front());
  StudyNote note{.name = "acknowledgement", .text = {}, .cell = nullptr, .runs = 0};
  std::string other;
  for_each_run(study, [&](const Cell& cell, const StudyRun& run) {
    if (how(run) == first || (note.cell != nullptr && how(run) != other)) return;
    if (note.cell == nullptr) {
      other = how(run);
      note.cell = &cell;
      note.seed = run.seed;
    }
    ++note.runs;
  });
  if (note.cell == nullptr) return;
  note.text = fmt::format(
      "these runs acknowledge pushes in different ways (acknowledgement in summary.json: {}, in the first "
      "run {}): that alone changes their messages and times",
      other, first);
  notes.push_back(std::move(note));
}

// The samples of one step of all workers together.
double samples_at_once(const Json& summary) {
  double samples = 0;
  for (const Json& worker : summary.value("workers", Json::array()))
    samples += worker.value("batch_size", 0.0);
  return samples;
}

// Whether updates of two arms of a condition use different numbers of samples, or nothing else tells them
// apart.
bool has_unequal_updates(const Evaluation& evaluation) {
  constexpr double alike = 1.005;
  if (evaluation.has_target) return false;
  for (const std::vector<const Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    std::vector<double> samples;
    for (const Aggregate* one : condition) {
      const Statistic *rate = one->measure("samples_per_s"), *pace = one->measure("s_per_update");
      if (one->measure("final_loss") == nullptr && one->diverged == 0) return true;
      if (rate != nullptr && pace != nullptr) samples.push_back(rate->mean * pace->mean);
    }
    if (samples.empty()) continue;
    const auto [least, most] = std::ranges::minmax(samples);
    if (most > alike * least) return true;
  }
  return false;
}

// A note if arms differ in samples per step: with larger batches or more workers a step does more, so seconds
// alone mislead.
void add_note_on_samples(const Study& study, Evaluation& evaluation) {
  for (const std::vector<Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    const auto rate = [](const Aggregate* one) {
      const Statistic* s = one->measure("samples_per_s");
      return s == nullptr ? 0 : s->mean;
    };
    const auto at_once = [](const Aggregate* one) {
      return samples_at_once(one->cell->runs.front().summary);
    };
    const auto [least, most] = std::ranges::minmax(condition, {}, rate);
    const auto [small, large] = std::ranges::minmax(condition, {}, at_once);
    if (!(rate(least) > 0) || !(at_once(small) < at_once(large))) continue;
    const auto name = [](const Aggregate* one) {
      return one->cell->arm.empty() ? std::string("as it is") : one->cell->arm;
    };
    evaluation.notes.push_back(
        {.name = "samples_per_s",
         .text = fmt::format(
             "arms differ in workers times batch size ({} has {:.4g} samples in a step, {} {:.4g}), so a "
             "step of one does more than a step of the other: {} computes {:.2g} times as many samples a "
             "second as {} ({:.4g} against {:.4g}; column samples)",
             name(small), at_once(small), name(large), at_once(large), name(most), rate(most) / rate(least),
             name(least), rate(most), rate(least)),
         .cell = condition.front()->cell,
         .seed = condition.front()->cell->runs.front().seed,
         .runs = study.cells.front().runs.size()});
    return;
  }
}

// The widest interval decides.
std::optional<WidthKept> width_kept(const Study& study, const Evaluation& evaluation) {
  if (study.until_ci.is_null()) return std::nullopt;
  WidthKept kept{.asked = study.until_ci["half_width"].get<double>(), .narrow = true};
  bool compares = false;
  for (const Aggregate& one : evaluation.aggregates) {
    if (!one.versus || !has_width(*one.versus)) continue;
    compares = true;
    kept.widest = std::max(kept.widest, half_width(*one.versus));
    kept.narrow = kept.narrow && is_narrow(*one.versus, kept.asked);
  }
  if (!compares) return std::nullopt;
  return kept;
}

// Each kind of note once, but one for each arm with stuck runs; these come first.
std::vector<StudyNote> notes_of(const Study& study) {
  std::vector<StudyNote> notes;
  const auto add = [&](const Cell& cell, const StudyRun& run, const std::string& name, std::string text) {
    const auto same = std::ranges::find_if(notes, [&](const StudyNote& one) {
      return one.name == name && (name != "stuck" || one.cell == &cell);
    });
    if (same != notes.end()) ++same->runs;
    else notes.push_back({.name = name, .text = std::move(text), .cell = &cell, .seed = run.seed});
  };
  for_each_run(study, [&](const Cell& cell, const StudyRun& run) {
    const Json stuck = run.summary.value("stuck", Json::array());
    if (!stuck.empty()) add(cell, run, "stuck", "stuck: " + stuck.front().get<std::string>());
  });
  for_each_run(study, [&](const Cell& cell, const StudyRun& run) {
    std::set<std::string> here;  // a run may have several notes of one kind
    for (const Json& note : run.summary.at("notes")) {
      const std::string name = note["name"];
      if (here.insert(name).second) add(cell, run, name, note["text"]);
    }
  });
  add_note_on_acknowledgement(study, notes);
  return notes;
}

}  // namespace

const Statistic* Aggregate::measure(std::string_view key) const {
  const auto found = measures.find(key);
  return found == measures.end() ? nullptr : &found->second;
}

bool same_runs(const Cell& a, const Cell& b) {
  return std::ranges::equal(a.runs, b.runs, {}, &StudyRun::run, &StudyRun::run);
}

Evaluation evaluate(const Study& study) {
  if (std::ranges::find(study.cells, study.baseline, &Cell::arm) == study.cells.end())
    throw std::invalid_argument(fmt::format("no arm is called `{}`", study.baseline));
  Evaluation result;
  for (const Cell& cell : study.cells) result.aggregates.push_back(measured(cell));
  result.has_target = std::ranges::any_of(study.cells, has_target);
  result.unequal_updates = has_unequal_updates(result);
  compare_arms(study, result);
  result.width = width_kept(study, result);
  rank(study, result);
  result.notes = notes_of(study);
  add_note_on_samples(study, result);
  return result;
}

}  // namespace psim::analysis
