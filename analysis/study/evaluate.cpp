// Turns runs into the values of a table.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "analysis/run_record.hpp"
#include "analysis/study/figures.hpp"
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

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The time of an arm in a ranking: the median of its seeds, infinite if fewer than half of them reached the
// target; without a target the mean, infinite if a run learned nothing.
double ranked_time(const Aggregate& one) {
  if (one.time_to_target) return one.time_to_target->median_s.value_or(infinite);
  return one.time && !one.fails() ? one.time->mean : infinite;
}

// A mean that some runs lack counts as the worst value: a mean over the other runs would favour arms that
// diverge.
double mean_or(const Aggregate& one, const char* key, double worst) {
  const Statistic* found = one.measure(key);
  return found == nullptr || found->n < one.n ? worst : found->mean;
}

// With a target all arms stop at the same quality, so final accuracy is only noise around the target.
void find_front(const std::vector<Aggregate*>& condition) {
  using statistics::Better;
  constexpr std::array<Better, 3> columns{Better::smaller, Better::smaller, Better::larger};
  std::vector<std::vector<double>> rows;
  for (const Aggregate* one : condition)
    rows.push_back({ranked_time(*one), mean_or(*one, "bytes_sent", infinite),
                    one->time_to_target ? 0 : mean_or(*one, "final_accuracy", -infinite)});
  const std::vector<bool> front = statistics::pareto_front(rows, columns);
  for (std::size_t i = 0; i < condition.size(); ++i)
    condition[i]->pareto = front[i] && (condition[i]->time_to_target || !condition[i]->fails());
}

// The measure of final quality, and the smallest difference that matters.
struct Quality {
  const char* key;
  bool is_better_large;
  double (*least)(double best);
};
constexpr Quality qualities[] = {
    {"final_accuracy", true, [](double) { return 0.01; }},
    {"final_loss", false, [](double best) { return 0.1 * best; }},
};

// How much worse each seed of `one` is than the same seed of `best`.
std::vector<double> shortfalls(const Cell& one, const Cell& best, const Quality& quality) {
  const Measure& measure = *std::ranges::find_if(
      measures(), [&](const Measure& m) { return std::string_view(m.key) == quality.key; });
  std::vector<double> result;
  for (const StudyRun& run : one.runs) {
    const auto other = std::ranges::find(best.runs, run.seed, &StudyRun::seed);
    if (other == best.runs.end()) continue;
    const Json mine = value_of(measure, run.summary), theirs = value_of(measure, other->summary);
    if (!mine.is_number() || !theirs.is_number()) return {};
    const double less = theirs.get<double>() - mine.get<double>();
    result.push_back(quality.is_better_large ? less : -less);
  }
  return result;
}

bool is_clearly_worse(const Aggregate& one, const Aggregate& best, const Quality& quality) {
  if (one.measure(quality.key) == nullptr || one.measure(quality.key)->n < one.n) return true;
  const std::vector<double> less = shortfalls(*one.cell, *best.cell, quality);
  if (less.empty() || statistics::mean_of(less) <= quality.least(best.measure(quality.key)->mean))
    return false;
  const auto interval = statistics::student_interval(less);
  return !interval || interval->low > 0;
}

// Which arms learn clearly less or more than the baseline.
void compare_quality(const std::vector<Aggregate*>& condition, const std::string& baseline) {
  const auto base =
      std::ranges::find(condition, baseline, [](const Aggregate* one) { return one->cell->arm; });
  for (const Quality& quality : qualities) {
    for (Aggregate* one : condition) {
      if (base == condition.end() || !one->versus || one->time_to_target || one->versus->learns != 0)
        continue;
      const bool mine = one->measure(quality.key) != nullptr,
                 theirs = (*base)->measure(quality.key) != nullptr;
      if (theirs && is_clearly_worse(*one, **base, quality)) one->versus->learns = -1;
      else if (mine && is_clearly_worse(**base, *one, quality)) one->versus->learns = 1;
    }
  }
}

