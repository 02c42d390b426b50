// The remarks below the table of a study.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "analysis/render/text_table.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {
namespace {

void say(std::string& out, const std::string& text) { out += text + "\n"; }

bool any(const Evaluation& evaluation, const auto& holds) {
  return std::ranges::any_of(evaluation.aggregates, holds);
}

std::size_t fewest_runs(const Evaluation& evaluation) {
  return std::ranges::min_element(evaluation.aggregates, {}, &Aggregate::n)->n;
}

void say_times(std::string& out, const Evaluation& evaluation) {
  std::set<double> budgets;
  std::size_t cut = 0;
  for (const Aggregate& one : evaluation.aggregates) {
    if (!one.time_to_target || one.time_to_target->cut == 0) continue;
    budgets.insert(one.time_to_target->budget_s);
    cut += one.time_to_target->cut;
  }
  if (!budgets.empty())
    say(out,
        fmt::format("`>=`: {} run{} missed the target within {} budget of {:.4g} s{} and count{} with that "
                    "budget, so the mean is a lower bound.",
                    cut, cut == 1 ? "" : "s", budgets.size() > 1 ? "their arm's" : "the", *budgets.begin(),
                    budgets.size() > 1 ? fmt::format(" to {:.4g} s", *budgets.rbegin()) : std::string(),
                    cut == 1 ? "s" : ""));
  if (any(evaluation,
          [](const Aggregate& a) { return a.time_to_target && a.time_to_target->by_kaplan_meier; }))
    say(out,
        "If the runs of an arm have different budgets, its mean time is the area under a Kaplan-Meier curve; "
        "with one training.duration for all runs it is a plain mean.");
}

// If fewer than half of the runs of an arm reached the target in time, the median is unknown.
void say_medians(std::string& out, const Evaluation& evaluation) {
  std::vector<std::string> cells;
  for (const Aggregate& one : evaluation.aggregates) {
    if (one.time_to_target && !one.time_to_target->median_s) cells.push_back(cell_label(*one.cell));
  }
  if (cells.empty()) return;
  constexpr std::size_t most = 4;  // names in a line
  const std::size_t more = cells.size() > most ? cells.size() - most : 0;
  cells.resize(cells.size() - more);
  say(out,
      fmt::format(
          "The median time of {}{} is beyond the budget: fewer than half of the runs reached the target.",
          fmt::join(cells, "; "), more > 0 ? fmt::format(" and {} more", more) : ""));
}

// Which arms reach the target matters before any time.
void say_who_reached(std::string& out, const Evaluation& evaluation) {
  if (any(evaluation, [](const Aggregate& a) { return a.versus && decides_by_reached(*a.versus); }))
    say(out,
        "reached by k/n, baseline m/n: more runs of one arm reached the target (each within its own budget) "
        "than chance explains, or all runs of one arm and none of the other. This decides before times; p is "
        "McNemar's.");
  const auto bound = [](const Aggregate& a) {
    return a.versus && !decides_by_reached(*a.versus) && a.versus->cut_arm + a.versus->cut_baseline > 0;
  };
  if (any(evaluation, bound))
    say(out,
        "Ratios compare two times up to the budget of the run that missed its target. `>=` or `<=`: runs of "
        "one arm need longer, so the whole times differ by at least (`>=`) or at most (`<=`) this factor.");
  if (any(evaluation, [](const Aggregate& a) { return a.versus && a.versus->order; }))
    say(out,
        "Runs have different budgets, so a seed counts up to its own budget, and p is that of the sign test "
        "over the seeds whose faster arm is known.");
}

// Whether any p value can be small with this number of tests.
void say_family(std::string& out, const Evaluation& evaluation) {
  const TestFamily& family = evaluation.family;
  if (family.tests == 0 || family.seeds < 2 || family.seeds >= family.seeds_needed) return;
  say(out, fmt::format("For p values use at least {} seeds (--seeds 1-{}): with {}, no p value of {} can be "
                       "below 0.05.",
                       family.seeds_needed, family.seeds_needed, family.seeds,
                       family.tests == 1 ? "a test" : fmt::format("{} tests", family.tests)));
}

// Seeds that change no time are one observation, whatever their number.
void say_replicates(std::string& out, const Evaluation& evaluation) {
  std::vector<std::string> arms;
  bool traced = false;
  for (const Aggregate& one : evaluation.aggregates) {
    if (one.replicates || (one.versus && one.versus->replicates)) continue;
    add_once(arms, arm_label(one.cell->arm));
    traced = traced || one.cell->runs.front().by_trace;
  }
  if (arms.empty()) return;
  const std::string whose = fmt::format("{}", fmt::join(arms, ", "));
  say(out, traced
               ? fmt::format("All {} seeds take the step times of one trace ({}), so there is no interval. "
                             "trace_resample in [compute] draws other step times for each seed.",
                             fewest_runs(evaluation), whose)
               : fmt::format("All {} seeds give the same times ({}), so there is no interval.",
                             fewest_runs(evaluation), whose));
}

// The meaning of the intervals of a calibrated cluster.
void say_predicted(std::string& out, const Evaluation& evaluation) {
  double share = 0;
  bool predicted = false;
  for (const Aggregate& one : evaluation.aggregates) {
    if (!one.predicted && !(one.versus && one.versus->predicted)) continue;
    predicted = true;
    share = std::max(share, one.cell->runs.front().predicts.value_or(0));
  }
  if (!predicted) return;
  say(out,
      fmt::format(
          "predicted: each seed draws what the log leaves open about the cluster. An interval holds the "
          "time, or the ratio, of the next real run in 95 % of cases. About {:.0f} % of the variance "
          "of computations comes from the fit, so a longer log makes it narrower; the rest is the chance of "
          "a run.",
          100 * share));
}

// Without a target an arm may be fast because it learns less.
void say_quality(std::string& out, const Evaluation& evaluation) {
  if (!evaluation.unequal_quality) return;
  constexpr std::size_t most = 3;  // sentences
  std::size_t said = 0;
  for (const Aggregate& one : evaluation.aggregates) {
    if (one.better == nullptr || !one.time || !one.better->time || one.time->mean >= one.better->time->mean ||
        ++said > most)
      continue;
    const auto end = [](const Aggregate& a) {
      const Statistic *accuracy = a.measure("final_accuracy"), *loss = a.measure("final_loss");
      std::string text = loss == nullptr ? "no loss" : fmt::format("loss {:.4g}", loss->mean);
      return accuracy == nullptr ? text : text + fmt::format(", accuracy {:.4g} %", 100 * accuracy->mean);
    };
    say(out, fmt::format("{} ends before {}, but learns clearly less ({}; {}).", cell_label(*one.cell),
                         arm_label(one.better->cell->arm), end(one), end(*one.better)));
  }
  say(out,
      "The arms end with unequal quality, so no arm wins. With a target in [training] (psim explain "
      "training.target), times are compared at the same quality.");
}

// Without a target a run may be short because it learns from fewer samples.
void say_samples(std::string& out, const Study& study, const Evaluation& evaluation) {
  if (evaluation.has_target) return;
  constexpr double visible = 0.005;
  std::vector<std::string> arms;
  for (const Aggregate& one : evaluation.aggregates) {
    const auto base = std::ranges::find_if(evaluation.aggregates, [&](const Aggregate& other) {
      return other.cell->arm == study.baseline && other.cell->condition == one.cell->condition;
    });
    if (!one.versus || base == evaluation.aggregates.end() || one.fails() || base->fails()) continue;
    const Statistic *mine = one.measure("samples_per_s"), *theirs = base->measure("samples_per_s");
    if (mine == nullptr || theirs == nullptr || !(mine->mean > 0) || !(theirs->mean > 0)) continue;
    const double pace = mine->mean / theirs->mean, work = pace * one.time->mean / base->time->mean;
    if (std::abs(work - 1) < visible) continue;
    arms.push_back(
        fmt::format("{} learned from {:.3g} times as many samples as {}; at equal samples it is "
                    "{:.3g}x {}",
                    cell_label(*one.cell), work, arm_label(study.baseline), std::max(pace, 1 / pace),
                    pace < 1 ? "slower" : "faster"));
  }
  constexpr std::size_t most = 4;
  if (arms.empty()) return;
  const std::string more = arms.size() > most ? fmt::format("; and {} more rows", arms.size() - most) : "";
  arms.resize(std::min(most, arms.size()));
  say(out,
      fmt::format("Times of runs with unequal samples: {}{} (column samples).", fmt::join(arms, ". "), more));
}

void say_comparisons(std::string& out, const Study& study, const Evaluation& evaluation) {
  const auto has = [&](const auto& holds) {
    return any(evaluation, [&](const Aggregate& a) { return a.versus && holds(*a.versus); });
  };
  if (!has([](const VersusBaseline&) { return true; })) return;
  if (!compares_times(evaluation)) {
    const bool any_reached = any(evaluation, [](const Aggregate& a) { return a.reached > 0; });
    const bool any_stuck = any(evaluation, [](const Aggregate& a) { return !a.time && !a.time_to_target; });
    const std::string who = any_stuck ? "The arms that did not get stuck" : "All arms";
    return say(out, !has(are_all_cut) ? who + " take the same time (to 0.5 %), so times are not compared."
                    : any_reached
                        ? "No two runs are known to have different times to the target: the longer run "
                          "reached it only after the shorter run had ended. So times are not compared."
                        : "No run reached the target, so times are not compared.");
  }
  const bool has_intervals = has([](const VersusBaseline& v) { return v.pairs.seeds > 1 && v.replicates; });
  say(out, fmt::format("versus baseline ({}): ratio of times seed by seed, because runs with one seed have "
                       "the same data, draws and stragglers; geometric mean{}.",
                       arm_label(study.baseline),
                       has_intervals ? ", [95 % interval], and the seeds with which the arm is faster" : ""));
  say_who_reached(out, evaluation);
  const auto judged = [](const VersusBaseline& v) {
    return v.pairs.seeds > 1 && v.replicates && !decides_by_reached(v);
  };
  if (has([&](const VersusBaseline& v) { return judged(v) && !sees_difference(v); }))
    say(out,
        "no difference seen: the 95 % interval of the ratio includes 1. More seeds may show a difference.");
  if (has([&](const VersusBaseline& v) { return judged(v) && sees_difference(v) && !v.pairs.trustworthy; }))
    say(out, fmt::format("`~`: with fewer than {} seeds, or equal differences for all seeds, an interval may "
                         "be too narrow (docs/statistics.md).",
                         statistics::fewest_seeds));
  if (has(fails_holm))
    say(out, fmt::format("`?`: after Holm's correction for {} tests the p value is above 0.05.",
                         evaluation.family.tests));
  say_family(out, evaluation);
  if (any(evaluation, [](const Aggregate& a) { return a.versus && a.versus->pairs.seeds < a.n; }))
    say(out, "Some arm has seeds that the baseline lacks: they count for its mean, not for its ratio.");
}

// Why cells are empty or count fewer runs.
void say_gaps(std::string& out, const Study& study, const Evaluation& evaluation) {
  const TableView view{.study = study, .evaluation = evaluation};
  const std::size_t conditions = conditions_of(study).size();
  const bool compares = study.cells.size() > conditions;
  if (compares && any(evaluation, [&](const Aggregate& a) { return !a.versus && !is_baseline(view, a); }))
    say(out,
        "versus baseline `-`: the arms have no common seed, a run got stuck without a target, or only one "
        "arm has a target.");
  if (any(evaluation, [](const Aggregate& a) {
        return std::ranges::any_of(a.measures, [&](const auto& m) { return m.second.n < a.n; });
      }))
    say(out,
        "(k/n) after a mean: only k of n runs have the value. A diverged run has no loss, so such a mean "
        "covers only the other runs.");
}

// A run may reach its target on the validation set and still miss the same number on the test set.
void say_where_judged(std::string& out, const Study& study) {
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      const Json& summary = run.summary;
      const auto on = [&](const char* what) {
        return summary.value(Json::json_pointer(std::string("/evaluated_on/") + what), Json());
      };
      if (!summary["target"]["given"].get<bool>() || on("target") != "validation" || on("final") != "test")
        continue;
      return say(
          out,
          "Runs reach the target on the validation set; final loss and accuracy are over the test set, which "
          "nothing else uses. So a run that reached the target may show a worse final value.");
    }
  }
}

