// The results of a study: runs by arm, condition and seed, and statistics over them. Reads only summaries;
// independent of the simulator. docs/statistics.md has the formulas.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/statistics/paired_comparison.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "sim/record/summary_schema.hpp"

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// A study with [tune] has each arm twice: the last condition axis is this one, with these labels.
inline constexpr const char *tuning_axis = "tuning", *untuned = "untuned", *tuned = "tuned";

struct StudyRun {
  std::string run;  // the hash of its scenario
  std::int64_t seed = 0;
  Json summary;           // "psim.summary/1"
  bool by_trace = false;  // its step times come from a file, the same for every seed
  // Seeds draw what is not known about a real cluster; the share of their variance that is the fit's.
  std::optional<double> predicts = {};
  Json cause = {};  // short_document of causes/explain.hpp; null: unknown
};

// The runs of an arm under a condition, in the order of their seeds.
struct Cell {
  std::string arm;
  std::vector<std::string> condition;  // values of the condition axes
  std::vector<StudyRun> runs;
  // Whether its seeds draw what is not known about a real cluster.
  bool predicts() const;
  // The first run with a known cause; null: none.
  const StudyRun* explained() const;
};

struct Study {
  std::string name, title;
  std::string arm_axis;                     // "arm", or the axis whose values are the arms; empty: no axis
  std::vector<std::string> condition_axes;  // the other axes, without the seed
  std::string baseline;                     // an arm
  Json tuning = {};                         // the results of [tune], and their cost; null without [tune]
  Json until_ci = {};       // the request of --until-ci, and the decided seeds; null without it
  std::vector<Cell> cells;  // the arms' axis first where it is the slowest
};

// Mean and standard deviation (n - 1) over seeds; no sd for a single value.
struct Statistic {
  double mean = 0;
  std::optional<double> sd;
  std::size_t n = 0;
};

// The time to the target of one arm, up to its own budget. Other arms have no influence on it.
struct TimeToTarget {
  double restricted_mean_s = 0;  // mean of min(T, budget)
  std::optional<double> restricted_sd_s;
  std::optional<statistics::Interval> interval_s;  // 95 %, of the mean; absent if the spread is unknown
  std::optional<double> median_s;                  // absent: more than the budget
  double budget_s = 0;
  std::size_t cut = 0;           // number of runs that need more than the budget, or may need more
  bool by_kaplan_meier = false;  // the budgets of the runs differ
};

// How many runs reached the target, each within its own budget, over the seeds that both arms have.
struct ReachedByBoth {
  std::size_t arm = 0, baseline = 0;
  statistics::Discordant apart;  // seeds with which only one of the two arms did
  double p_value = 1;            // McNemar's
  std::optional<double> p_value_holm;
};

// The comparison of a cell with the cell of the baseline under the same condition, over the seeds that both
// have.
struct VersusBaseline {
  std::vector<statistics::Pair> values;  // by seed: times up to the budget of the pair
  statistics::PairedComparison pairs;
  double budget_s = 0;  // the smallest budget of a pair: no run gave up earlier
  // Budgets differ: with how many seeds each arm is known to be faster. Then p is that of the sign test.
  std::optional<statistics::Discordant> order = {};
  std::optional<ReachedByBoth> reached;  // if the runs have a target
  // Number of seeds with which only the arm, only the baseline, or both need more than the budget.
  std::size_t cut_arm = 0, cut_baseline = 0, cut_both = 0;
  bool replicates = true;  // false: seeds do not change the times, so nothing is known about chance
  bool predicted = false;  // the intervals are those of one further run of a real cluster
  int learns = 0;          // without a target: -1 if the arm learns clearly less, 1 if the baseline does
  // Whether the p value says something about the arms.
  bool is_test() const { return replicates && !predicted; }
  // Corrected for all tests of the family; absent: no p value, or not in the family.
  std::optional<double> p_value_holm;
};

// The tests that Holm's correction is for.
struct TestFamily {
  std::size_t tests = 0, seeds = 0;  // the fewest seeds of any of them
  std::size_t seeds_needed = 0;      // for a corrected p value of at most 0.05
};