void find_clearly_worse(const std::vector<Aggregate*>& condition) {
  for (const Quality& quality : qualities) {
    const Aggregate* best = nullptr;
    for (const Aggregate* one : condition) {
      const Statistic* value = one->measure(quality.key);
      if (one->time_to_target || value == nullptr || value->n < one->n) continue;
      const double ahead = best == nullptr ? 1 : value->mean - best->measure(quality.key)->mean;
      if (best == nullptr || (quality.is_better_large ? ahead > 0 : ahead < 0)) best = one;
    }
    if (best == nullptr) continue;
    for (Aggregate* one : condition) {
      if (one != best && one->better == nullptr && !one->time_to_target &&
          is_clearly_worse(*one, *best, quality))
        one->better = best;
    }
  }
}

}  // namespace

void rank(const Study& study, Evaluation& evaluation) {
  const std::vector<std::string> arms = arms_of(study);
  std::vector<std::vector<double>> times(arms.size());
  for (const std::vector<Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    find_front(condition);
    find_clearly_worse(condition);
    compare_quality(condition, study.baseline);
    evaluation.unequal_quality =
        evaluation.unequal_quality || std::ranges::any_of(condition, [](const Aggregate* one) {
          return one->better != nullptr || (!one->time_to_target && one->fails());
        });
    if (condition.size() < arms.size()) continue;  // the study is not complete
    if (!study.tuning.is_null() && condition.front()->cell->condition.back() == untuned) continue;
    for (const Aggregate* one : condition)
      times[static_cast<std::size_t>(std::ranges::find(arms, one->cell->arm) - arms.begin())].push_back(
          ranked_time(*one));
  }
  const bool positive = std::ranges::all_of(times, [](const std::vector<double>& own) {
    return std::ranges::all_of(own, [](double t) { return t > 0; });
  });
  if (arms.size() < 2 || times.front().size() < 2 || !positive || evaluation.unequal_quality) return;
  std::vector<statistics::Profile> profiles = statistics::performance_profiles(times);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double score = statistics::profile_score(profiles[i]);
    evaluation.profiles.push_back({arms[i], std::move(profiles[i]), score});
  }
}