// The settings of the tuned rows, and the cost of finding them.
void say_tuning(std::string& out, const Study& study) {
  const Json& tuning = study.tuning;
  if (tuning.is_null()) return;
  say(out, fmt::format(
               "tuned: the best of {} settings for each row ({}, by {} on the validation set); this took {} "
               "trials and {:.4g} simulated seconds.",
               tuning["settings_per_arm"].get<std::size_t>(), tuning["method"].get<std::string>(),
               tuning["measure"].get<std::string>(), tuning["trials"].get<std::size_t>(),
               tuning["simulated_s"].get<double>()));
  for (const Json& best : tuning["best"]) {
    std::vector<std::string> words{arm_label(best["arm"])};
    for (const Json& label : best["condition"]) words.push_back(label);
    std::string line = fmt::format("  {}: {}", fmt::join(words, ", "),
                                   fmt::join(best["sets"].get<std::vector<std::string>>(), ", "));
    if (best["score"].is_null()) line += "; no setting has a result";
    if (!best["at_edge"].empty())
      line += fmt::format("; the best {} is at the edge of the tried values: a better value may lie beyond",
                          fmt::join(best["at_edge"].get<std::vector<std::string>>(), ", "));
    say(out, line);
  }
}

}  // namespace

std::string width_line(const Study& study, const Evaluation& evaluation) {
  if (study.until_ci.is_null()) return "";
  const Json& asked = study.until_ci;
  std::string line = fmt::format("--until-ci {:.4g}%: the first {} seeds decided that {} are needed",
                                 100 * asked["half_width"].get<double>(),
                                 asked["pilot_seeds"].get<std::size_t>(), asked["seeds"].get<std::size_t>());
  if (asked["baseline"] != study.baseline)
    line += fmt::format(", with the baseline {}", arm_label(asked["baseline"]));
  const auto left_out = std::ranges::count_if(
      evaluation.aggregates, [](const Aggregate& a) { return a.versus && !has_width(*a.versus); });
  const std::string but = left_out == 0 ? ""
                                        : fmt::format(
                                              " {} of the comparisons {} left out: reaching the target "
                                              "decides, both arms mostly missed it, or seeds change no time.",
                                              left_out, left_out == 1 ? "is" : "are");
  if (!evaluation.width) return line + "." + but;
  line +=
      fmt::format("; the widest interval reaches {:.3g} % beyond its ratio", 100 * evaluation.width->widest);
  return line + (evaluation.width->narrow
                     ? ": as narrow as asked." + but
                     : ": wider than asked, because the first seeds scattered less than all seeds. A smaller "
                       "percentage or more --seeds makes it narrower." +
                           but);
}

