// The results of a study: runs by arm, condition and seed, and what they say together. Reads summaries only;
// knows nothing of the simulator. docs/statistics.md has the formulas.
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
#include "analysis/statistics/profiles.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "sim/record/summary_path.hpp"

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// A study with [tune] has each arm twice: a last condition axis, and its labels.
inline constexpr const char *tuning_axis = "tuning", *untuned = "untuned", *tuned = "tuned";

struct StudyRun {
  std::string run;  // its scenario's hash
  std::int64_t seed = 0;
  Json summary;           // "psim.summary/1"
  bool by_trace = false;  // its step times are those of a file, the same for every seed
  Json cause = {};        // why it took as long as it did (causes/explain.hpp); null: it is not known
};

// The runs of an arm under a condition, in the order of their seeds.
struct Cell {
  std::string arm;
  std::vector<std::string> condition;  // by the study's condition axes
  std::vector<StudyRun> runs;
  // Null: none has been explained.
  const StudyRun* explained() const;
};

struct Study {
  std::string name, title;
  std::string arm_axis;                     // "arm", or the axis whose values are the arms; empty: no axis
  std::vector<std::string> condition_axes;  // the others, without the seed
  std::string baseline;                     // an arm
  Json tuning = {};                         // what [tune] found, and what that took; null without it
  Json until_ci = {};  // what --until-ci was asked for, and the seeds that it decided on; null without it
  std::vector<Cell> cells;  // the arms' axis first where it is the slowest
};

// Mean and standard deviation (n - 1) over seeds; sd is absent for a single value.
struct Statistic {
  double mean = 0;
  std::optional<double> sd;
  std::size_t n = 0;
};

// The time to the target of one arm, up to a budget of its own: what other arms did changes nothing.
struct TimeToTarget {
  double restricted_mean_s = 0;  // mean of min(T, budget)
  std::optional<double> restricted_sd_s;
  std::optional<statistics::Interval>
      interval_s;                  // 95 %, of the mean; absent where nothing is known of a spread
  std::optional<double> median_s;  // absent: more than the budget
  double budget_s = 0;
  std::size_t cut = 0;           // runs that need more than the budget, or are not known to need less
  bool by_kaplan_meier = false;  // the runs' own budgets differ
};

// Who reached the target, each run within its own budget, over the seeds that both arms have.
struct ReachedByBoth {
  std::size_t arm = 0, baseline = 0;
  statistics::Discordant apart;  // runs of seeds under which only one of the two did
  double p_value = 1;            // McNemar's
  std::optional<double> p_value_holm;
};

// The cell against the baseline's cell of the same condition, over the seeds that both have.
struct VersusBaseline {
  std::vector<statistics::Pair> values;  // by seed: times up to the budget
  statistics::PairedComparison pairs;
  double budget_s = 0;                   // of these two arms: neither gave up before
  std::optional<ReachedByBoth> reached;  // where the runs have a target
  // Seeds under which the arm needs more than the budget, the baseline does, and both do.
  std::size_t cut_arm = 0, cut_baseline = 0, cut_both = 0;
  bool replicates = true;              // false: seeds do not change the times, so they say nothing of chance
  std::optional<double> p_value_holm;  // over all tests of the family; absent: none, or no part of it
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
  std::optional<TimeToTarget> time_to_target;  // where the runs have a target
  std::optional<Statistic> time;               // of the whole run, where they have none and none got stuck
  std::optional<statistics::Interval> time_interval_s;  // 95 %, of its mean; absent for a single run
  std::optional<VersusBaseline> versus;  // absent for the baseline's runs, and where times are not known
  bool pareto = true;      // no arm of the condition is better in one of what counts, and worse in none
  bool replicates = true;  // false: its seeds all took the same time
  const Aggregate* better = nullptr;  // without a target: an arm of the condition that learned clearly more
  double staleness_max = 0;
  std::map<std::string, Statistic, std::less<>> measures;  // over the runs that have them, by key
  const Statistic* measure(std::string_view key) const;    // null: no run has it
};

// A kind of note that some runs have.
struct StudyNote {
  std::string name, text;  // the text is that of ...
  const Cell* cell;        // ... the first run that has it
  std::int64_t seed = 0;
  std::size_t runs = 1;  // that have it
};

// What became of the width that --until-ci was asked for.
struct WidthKept {
  double asked = 0, widest = 0;  // half widths of intervals of ratios, as shares of the ratios
  bool narrow = false;           // the widest is no wider than asked
};

// How near an arm's times are to the best ones (statistics/profiles.hpp), over the conditions that all arms
// have.
struct ArmProfile {
  std::string arm;
  statistics::Profile profile;
  double score = 0;
};

struct Evaluation {
  bool has_target = false;
  std::vector<Aggregate> aggregates;  // by cell
  std::vector<ArmProfile> profiles;   // by arm; none for a single arm or condition
  TestFamily family;
  std::optional<WidthKept> width;  // where --until-ci has decided on the seeds
  std::vector<StudyNote> notes;
};

// `study` must outlive what is returned. Throws std::invalid_argument where the baseline is no arm.
Evaluation evaluate(const Study& study);

// Fills in the comparisons with the baseline.
void compare_arms(const Study& study, Evaluation& evaluation);

// What decides between an arm and the baseline: who reached the target, if that differs by more than chance,
// or all did of one and none of the other; the times otherwise.
bool decides_by_reached(const VersusBaseline& versus);
// Whether both arms need longer than their budget under every seed: then nobody knows which is the faster
// one.
bool are_all_cut(const VersusBaseline& versus);
// Whether a ratio says how long the arms take: not where most pairs missed the target together, where who
// reached it decides, and where seeds are no replicates.
bool has_width(const VersusBaseline& versus);
// Of a comparison with a ratio: half the width of its interval, as a share of it.
double half_width(const VersusBaseline& versus);
bool is_narrow(const VersusBaseline& versus, double asked);

// Pointers to items with the same condition in groups, in the order of the first of each.
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

// Fills in who is on the Pareto front, which arms learned clearly less, and the profiles.
void rank(const Study& study, Evaluation& evaluation);

// Whether two cells hold the same runs, because an axis has no meaning beside another one's value.
bool same_runs(const Cell& a, const Cell& b);

// Simulated seconds that count for a run: to its target, or its whole length when it has none. Nothing when
// it missed its target, or got stuck without one: its length is what psim's patience makes it.
std::optional<double> time_of(const Json& summary);

// A run for the statistics of its time: its budget is its scenario's duration, or else its own length.
statistics::TimedRun timed(const StudyRun& run);

// What is measured of every run, beside its time: its key in documents and files, which has its unit, and
// where a summary has it.
struct Measure {
  const char* key;
  std::optional<SummaryPath> path = {};
  double scale = 1;
  const char* with = nullptr;  // in documents where they have this one
  Json (*compute)(const Json& summary) = nullptr;
};
std::span<const Measure> measures();
// Null where the run does not have it.
Json value_of(const Measure& measure, const Json& summary);

}  // namespace psim::analysis