namespace {

using statistics::TimedRun;

constexpr double level = 0.05;  // of significance
constexpr double no_limit = std::numeric_limits<double>::infinity();

// All comparisons of all studies use the same draws.
constexpr statistics::Resampling resampling{};

// The runs of two cells with one seed.
struct SeedRuns {
  TimedRun arm, baseline;
};

std::vector<SeedRuns> common_seeds(const Cell& arm, const Cell& baseline) {
  std::map<std::int64_t, const StudyRun*> others;
  for (const StudyRun& run : baseline.runs) others.emplace(run.seed, &run);
  std::map<std::int64_t, SeedRuns> pairs;
  for (const StudyRun& run : arm.runs) {
    const auto other = others.find(run.seed);
    if (other != others.end()) pairs.emplace(run.seed, SeedRuns{timed(run), timed(*other->second)});
  }
  std::vector<SeedRuns> result;
  for (const auto& [seed, pair] : pairs) result.push_back(pair);
  return result;
}

// The date up to which the times of both runs are known: the smallest budget of those that missed the target.
// If no run did except stuck ones, any budget that is `long_enough` will do.
double budget_of(const SeedRuns& pair, double long_enough) {
  const double budget = statistics::common_budget(std::array{pair.arm, pair.baseline});
  return std::isfinite(budget) ? budget : long_enough;
}

ReachedByBoth reached_by(const std::vector<SeedRuns>& pairs) {
  ReachedByBoth both;
  for (const auto& [arm, baseline] : pairs) {
    both.arm += arm.reached;
    both.baseline += baseline.reached;
    both.apart.arm += arm.reached && !baseline.reached;
    both.apart.baseline += baseline.reached && !arm.reached;
  }
  both.p_value = statistics::mcnemar(both.apart);
  return both;
}

bool is_traced(const Cell& cell) { return std::ranges::any_of(cell.runs, &StudyRun::by_trace); }

// If seeds change nothing, nothing is known about chance: keeps the ratio, and removes interval and p value.
void forget_chance(VersusBaseline& versus) {
  versus.replicates = false;
  versus.pairs.difference.interval = {-no_limit, no_limit};
  if (versus.pairs.ratio) versus.pairs.ratio->interval = {0, no_limit};
  versus.pairs.test.p = 1;
  versus.pairs.trustworthy = false;
}

// The intervals hold the ratio and the difference of one further pair of runs.
void predict(VersusBaseline& versus) {
  std::vector<double> logs, differences;
  for (const statistics::Pair& pair : versus.values) {
    differences.push_back(pair.arm - pair.baseline);
    if (pair.arm > 0 && pair.baseline > 0) logs.push_back(std::log(pair.arm / pair.baseline));
  }
  const auto of_differences = statistics::prediction_interval(differences);
  if (!of_differences) return;
  versus.predicted = true;
  versus.pairs.difference.interval = *of_differences;
  if (versus.pairs.ratio && logs.size() == differences.size()) {
    const auto of_logs = statistics::prediction_interval(logs);
    versus.pairs.ratio->interval = {std::exp(of_logs->low), std::exp(of_logs->high)};
  }
}

// None if the arms have no seeds with times in common, or if a run without a target got stuck.
std::optional<VersusBaseline> compared(const Aggregate& arm, const Aggregate& baseline) {
  const bool has_target = arm.time_to_target.has_value();
  if (same_runs(*arm.cell, *baseline.cell) || has_target != baseline.time_to_target.has_value()) return {};
  if (!has_target && (!arm.time || !baseline.time)) return {};
  const std::vector<SeedRuns> runs = common_seeds(*arm.cell, *baseline.cell);
  if (runs.empty()) return {};
  const double long_enough =
      has_target ? std::max(arm.time_to_target->budget_s, baseline.time_to_target->budget_s) : no_limit;
  VersusBaseline versus{.values = {}, .pairs = {}, .budget_s = long_enough};
  double latest = 0;
  for (const SeedRuns& one : runs) {
    if (!has_target) {
      versus.values.push_back({one.arm.time_s, one.baseline.time_s});
      continue;
    }
    const double budget = budget_of(one, long_enough);
    versus.budget_s = std::min(versus.budget_s, budget);
    versus.values.push_back(
        {statistics::restricted_time(one.arm, budget), statistics::restricted_time(one.baseline, budget)});
    latest = std::max({latest, versus.values.back().arm, versus.values.back().baseline});
    const auto is_cut = [&](const TimedRun& run) { return !run.reached || run.time_s > budget; };
    const bool arm_cut = is_cut(one.arm), baseline_cut = is_cut(one.baseline);
    versus.cut_both += arm_cut && baseline_cut;
    versus.cut_arm += arm_cut && !baseline_cut;
    versus.cut_baseline += baseline_cut && !arm_cut;
  }
  versus.pairs = statistics::compare_pairs(versus.values, statistics::Better::smaller, resampling);
  if (latest > versus.budget_s) {
    versus.order = statistics::order_of(versus.values);
    versus.pairs.test = {.p = statistics::sign_test(*versus.order), .exact = true};
  }
  if (has_target) versus.reached = reached_by(runs);
  const bool all_alike = !arm.replicates && !baseline.replicates;
  if (runs.size() > 1 && (all_alike || is_traced(*arm.cell) || is_traced(*baseline.cell)))
    forget_chance(versus);
  else if (arm.cell->predicts() && baseline.cell->predicts()) predict(versus);
  return versus;
}

using Condition = std::vector<Aggregate*>;

const Aggregate* baseline_in(const Condition& condition, const std::string& baseline) {
  const auto found = std::ranges::find(condition, baseline, [](const Aggregate* a) { return a->cell->arm; });
  return found == condition.end() ? nullptr : *found;
}

// Whether McNemar's p can be small, given the number of seeds with which only one arm reached the target.
// This number does not depend on which arm did, so psim may leave out hopeless tests (Tarone, A modified
// Bonferroni method for discrete data, 1990).
bool can_be_significant(const ReachedByBoth& reached) {
  const std::size_t apart = reached.apart.arm + reached.apart.baseline;
  return statistics::mcnemar({.arm = apart, .baseline = 0}) <= level;
}

// Holm's correction for the tests of times and the tests of who reached the target. Two comparisons of the
// same runs (under conditions without effect on both arms) count once. The untuned rows of a study with
// [tune] only show the effect of tuning; they do not count.
void correct_for_their_number(const Study& study, Evaluation& evaluation,
                              const std::vector<Condition>& conditions) {
  struct Test {
    const Cell *arm, *baseline;
    double p;
    bool of_reached;
  };
  std::vector<Test> tests;
  std::vector<std::pair<std::optional<double>*, std::size_t>> members;
  const auto add = [&](const Test& test, std::optional<double>& into) {
    const auto same = std::ranges::find_if(tests, [&](const Test& other) {
      return other.of_reached == test.of_reached && same_runs(*other.arm, *test.arm) &&
             same_runs(*other.baseline, *test.baseline);
    });
    members.emplace_back(&into, static_cast<std::size_t>(same - tests.begin()));
    if (same == tests.end()) tests.push_back(test);
  };
  TestFamily& family = evaluation.family;
  for (const Condition& condition : conditions) {
    const Aggregate* base = baseline_in(condition, study.baseline);
    if (!study.tuning.is_null() && condition.front()->cell->condition.back() == untuned) continue;
    for (Aggregate* one : condition) {
      if (!one->versus || !one->versus->is_test()) continue;
      VersusBaseline& versus = *one->versus;
      if (!are_all_cut(versus)) add({one->cell, base->cell, versus.pairs.test.p, false}, versus.p_value_holm);
      if (versus.reached && can_be_significant(*versus.reached))
        add({one->cell, base->cell, versus.reached->p_value, true}, versus.reached->p_value_holm);
      family.seeds = family.seeds == 0 ? versus.pairs.seeds : std::min(family.seeds, versus.pairs.seeds);
    }
  }
  std::vector<double> p;
  for (const Test& test : tests) p.push_back(test.p);
  const std::vector<double> corrected = statistics::holm(p);
  for (const auto& [into, test] : members) *into = corrected[test];
  family.tests = tests.size();
  family.seeds_needed = statistics::seeds_for_holm(tests.size(), level);
}

}  // namespace