std::string meaning_of_marks(const Evaluation& evaluation, const TableOptions& options) {
  const bool predicts = any(evaluation, [](const Aggregate& a) { return a.predicted; });
  const bool is_brief = options.columns.empty() && !options.wide;
  return std::string("[a, b]: ") +
         (predicts ? "the next run of the real cluster, see below"
                   : "95 % interval; of a time, of its mean over seeds (Student's t)") +
         (is_brief ? "." : ". ±: standard deviation over seeds.");
}

std::string remarks(const Study& study, const Evaluation& evaluation, const TableOptions& options) {
  std::string out;
  std::set<std::string> runs;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) runs.insert(run.run);
  }
  if (fewest_runs(evaluation) > 1) say(out, meaning_of_marks(evaluation, options));
  else if (runs.size() > 1)
    say(out,
        "A single seed says nothing about the spread over seeds, so there is no interval. --seeds 10 runs "
        "ten seeds.");
  say_times(out, evaluation);
  say_medians(out, evaluation);
  for (const std::string& text : remarks_on_looks(evaluation)) say(out, text);
  say_where_judged(out, study);
  say_comparisons(out, study, evaluation);
  say_replicates(out, evaluation);
  say_predicted(out, evaluation);
  say_quality(out, evaluation);
  say_samples(out, study, evaluation);
  if (!study.until_ci.is_null()) say(out, width_line(study, evaluation));
  say_gaps(out, study, evaluation);
  say_tuning(out, study);
  if (!evaluation.profiles.empty())
    say(out, "score (AlgoPerf): 1 = fastest everywhere; 0 = at least 4x the best time everywhere.");
  if (!out.empty() && !evaluation.notes.empty()) out += "\n";
  for (const StudyNote& note : evaluation.notes) {
    const std::string where = runs.size() == 1
                                  ? ""
                                  : fmt::format("   ({} of {} runs; these numbers: {}, seed {})", note.runs,
                                                runs.size(), cell_label(*note.cell), note.seed);
    say(out, fmt::format("note: {}{}", note.text, where));
  }
  std::string lines;
  for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    lines += paragraph(std::string_view(out).substr(at, out.find('\n', at) - at), options.width);
  return lines;
}

