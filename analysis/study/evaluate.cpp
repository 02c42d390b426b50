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

double latest_time(const std::vector<TimedRun>& runs) {
  double latest = 0;
  for (const TimedRun& run : runs) latest = std::max(latest, run.reached ? run.time_s : 0.0);
  return latest;
}

// Where every run's budget is the same, or reached before: that. Otherwise the latest time that all arms'
// Kaplan-Meier curves know.
double budget_of(const std::vector<std::vector<TimedRun>>& arms, bool& differ) {
  std::set<double> missed, own;
  double latest = 0, known = std::numeric_limits<double>::infinity();
  for (const std::vector<TimedRun>& runs : arms) {
    for (const TimedRun& run : runs) {
      own.insert(run.budget_s);
      if (!run.reached) missed.insert(run.budget_s);
    }
    latest = std::max(latest, latest_time(runs));
    known = std::min(known, statistics::kaplan_meier(runs).known_until_s);
  }
  differ = missed.size() > 1 || (missed.size() == 1 && latest > *missed.begin());
  if (missed.empty()) return own.size() == 1 ? *own.begin() : latest;
  if (!differ) return *missed.begin();
  return std::isfinite(known) ? known : latest;
}

void add_times(const Condition& condition) {
  std::vector<std::vector<TimedRun>> arms;
  for (const Aggregate* one : condition) arms.push_back(timed_runs(*one->cell));
  bool differ = false;
  const double budget = budget_of(arms, differ);
  for (std::size_t i = 0; i < condition.size(); ++i) {
    TimeToTarget& time = condition[i]->time_to_target.emplace();
    time.budget_s = budget;
    time.by_kaplan_meier = differ;
    if (!differ) {
      const statistics::TimeSummary summary = statistics::summarize_times(arms[i], budget);
      time.restricted_mean_s = summary.restricted_mean_s;
      time.restricted_sd_s = summary.restricted_sd_s;
      time.median_s = summary.median_s;
      continue;
    }
    const statistics::SurvivalCurve curve = statistics::kaplan_meier(arms[i]);
    time.restricted_mean_s = statistics::restricted_mean(curve, budget)->mean_s;
    time.median_s = statistics::survival_median(curve);
    if (time.median_s && *time.median_s > budget) time.median_s.reset();
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
    const auto values = one == *base || !reference ? std::nullopt : compared_values(*one->cell, budget);
    if (!values) continue;
    const std::vector<statistics::Pair> pairs = statistics::pair_by_seed(*values, *reference);
    if (pairs.empty()) continue;
    one->versus = {.values = pairs,
                   .pairs = statistics::compare_pairs(pairs, statistics::Better::smaller, resampling),
                   .budget_s = budget};
  }
}

void correct_for_their_number(std::vector<Aggregate>& aggregates) {
  std::vector<statistics::PairedComparison> family;
  for (const Aggregate& one : aggregates) {
    if (one.versus) family.push_back(one.versus->pairs);
  }
  const std::vector<double> corrected = statistics::corrected(family);
  auto next = corrected.begin();
  for (Aggregate& one : aggregates) {
    if (one.versus) one.versus->p_value_holm = *next++;
  }
}

Aggregate measured(const Cell& cell) {
  Aggregate result{.cell = &cell, .n = cell.runs.size()};
  std::vector<double> times;
  for (const StudyRun& run : cell.runs) {
    if (run.summary["target"]["reached"]) ++result.reached;
    if (const auto time = time_of(run.summary)) times.push_back(*time);
    result.staleness_max = std::max(result.staleness_max, run.summary["staleness"]["max"].get<double>());
  }
  if (!has_target(cell) && times.size() == cell.runs.size()) result.time = statistic(times);
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

std::vector<Condition> by_condition(std::vector<Aggregate>& aggregates) {
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

// Runs whose pushes are acknowledged differently differ in messages and times by that alone.
void add_note_on_acknowledgement(const Study& study, std::vector<StudyNote>& notes) {
  const auto how = [](const StudyRun& run) { return run.summary.value("acknowledgement", "none"); };
  const std::string first = how(study.cells.front().runs.front());
  StudyNote note{.name = "acknowledgement", .text = {}, .cell = nullptr, .runs = 0};
  std::string other;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      if (how(run) == first || (note.cell != nullptr && how(run) != other)) continue;
      if (note.cell == nullptr) {
        other = how(run);
        note.cell = &cell;
        note.seed = run.seed;
      }
      ++note.runs;
    }
  }
  if (note.cell == nullptr || mutant("acks-are-not-compared")) return;
  note.text = fmt::format(
      "these runs do not acknowledge pushes alike (acknowledgement in summary.json: {}, in the first run "
      "{}): "
      "that alone makes their messages and times differ",
      other, first);
  notes.push_back(std::move(note));
}

// Each kind of note once; first, that runs got stuck.
std::vector<StudyNote> notes_of(const Study& study) {
  std::vector<StudyNote> notes;
  const auto add = [&](const Cell& cell, const StudyRun& run, const std::string& name, std::string text) {
    const auto same = std::ranges::find(notes, name, &StudyNote::name);
    if (same != notes.end()) ++same->runs;
    else notes.push_back({.name = name, .text = std::move(text), .cell = &cell, .seed = run.seed});
  };
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      const Json stuck = run.summary.value("stuck", Json::array());
      if (!stuck.empty()) add(cell, run, "stuck", "stuck: " + stuck.front().get<std::string>());
    }
  }
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      std::set<std::string> here;  // a run may have several notes of a kind
      for (const Json& note : run.summary.at("notes")) {
        const std::string name = note["name"];
        if (here.insert(name).second) add(cell, run, name, note["text"]);
      }
    }
  }
  add_note_on_acknowledgement(study, notes);
  return notes;
}

}  // namespace

const Statistic* Aggregate::measure(std::string_view key) const {
  const auto found = measures.find(key);
  return found == measures.end() ? nullptr : &found->second;
}

Evaluation evaluate(const Study& study) {
  if (std::ranges::find(study.cells, study.baseline, &Cell::arm) == study.cells.end())
    throw std::invalid_argument(fmt::format("no arm is called `{}`", study.baseline));
  Evaluation result;
  for (const Cell& cell : study.cells) result.aggregates.push_back(measured(cell));
  result.has_target = std::ranges::any_of(study.cells, has_target);
  for (const Condition& condition : by_condition(result.aggregates)) {
    if (std::ranges::all_of(condition, [](const Aggregate* one) { return has_target(*one->cell); }))
      add_times(condition);
    add_comparisons(condition, study.baseline);
  }
  correct_for_their_number(result.aggregates);
  result.notes = notes_of(study);
  return result;
}

}  // namespace psim::analysis
