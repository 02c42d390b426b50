// What a study's table does not say by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/study/labels.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"
#include "analysis/study/text_table.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t line_width = 100;

void say(std::string& out, const std::string& text) {
  for (const std::string& line : wrapped(text, line_width)) out += line + "\n";
}

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
        fmt::format("`>=`: {} run{} missed the target within the budget of {:.4g} s{}, and count{} with it: "
                    "the mean is at least this.",
                    cut, cut == 1 ? "" : "s", *budgets.begin(),
                    budgets.size() > 1 ? fmt::format(" (up to {:.4g} s)", *budgets.rbegin()) : std::string(),
                    cut == 1 ? "s" : ""));
  if (any(evaluation,
          [](const Aggregate& a) { return a.time_to_target && a.time_to_target->by_kaplan_meier; }))
    say(out,
        "The runs' own budgets differ, so mean times are areas under Kaplan-Meier curves; give all runs one "
        "training.duration to compare them more simply.");
}

void say_comparisons(std::string& out, const Study& study, const Evaluation& evaluation) {
  const auto has = [&](const auto& holds) {
    return any(evaluation, [&](const Aggregate& a) { return a.versus && holds(*a.versus); });
  };
  if (!has([](const VersusBaseline&) { return true; })) return;
  if (!compares_times(evaluation)) return say(out, "All runs take the same time, so times are not compared.");
  const auto compared =
      std::ranges::count_if(evaluation.aggregates, [](const Aggregate& a) { return a.versus.has_value(); });
  say(out,
      fmt::format(
          "versus baseline ({}): ratio of times seed by seed, because a seed gives both the same data, "
          "draws and stragglers; geometric mean{}.",
          arm_label(study.baseline),
          fewest_runs(evaluation) > 1 ? ", [its 95 % interval], and the seeds under which the arm is faster"
                                      : ""));
  if (has([](const VersusBaseline& v) { return v.pairs.seeds > 1 && !sees_difference(v); }))
    say(out, "no difference seen: the 95 % interval of the ratio holds 1. More seeds may show one.");
  if (has([](const VersusBaseline& v) {
        return v.pairs.seeds > 1 && sees_difference(v) && !v.pairs.trustworthy;
      }))
    say(out,
        fmt::format(
            "`~`: with fewer than {} seeds, or the same difference under all, an interval may be too narrow "
            "(docs/statistics.md).",
            statistics::fewest_seeds));
  if (has(fails_holm))
    say(out,
        fmt::format("`?`: after Holm's correction for {} comparisons the p value is above 0.05.", compared));
  for (const Aggregate& one : evaluation.aggregates) {
    if (!one.versus || !one.time_to_target || one.versus->budget_s >= one.time_to_target->budget_s) continue;
    say(out, fmt::format(
                 "The ratio compares times up to {:.4g} s, which is as long as every run went on; the means "
                 "beside it go further.",
                 one.versus->budget_s));
    break;
  }
  if (any(evaluation, [](const Aggregate& a) { return a.versus && a.versus->pairs.seeds < a.n; }))
    say(out, "Some arm has seeds that the baseline lacks: they count for its mean, not for its ratio.");
}

// Why cells are empty, or count fewer runs.
void say_gaps(std::string& out, const Study& study, const Evaluation& evaluation) {
  const TableView view{.study = study, .evaluation = evaluation};
  const std::size_t conditions = conditions_of(study).size();
  const bool compares = study.cells.size() > conditions;
  if (compares && any(evaluation, [&](const Aggregate& a) { return !a.versus && !is_baseline(view, a); }))
    say(out,
        "versus baseline `-`: no seed that both have, a run that got stuck without a target, or a target "
        "that "
        "only one of them has.");
  if (any(evaluation, [](const Aggregate& a) {
        return std::ranges::any_of(a.measures, [&](const auto& m) { return m.second.n < a.n; });
      }))
    say(out,
        "(k/n) behind a mean: only k of n runs have the value. A loss is missing where a run diverged: such "
        "a "
        "mean is one over the runs that did not.");
}

// A run may reach its target by one set of samples, and miss the same number by the other.
void say_where_judged(std::string& out, const Study& study) {
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      const Json& summary = run.summary;
      const auto on = [&](const char* what) {
        return summary.value(Json::json_pointer(std::string("/evaluated_on/") + what), Json());
      };
      if (!summary["target"]["given"].get<bool>() || on("target") != "validation" || on("final") != "test")
        continue;
      return say(out,
                 "The target is judged on the validation set; final loss and accuracy are over the test set, "
                 "which nothing else looks at. So a run that reached a target may show less than it.");
    }
  }
}

// Which settings the tuned rows have, and what finding them took.
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
    if (best["score"].is_null()) line += "; no setting has a result to judge by";
    if (!best["at_edge"].empty())
      line += fmt::format("; the best {} is at the edge of what was tried: a better one may lie beyond",
                          fmt::join(best["at_edge"].get<std::vector<std::string>>(), ", "));
    say(out, line);
  }
}

}  // namespace

std::string width_line(const Study& study, const Evaluation& evaluation) {
  if (study.until_ci.is_null()) return "";
  const Json& asked = study.until_ci;
  std::string line = fmt::format("--until-ci {:.4g}%: {} seeds have decided that {} are needed",
                                 100 * asked["half_width"].get<double>(),
                                 asked["pilot_seeds"].get<std::size_t>(), asked["seeds"].get<std::size_t>());
  if (asked["baseline"] != study.baseline)
    line += fmt::format(", with the baseline {}", arm_label(asked["baseline"]));
  if (!evaluation.width) return line + ".";
  line += fmt::format("; the widest interval of a ratio is ± {:.3g} %", 100 * evaluation.width->widest);
  return line + (evaluation.width->narrow ? ": as narrow as asked."
                                          : ": wider than asked. The seeds that decided scattered less than "
                                            "all; a smaller percentage, or more --seeds, makes it narrower.");
}

std::string remarks(const Study& study, const Evaluation& evaluation) {
  std::string out;
  std::set<std::string> runs;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) runs.insert(run.run);
  }
  if (fewest_runs(evaluation) > 1)
    say(out,
        "± of a time (where all columns are shown, [a, b]): 95 % interval of its mean over seeds, by "
        "Student's t. "
        "± of other columns: standard deviation over seeds.");
  else if (runs.size() > 1)
    say(out,
        "A single seed says nothing about how far seeds scatter: there is no interval. --seeds 1,2,3,... "
        "adds some.");
  say_times(out, evaluation);
  for (const std::string& text : remarks_on_looks(evaluation)) say(out, text);
  say_where_judged(out, study);
  say_comparisons(out, study, evaluation);
  if (!study.until_ci.is_null()) say(out, width_line(study, evaluation));
  say_gaps(out, study, evaluation);
  say_tuning(out, study);
  if (!evaluation.profiles.empty())
    say(out,
        "score: how near an arm's median time is to the best one under all conditions (AlgoPerf); 1 is best "
        "everywhere, 0 nowhere within 4x.");
  if (!out.empty() && !evaluation.notes.empty()) out += "\n";
  for (const StudyNote& note : evaluation.notes) {
    const std::string where = runs.size() == 1
                                  ? ""
                                  : fmt::format("   ({} of {} runs; these numbers: {}, seed {})", note.runs,
                                                runs.size(), cell_label(*note.cell), note.seed);
    say(out, fmt::format("note: {}{}", note.text, where));
  }
  return out;
}

}  // namespace psim::analysis
