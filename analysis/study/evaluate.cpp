// From runs to what a table shows of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "analysis/study/study.hpp"
#include "model/mutant.hpp"

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

// The cells of a condition, which share a budget.
using Condition = std::vector<Aggregate*>;

// Until when the times of a condition's runs are known, and whether that needs Kaplan-Meier.
struct Budget {
  double seconds = 0;
  bool differ = false;
};

// Where every run's budget is the same, or its target reached before: that. Otherwise the latest time that
// all arms' Kaplan-Meier curves know. A run that got stuck would never have reached its target: any budget
// will do.
Budget budget_of(const Condition& condition, const std::vector<std::vector<TimedRun>>& arms) {
  std::set<double> missed, own;
  double latest = 0, known = std::numeric_limits<double>::infinity(), longest = 0;
  for (const std::vector<TimedRun>& runs : arms) {
    for (const TimedRun& run : runs) {
      if (std::isfinite(run.budget_s)) (run.reached ? own : missed).insert(run.budget_s);
      if (run.reached) latest = std::max(latest, run.time_s);
    }
    known = std::min(known, statistics::kaplan_meier(runs).known_until_s);
  }
  for (const Aggregate* one : condition) {
    for (const StudyRun& run : one->cell->runs)
      longest = std::max(longest, run.summary["sim_time_s"].get<double>());
  }
  if (missed.size() > 1 || (!missed.empty() && latest > *missed.begin()))
    return {.seconds = std::isfinite(known) ? known : latest, .differ = true};
  if (!missed.empty()) return {.seconds = *missed.begin()};
  if (own.size() == 1) return {.seconds = std::max(*own.begin(), latest)};
  return {.seconds = latest > 0 ? latest : longest};
}

TimeToTarget by_kaplan_meier(const std::vector<TimedRun>& runs, double budget) {
  const statistics::SurvivalCurve curve = statistics::kaplan_meier(runs);
  const auto mean = statistics::restricted_mean(curve, budget);
  TimeToTarget time{.restricted_mean_s = mean->mean_s,
                    .restricted_sd_s = std::nullopt,
                    .interval_s = std::nullopt,
                    .median_s = statistics::survival_median(curve),
                    .budget_s = budget,
                    .by_kaplan_meier = true};
  constexpr double normal = 1.959963984540054;  // 97.5 % quantile
  const double half = normal * std::sqrt(mean->variance_s2);
  if (runs.size() > 1) time.interval_s = {.low = mean->mean_s - half, .high = mean->mean_s + half};
  if (time.median_s && *time.median_s > budget) time.median_s.reset();
  return time;
}

TimeToTarget within_one_budget(const std::vector<TimedRun>& runs, double budget) {
  const statistics::TimeSummary summary = statistics::summarize_times(runs, budget);
  std::vector<double> times;
  for (const TimedRun& run : runs) times.push_back(statistics::restricted_time(run, budget));
  return {.restricted_mean_s = summary.restricted_mean_s,
          .restricted_sd_s = summary.restricted_sd_s,
          .interval_s = statistics::student_interval(times),
          .median_s = summary.median_s,
          .budget_s = budget};
}

void add_times(const Condition& condition) {
  std::vector<std::vector<TimedRun>> arms;
  for (const Aggregate* one : condition) arms.push_back(timed_runs(*one->cell));
  const Budget budget = budget_of(condition, arms);
  for (std::size_t i = 0; i < condition.size(); ++i) {
    condition[i]->time_to_target =
        budget.differ ? by_kaplan_meier(arms[i], budget.seconds) : within_one_budget(arms[i], budget.seconds);
    condition[i]->time_to_target->cut = static_cast<std::size_t>(std::ranges::count_if(
        arms[i], [&](const TimedRun& run) { return !run.reached || run.time_s > budget.seconds; }));
  }
}

// The values that are compared seed by seed. Nothing where some run has none.
std::optional<std::vector<statistics::SeedValue>> compared_values(const Cell& cell, double budget) {
  std::vector<statistics::SeedValue> values;
  for (const StudyRun& run : cell.runs) {
    const TimedRun one = timed(run);
    if (!has_target(cell) && !one.reached) return std::nullopt;
    values.push_back({one.seed, has_target(cell) ? statistics::restricted_time(one, budget) : one.time_s});
  }
  return values;
}

// A study gives all its comparisons the same draws, whatever else is in it.
constexpr statistics::Resampling resampling{};

void add_comparisons(const Condition& condition, const std::string& baseline) {
  const auto base = std::ranges::find(condition, baseline, [](const Aggregate* a) { return a->cell->arm; });
  if (base == condition.end()) return;
  std::vector<TimedRun> all;
  for (const Aggregate* one : condition) std::ranges::copy(timed_runs(*one->cell), std::back_inserter(all));
  double budget = statistics::common_budget(all);
  if (!std::isfinite(budget) && (*base)->time_to_target) budget = (*base)->time_to_target->budget_s;
  const auto reference = compared_values(*(*base)->cell, budget);
  for (Aggregate* one : condition) {
    const Cell &cell = *one->cell, &other = *(*base)->cell;
    if (!reference || same_runs(cell, other) || has_target(cell) != has_target(other)) continue;
    const auto values = compared_values(cell, budget);
    if (!values) continue;
    const std::vector<statistics::Pair> pairs = statistics::pair_by_seed(*values, *reference);
    if (pairs.empty()) continue;
    one->versus = {.values = pairs,
                   .pairs = statistics::compare_pairs(pairs, statistics::Better::smaller, resampling),
                   .budget_s = budget};
  }
}