namespace {

constexpr double coarse = 0.05;  // of a mean time
constexpr double alike = 1.5;    // ratio of two arms' updates in a clock

// Mean updates per clock of a worker, over all runs; none if no clock was finished.
std::optional<double> updates_per_clock(const Cell& cell) {
  double updates = 0, clocks = 0;
  for (const StudyRun& run : cell.runs) {
    const Json workers = run.summary.value("workers", Json::array());  // runs of older versions have none
    updates += run.summary["updates"].get<double>() * static_cast<double>(workers.size());
    clocks += run.summary.value("steps", 0.0);
  }
  return updates > 0 && clocks > 0 ? std::optional(updates / clocks) : std::nullopt;
}

// "50 updates"; empty if evaluations do not depend on updates, or if there is no target.
std::string looked_at_every(const Cell& cell) {
  for (const StudyRun& run : cell.runs) {
    const Json every = run.summary.value("evaluate_every", Json());
    if (run.summary["target"]["given"] == true && every.is_string() &&
        every.get<std::string>().find("update") != std::string::npos)
      return every;
  }
  return {};
}

std::string coarse_grid(const Evaluation& evaluation) {
  std::vector<std::string> rows;
  double most = 0;
  for (const Aggregate& one : evaluation.aggregates) {
    const Statistic* bracket = one.measure("target_bracket_s");
    if (bracket == nullptr || !one.time_to_target) continue;
    const double share = bracket->mean / one.time_to_target->restricted_mean_s;
    if (!(share > coarse)) continue;
    rows.push_back(cell_label(*one.cell));
    most = std::max(most, share);
  }
  if (rows.empty()) return {};
  constexpr std::size_t few = 4;
  const std::size_t more = rows.size() > few ? rows.size() - few : 0;
  rows.resize(rows.size() - more);
  return fmt::format(
      "The gap between the evaluation that first showed the target and the evaluation before it is up to "
      "{:.0f} % of the time to the target ({}{}): these times are uncertain by that much. A shorter "
      "training.evaluate_every makes them more exact.",
      100 * most, fmt::join(rows, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

std::string uneven_looks(const Evaluation& evaluation) {
  for (const Aggregate& one : evaluation.aggregates) {
    const std::string every = looked_at_every(*one.cell);
    const std::optional<double> here = updates_per_clock(*one.cell);
    if (every.empty() || !here) continue;
    for (const Aggregate& other : evaluation.aggregates) {
      const std::optional<double> there = updates_per_clock(*other.cell);
      if (other.cell->condition != one.cell->condition || looked_at_every(*other.cell).empty() || !there ||
          *here < alike * *there)
        continue;
      return fmt::format(
          "{} makes {:.3g} times as many updates in a clock as {}, so with evaluate_every = \"{}\" it is "
          "evaluated that much more often, and one lucky evaluation is enough. \"N samples\" treats all arms "
          "alike, and training.target.hold requires several evaluations in a row.",
          cell_label(*one.cell), *here / *there, cell_label(*other.cell), every);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> remarks_on_looks(const Evaluation& evaluation) {
  std::vector<std::string> texts{coarse_grid(evaluation), uneven_looks(evaluation)};
  std::erase(texts, "");
  return texts;
}

}  // namespace psim::analysis