void compare_arms(const Study& study, Evaluation& evaluation) {
  const std::vector<Condition> conditions = by_condition(evaluation.aggregates);
  for (const Condition& condition : conditions) {
    const Aggregate* base = baseline_in(condition, study.baseline);
    for (Aggregate* one : condition) {
      if (base != nullptr) one->versus = compared(*one, *base);
    }
  }
  correct_for_their_number(study, evaluation, conditions);
}

bool are_all_cut(const VersusBaseline& versus) {
  return versus.reached && versus.cut_both == versus.pairs.seeds;
}

bool decides_by_reached(const VersusBaseline& versus) {
  if (!versus.reached) return false;
  const ReachedByBoth& reached = *versus.reached;
  const std::size_t seeds = versus.pairs.seeds;
  const bool all_or_none =
      (reached.arm == 0 && reached.baseline == seeds) || (reached.baseline == 0 && reached.arm == seeds);
  return all_or_none || reached.p_value <= level;
}

bool has_width(const VersusBaseline& versus) {
  return versus.pairs.ratio && versus.is_test() && !decides_by_reached(versus) &&
         2 * versus.cut_both < versus.pairs.seeds;
}

double half_width(const VersusBaseline& versus) {
  const statistics::Estimate& ratio = *versus.pairs.ratio;
  return ratio.interval.high / ratio.value - 1;
}

bool is_narrow(const VersusBaseline& versus, double asked) {
  constexpr double rounding = 1e-12;
  return half_width(versus) <= asked + rounding;
}

}  // namespace psim::analysis