struct Aggregate {
  const Cell* cell = nullptr;
  std::size_t n = 0;
  std::size_t reached = 0;
  std::size_t diverged = 0,
              unlearned = 0;  // runs whose last loss is no number, and those that it did not reduce
  std::optional<TimeToTarget> time_to_target;  // if the runs have a target
  std::optional<Statistic> time;               // of the whole run, if runs have no target and none got stuck
  std::optional<statistics::Interval> time_interval_s;  // 95 %, of the mean; absent for a single run
  std::optional<VersusBaseline> versus;                 // absent for the baseline, and if times are unknown
  bool pareto = true;      // no other arm of the condition is better in one measure and worse in none
  bool replicates = true;  // false: its seeds all took the same time
  bool predicted = false;  // its interval is that of one further run of a real cluster
  const Aggregate* better = nullptr;  // without a target: an arm of the condition that learns clearly more
  bool fails() const { return diverged + unlearned > 0; }
  double staleness_max = 0;
  std::map<std::string, Statistic, std::less<>> measures;  // by key, over the runs that have the measure
  const Statistic* measure(std::string_view key) const;    // null: no run has it
};

// A kind of note that some runs have.
struct StudyNote {
  std::string name, text;  // `text`: from the first run that has the note
  const Cell* cell;        // of that first run
  std::int64_t seed = 0;
  std::size_t runs = 1;  // that have the note
};

// The result of --until-ci.
struct WidthKept {
  double asked = 0, widest = 0;  // half widths of intervals of ratios, as shares of the ratios
  bool narrow = false;           // no interval is wider than asked
};

// How near the times of an arm are to the best times (statistics/time_to_target.hpp), over the conditions
// that all arms have.
struct ArmProfile {
  std::string arm;
  statistics::Profile profile;
  double score = 0;
};

struct Evaluation {
  bool has_target = false;
  // Without a target: an arm learns clearly more than another, or with other samples in an update. Then a
  // short time or many updates are no merit.
  bool unequal_quality = false, unequal_updates = false;
  std::vector<Aggregate> aggregates;  // by cell
  std::vector<ArmProfile> profiles;   // by arm; empty for a single arm or condition
  TestFamily family;
  std::optional<WidthKept> width;  // if --until-ci decided the number of seeds
  std::vector<StudyNote> notes;
};

// `study` must outlive the result. Throws std::invalid_argument if the baseline is no arm.
Evaluation evaluate(const Study& study);

// Fills in the comparisons with the baseline.
void compare_arms(const Study& study, Evaluation& evaluation);

// Whether reaching the target decides between an arm and the baseline: it does if the arms differ by more
// than chance, or if all runs of one arm and none of the other reached it. Otherwise times decide.
bool decides_by_reached(const VersusBaseline& versus);
// Whether both arms need longer than their budget with every seed: then the faster arm is unknown.
bool are_all_cut(const VersusBaseline& versus);
// Whether the ratio is meaningful. It is not if most pairs missed the target together, if reaching the target
// decides, or if seeds are no replicates.
bool has_width(const VersusBaseline& versus);
// For a comparison with a ratio: half the width of its interval, as a share of the ratio.
double half_width(const VersusBaseline& versus);
bool is_narrow(const VersusBaseline& versus, double asked);

// Groups pointers to items by condition, in the order of the first item of each group.
template <class Items, class ConditionOf>
auto grouped(Items& items, ConditionOf condition_of) {
  std::vector<std::vector<decltype(&items.front())>> groups;
  for (auto& one : items) {
    const auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return condition_of(*group.front()) == condition_of(one); });
    if (same == groups.end()) groups.push_back({&one});
    else same->push_back(&one);
  }
  return groups;
}
// The aggregates of each condition; the cells of each.
template <class Aggregates>
auto by_condition(Aggregates& aggregates) {
  return grouped(
      aggregates, [](const Aggregate& one) -> const auto& { return one.cell->condition; });
}
inline auto conditions_of(const Study& study) {
  return grouped(
      study.cells, [](const Cell& cell) -> const auto& { return cell.condition; });
}

// Fills in the Pareto front, the arms that learn clearly less, and the profiles.
void rank(const Study& study, Evaluation& evaluation);

// Whether two cells hold the same runs, because an axis has no effect together with a value of another axis.
bool same_runs(const Cell& a, const Cell& b);

// Simulated seconds that count for a run: to its target, or its whole length without a target. None if it
// missed its target or got stuck: then its length depends only on its limits.
std::optional<double> time_of(const Json& summary);

// A run for the statistics of time. Its budget is the duration of its scenario, otherwise its own length.
statistics::TimedRun timed(const StudyRun& run);

// A measure of every run, in addition to its time: the key in documents and files (with the unit), and the
// place in a summary.
struct Measure {
  const char* key;
  std::optional<SummaryPath> path = {};
  double scale = 1;
  const char* with = nullptr;                 // only in documents that also have this key
  std::optional<SummaryPath> otherwise = {};  // the place if there is nothing at `path`
  Json (*compute)(const Json& summary) = nullptr;
};
std::span<const Measure> measures();
// Null if the run lacks it.
Json value_of(const Measure& measure, const Json& summary);

}  // namespace psim::analysis