// Two comparisons of the same runs, under conditions that mean nothing to either arm, are one.
void correct_for_their_number(const std::vector<Condition>& conditions, const std::string& baseline) {
  struct Test {
    const Cell *arm, *baseline;
  };
  std::vector<Test> tests;
  std::vector<statistics::PairedComparison> family;
  std::vector<std::pair<Aggregate*, std::size_t>> members;
  for (const Condition& condition : conditions) {
    const auto base = std::ranges::find(condition, baseline, [](const Aggregate* a) { return a->cell->arm; });
    for (Aggregate* one : condition) {
      if (!one->versus) continue;
      const auto same = std::ranges::find_if(tests, [&](const Test& test) {
        return same_runs(*test.arm, *one->cell) && same_runs(*test.baseline, *(*base)->cell);
      });
      members.emplace_back(one, same - tests.begin());
      if (same != tests.end()) continue;
      tests.push_back({one->cell, (*base)->cell});
      family.push_back(one->versus->pairs);
    }
  }
  const std::vector<double> corrected = statistics::corrected(family);
  for (const auto& [one, test] : members) one->versus->p_value_holm = corrected[test];
}

Aggregate measured(const Cell& cell) {
  Aggregate result{.cell = &cell, .n = cell.runs.size()};
  std::vector<double> times;
  for (const StudyRun& run : cell.runs) {
    if (run.summary["target"]["reached"]) ++result.reached;
    if (const auto time = time_of(run.summary)) times.push_back(*time);
    result.staleness_max = std::max(result.staleness_max, run.summary["staleness"]["max"].get<double>());
  }
  if (!has_target(cell) && times.size() == cell.runs.size()) {
    result.time = statistic(times);
    result.time_interval_s = statistics::student_interval(times);
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

// Calls `visit` with every run, those that stand under several labels once.
template <class F>
void for_each_run(const Study& study, F&& visit) {
  std::set<std::string> seen;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      if (seen.insert(run.run).second) visit(cell, run);
    }
  }
}

// Runs whose pushes are acknowledged differently differ in messages and times by that alone.
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
  if (note.cell == nullptr || mutant("acks-are-not-compared")) return;
  note.text = fmt::format(
      "these runs do not acknowledge pushes alike (acknowledgement in summary.json: {}, in the first run "
      "{}): "
      "that alone makes their messages and times differ",
      other, first);
  notes.push_back(std::move(note));
}

// The widest interval decides.
std::optional<WidthKept> width_kept(const Study& study, const Evaluation& evaluation) {
  if (study.until_ci.is_null()) return std::nullopt;
  WidthKept kept{.asked = study.until_ci["half_width"].get<double>(), .narrow = true};
  bool compares = false;
  for (const Aggregate& one : evaluation.aggregates) {
    if (!has_width(evaluation, one)) continue;
    compares = true;
    kept.widest = std::max(kept.widest, half_width(*one.versus));
    kept.narrow = kept.narrow && is_narrow(*one.versus, kept.asked);
  }
  if (!compares) return std::nullopt;
  return kept;
}

// Each kind of note once; first, that runs got stuck.
std::vector<StudyNote> notes_of(const Study& study) {
  std::vector<StudyNote> notes;
  const auto add = [&](const Cell& cell, const StudyRun& run, const std::string& name, std::string text) {
    const auto same = std::ranges::find(notes, name, &StudyNote::name);
    if (same != notes.end()) ++same->runs;
    else notes.push_back({.name = name, .text = std::move(text), .cell = &cell, .seed = run.seed});
  };
  for_each_run(study, [&](const Cell& cell, const StudyRun& run) {
    const Json stuck = run.summary.value("stuck", Json::array());
    if (!stuck.empty()) add(cell, run, "stuck", "stuck: " + stuck.front().get<std::string>());
  });
  for_each_run(study, [&](const Cell& cell, const StudyRun& run) {
    std::set<std::string> here;  // a run may have several notes of a kind
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

std::vector<std::vector<Aggregate*>> by_condition(std::vector<Aggregate>& aggregates) {
  std::vector<Condition> conditions;
  for (Aggregate& one : aggregates) {
    const auto same = std::ranges::find_if(conditions, [&](const Condition& condition) {
      return condition.front()->cell->condition == one.cell->condition;
    });
    if (same == conditions.end()) conditions.push_back({&one});
    else same->push_back(&one);
  }
  return conditions;
}

bool has_width(const Evaluation& evaluation, const Aggregate& one) {
  return one.versus && one.versus->pairs.ratio && !(evaluation.has_target && one.reached == 0);
}

double half_width(const VersusBaseline& versus) {
  const statistics::Estimate& ratio = *versus.pairs.ratio;
  return ratio.interval.high / ratio.value - 1;
}

bool is_narrow(const VersusBaseline& versus, double asked) {
  constexpr double rounding = 1e-12;
  return half_width(versus) <= asked + rounding || mutant("every-width-is-kept");
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
  const std::vector<Condition> conditions = by_condition(result.aggregates);
  for (const Condition& condition : conditions) {
    if (std::ranges::all_of(condition, [](const Aggregate* one) { return has_target(*one->cell); }))
      add_times(condition);
    add_comparisons(condition, study.baseline);
  }
  correct_for_their_number(conditions, study.baseline);
  result.width = width_kept(study, result);
  rank(study, result);
  result.notes = notes_of(study);
  return result;
}

}  // namespace psim::analysis
