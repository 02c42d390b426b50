#include "analysis/study/table_columns.hpp"
#include "analysis/causes/words.hpp"
#include "analysis/render/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace psim::analysis {
namespace {

// Enough decimals to show three digits of a mean.
int decimals_for(double value) {
  if (!(std::abs(value) > 0)) return 1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
}

// A diverged value has too many digits to read, and a tiny value would look like 0.
std::string number_text(double value, int decimals) {
  const bool is_tiny = std::abs(value) > 0 && std::abs(value) < std::pow(10.0, -decimals) / 2;
  return std::abs(value) < 1e9 && !is_tiny ? fmt::format("{:.{}f}", value, decimals)
                                           : fmt::format("{:.3g}", value);
}

std::string mean_text(const TableView& view, const Statistic& s, int decimals, double scale = 1) {
  std::string text = number_text(scale * s.mean, decimals);
  if (s.sd && !view.brief) text += " ± " + number_text(scale * *s.sd, decimals);
  return text;
}

// "(3/5)" for a measure that some runs lack.
std::string runs_text(const Statistic& s, const Aggregate& row) {
  return s.n < row.n ? fmt::format(" ({}/{})", s.n, row.n) : "";
}

// Rounds bounds outwards: an interval never prints narrower than it is.
double rounded_down(double bound, int decimals) {
  const double unit = std::pow(10.0, decimals);
  return std::floor(bound * unit * (1 + 1e-12)) / unit;
}
double rounded_up(double bound, int decimals) {
  const double unit = std::pow(10.0, decimals);
  return std::ceil(bound * unit * (1 - 1e-12)) / unit;
}

std::string interval_text(const statistics::Interval& i, int decimals) {
  return fmt::format("[{:.{}f}, {:.{}f}]", rounded_down(i.low, decimals), decimals,
                     rounded_up(i.high, decimals), decimals);
}

std::string mean_and_interval(double mean, const std::optional<statistics::Interval>& interval,
                              int decimals) {
  return number_text(mean, decimals) + (interval ? " " + interval_text(*interval, decimals) : "");
}

std::string time_cell(const TableView& view, const Aggregate& row, const Statistic*) {
  const int decimals = decimals_for(view.slowest_s);
  if (!row.time_to_target) return "-";
  const TimeToTarget& time = *row.time_to_target;
  if (time.cut > 0) return fmt::format(">= {:.{}f}", time.restricted_mean_s, decimals);
  return mean_and_interval(time.restricted_mean_s, time.interval_s, decimals);
}

std::string length_cell(const TableView& view, const Aggregate& row, const Statistic*) {
  if (!row.time) return "-";
  const int decimals = decimals_for(view.slowest_s);
  return mean_and_interval(row.time->mean, row.time_interval_s, decimals);
}

std::string median_cell(const TableView& view, const Aggregate& row, const Statistic*) {
  if (!row.time_to_target) return "-";
  const int decimals = decimals_for(view.slowest_s);
  if (!row.time_to_target->median_s) return fmt::format("> {:.{}f}", row.time_to_target->budget_s, decimals);
  return fmt::format("{:.{}f}", *row.time_to_target->median_s, decimals);
}

std::string reached_cell(const TableView&, const Aggregate& row, const Statistic*) {
  return row.time_to_target ? fmt::format("{}/{}", row.reached, row.n) : "-";
}

std::string times_text(double ratio, int decimals) {
  return std::isfinite(ratio) ? fmt::format("{:.{}f}", ratio, decimals) : "inf";
}

// Times of both arms are cut at the budget, so the ratio of the whole times may be larger or smaller.
bool are_both_cut(const VersusBaseline& versus) {
  return versus.cut_both > 0 || (versus.cut_arm > 0 && versus.cut_baseline > 0);
}

// If only the times of one arm are cut, the ratio is a bound: ">= " if the true difference is larger than
// shown, "<= " if it is smaller.
const char* bound_of(const VersusBaseline& versus, bool faster) {
  if (are_both_cut(versus) || versus.cut_arm + versus.cut_baseline == 0) return "";
  return (versus.cut_baseline > 0) == faster ? ">= " : "<= ";
}

// The decimals of a ratio and its bounds: two below 2, and enough that no bound looks like 1 and no interval
// like a point.
int decimals_of(double ratio, double low, double high, bool has_interval) {
  const double nearest = has_interval ? low : ratio;
  const int needed = nearest > 1 ? static_cast<int>(std::ceil(-std::log10(nearest - 1))) : 1;
  const int for_width = has_interval && high > low && std::isfinite(high)
                            ? static_cast<int>(std::ceil(-std::log10(high - low)))
                            : 1;
  const int least = ratio < 2 ? 2 : ratio < 100 ? 1 : 0;
  return std::clamp(std::max(needed, std::min(for_width, 3)), least, 6);
}

// A ratio of times, as a number above 1, and the bounds of its interval.
struct ShownRatio {
  bool faster = false;
  std::string times, low, high;
};

ShownRatio shown_ratio(const VersusBaseline& versus) {
  const statistics::PairedComparison& pairs = versus.pairs;
  const statistics::Estimate& ratio = *pairs.ratio;
  const bool faster = ratio.value<1, has_interval = pairs.seeds> 1 && versus.replicates;
  const auto times = [faster](double r) { return faster ? 1 / r : r; };
  const double low = times(faster ? ratio.interval.high : ratio.interval.low);
  const double high = times(faster ? std::max(ratio.interval.low, 0.0) : ratio.interval.high);
  const int decimals = decimals_of(times(ratio.value), low, high, has_interval);
  return {.faster = faster,
          .times = times_text(times(ratio.value), decimals),
          .low = times_text(rounded_down(low, decimals), decimals),
          .high = times_text(rounded_up(high, decimals), decimals)};
}

// The number of seeds with which the arm is faster; a tie counts as half.
double wins_of(const statistics::PairedComparison& pairs) {
  return std::round(2 * pairs.better * static_cast<double>(pairs.seeds)) / 2;
}

// Up to which date both arms of a pair are compared.
std::string until_text(const VersusBaseline& versus) {
  return versus.order ? " up to their budgets" : fmt::format(" up to {:.4g} s", versus.budget_s);
}

// "2.9x faster [2.6, 3.2], 5/5": the ratio, its interval, and with how many seeds the arm is better.
std::string ratio_text(const VersusBaseline& versus) {
  const statistics::PairedComparison& pairs = versus.pairs;
  const ShownRatio shown = shown_ratio(versus);
  std::string text = fmt::format("{}{}x {}", bound_of(versus, shown.faster), shown.times,
                                 shown.faster ? "faster" : "slower");
  if (pairs.seeds == 1) return text + ", 1 seed";
  if (!versus.replicates) return text + " with every seed";
  if (versus.predicted) return text + fmt::format(", predicted [{}, {}]", shown.low, shown.high);
  text += fmt::format(" [{}, {}], {}/{}", shown.low, shown.high, wins_of(pairs), pairs.seeds);
  return are_both_cut(versus) ? text + until_text(versus) : text;
}

// Whether the ratio, and its whole interval if it has one, round to 1.
bool is_same_time(const VersusBaseline& versus) {
  constexpr double visible = 0.005;
  const statistics::PairedComparison& pairs = versus.pairs;
  const auto is_one = [](double ratio) { return std::abs(ratio - 1) < visible; };
  if (!pairs.ratio || pairs.seeds == 1 || !versus.replicates)
    return pairs.ratio && is_one(pairs.ratio->value);
  return is_one(pairs.ratio->interval.low) && is_one(pairs.ratio->interval.high);
}

// "reached by 0/10, baseline 10/10, p 0.002"
std::string reached_text(const VersusBaseline& versus) {
  const ReachedByBoth& reached = *versus.reached;
  std::string text =
      fmt::format("reached by {0}/{2}, baseline {1}/{2}", reached.arm, reached.baseline, versus.pairs.seeds);
  if (reached.p_value <= 0.05) text += fmt::format(", p {:.2g}", reached.p_value);
  return text;
}

// The comparison without its quality.
std::string compared_text(const TableView& view, const VersusBaseline& versus) {
  const statistics::PairedComparison& pairs = versus.pairs;
  if (decides_by_reached(versus)) return reached_text(versus) + (fails_holm(versus) ? " ?" : "");
  if (versus.reached && versus.reached->arm == 0 && versus.reached->baseline == 0)
    return "both missed the target";
  if (are_all_cut(versus))
    return versus.order ? "neither within its budget"
                        : fmt::format("neither within {:.4g} s", versus.budget_s);
  if (is_same_time(versus)) return pairs.seeds == 1 ? "same time, 1 seed" : "the same to 0.5 %";
  if (!sees_difference(versus)) {
    if (pairs.seeds == 1) return "same time, 1 seed";
    return view.brief || !pairs.ratio ? fmt::format("no difference seen with {} seeds", pairs.seeds)
                                      : fmt::format("no difference seen: {}", ratio_text(versus));
  }
  std::string text = pairs.ratio ? ratio_text(versus)
                                 : fmt::format("{:.3g} s {}", std::abs(pairs.difference.value),
                                               pairs.difference.value < 0 ? "faster" : "slower");
  if (pairs.seeds > 1 && versus.replicates && !pairs.trustworthy) text += " ~";
  if (fails_holm(versus)) text += " ?";
  return text;
}

// Without a target: "diverged with 2/5 seeds"; empty if each run reduced its loss.
std::string failure_text(const Aggregate& row) {
  if (row.time_to_target || !row.fails()) return "";
  const std::size_t runs = row.diverged > 0 ? row.diverged : row.unlearned;
  return (row.diverged > 0 ? "diverged" : "learned nothing") +
         (runs < row.n ? fmt::format(" with {}/{} seeds", runs, row.n) : std::string());
}

std::string versus_cell(const TableView& view, const Aggregate& row, const Statistic*) {
  const std::string failure = failure_text(row);
  if (is_baseline(view, row)) return failure.empty() ? "baseline" : "baseline, " + failure;
  if (!failure.empty()) return failure;
  if (!row.versus) return "-";
  const VersusBaseline& versus = *row.versus;
  const char* learns = versus.learns == 0 ? "" : versus.learns < 0 ? ", learns less" : ", learns more";
  return compared_text(view, versus) + learns;
}

std::string p_cell(const TableView&, const Aggregate& row, const Statistic*) {
  if (!row.versus) return "-";
  const std::optional<double> p = corrected_p(*row.versus);
  return p ? fmt::format("{:.3g}", *p) : "-";
}

std::string shares_cell(const TableView&, const Aggregate& row, const Statistic*) {
  std::string text;
  for (const char* key : {"compute_percent", "wait_percent", "network_percent"}) {
    const Statistic* share = row.measure(key);
    if (share == nullptr) return "-";
    text += fmt::format("{}{:.0f}", text.empty() ? "" : "/", share->mean);
  }
  return text;
}

std::string duration_cell(const TableView& view, const Aggregate&, const Statistic* s) {
  return seconds_text(s->mean) + (s->sd && !view.brief ? " ± " + seconds_text(*s->sd) : "");
}

std::string bracket_cell(const TableView& view, const Aggregate&, const Statistic* s) {
  return mean_text(view, *s, decimals_for(s->mean));
}

std::string staleness_cell(const TableView& view, const Aggregate& row, const Statistic* s) {
  return fmt::format("{} ({:.0f})", mean_text(view, *s, 2), row.staleness_max);
}

std::string suspected_cell(const TableView&, const Aggregate& row, const Statistic* s) {
  const Statistic* falsely = row.measure("false_suspicions");
  return falsely == nullptr ? "-" : fmt::format("{:.1f} ({:.1f})", s->mean, falsely->mean);
}

std::string bytes_cell(const TableView&, const Aggregate&, const Statistic* s) { return size_text(s->mean); }

// Like the time to the target, the mean is a lower bound: runs that missed the target have spent only a part
// of what they need.
std::string spent_cell(const TableView& view, const Aggregate& row, const Statistic* s) {
  const bool cut = row.time_to_target && row.time_to_target->cut > 0;
  return (cut ? ">= " : "") + mean_text(view, *s, decimals_for(s->mean));
}

using enum Place;
constexpr TableColumn all_columns[] = {
    {.name = "time to target", .place = first, .cell = time_cell},
    {.name = "time", .place = first, .cell = length_cell},
    {.name = "versus baseline", .place = first, .cell = versus_cell, .is_text = true},
    {.name = "reached", .place = first, .cell = reached_cell},
    {.name = "compute wait network", .place = narrow, .cell = shares_cell},
    {.name = "final loss", .place = first, .key = "final_loss", .decimals = 4},
    {.name = "accuracy", .place = first, .key = "final_accuracy", .scale = 100},
    {.name = "samples", .place = by_work, .key = "samples_per_s", .decimals = 0},
    {.name = "per update", .place = without_target, .key = "s_per_update", .cell = duration_cell},
    {.name = "recovery", .key = "recovery_s", .if_zero = IfZero::silent},
    {.name = "answer", .key = "answer_latency_s", .cell = duration_cell},
    {.name = "served staleness", .key = "served_staleness"},
    {.name = "served accuracy", .key = "served_accuracy", .scale = 100},
    {.name = "energy", .key = "energy_J", .if_zero = IfZero::silent, .cell = spent_cell},
    {.name = "cost", .key = "cost_usd", .if_zero = IfZero::silent, .cell = spent_cell},
    {.name = "absent", .key = "absent_percent", .decimals = 1, .if_zero = IfZero::silent},
    {.name = "sent", .key = "bytes_sent", .cell = bytes_cell},
    {.name = "staleness", .key = "staleness", .if_zero = IfZero::named, .cell = staleness_cell},
    {.name = "copied", .key = "copied_bytes", .if_zero = IfZero::silent, .cell = bytes_cell},
    {.name = "suspected", .key = "suspicions", .if_zero = IfZero::silent, .cell = suspected_cell},
    {.name = "updates", .key = "updates", .decimals = 0},
    {.name = "memory", .place = wide, .key = "memory_bytes", .cell = bytes_cell},
    {.name = "bracket", .place = wide, .key = "target_bracket_s", .cell = bracket_cell},
    {.name = "median", .place = wide, .cell = median_cell},
    {.name = "p", .place = wide, .cell = p_cell},
    {.name = "compute", .place = wide, .key = "compute_percent", .decimals = 1, .if_zero = IfZero::named},
    {.name = "wait", .place = wide, .key = "wait_percent", .decimals = 1, .if_zero = IfZero::named},
    {.name = "network", .place = wide, .key = "network_percent", .decimals = 1, .if_zero = IfZero::named},
};

}  // namespace

std::span<const TableColumn> table_columns() { return all_columns; }

std::string cell_text(const TableColumn& column, const TableView& view, const Aggregate& row) {
  if (column.key == nullptr) return column.cell(view, row, nullptr);
  const Statistic* s = row.measure(column.key);
  if (s == nullptr) return "-";
  return (column.cell != nullptr ? column.cell(view, row, s)
                                 : mean_text(view, *s, column.decimals, column.scale)) +
         runs_text(*s, row);
}

bool is_known(const TableColumn& column, const TableView& view, const Aggregate& row) {
  return column.key != nullptr ? row.measure(column.key) != nullptr : column.cell(view, row, nullptr) != "-";
}

bool compares_times(const Evaluation& evaluation) {
  return std::ranges::any_of(evaluation.aggregates, [](const Aggregate& a) {
    return a.versus &&
           (decides_by_reached(*a.versus) || (!is_same_time(*a.versus) && !are_all_cut(*a.versus)));
  });
}

bool is_baseline(const TableView& view, const Aggregate& row) {
  return row.cell->arm == view.study.baseline || std::ranges::any_of(view.study.cells, [&](const Cell& cell) {
           return cell.arm == view.study.baseline && cell.condition == row.cell->condition &&
                  same_runs(cell, *row.cell);
         });
}

bool sees_difference(const VersusBaseline& versus) {
  const statistics::PairedComparison& pairs = versus.pairs;
  const statistics::Estimate& estimate = pairs.ratio ? *pairs.ratio : pairs.difference;
  const double none = pairs.ratio ? 1 : 0;
  if (pairs.seeds == 1 || !versus.replicates) return estimate.value < none || estimate.value > none;
  if (versus.order && pairs.test.p <= 0.05 &&
      (versus.order->arm > versus.order->baseline) == (estimate.value < none))
    return true;
  return estimate.interval.low > none || estimate.interval.high < none;
}

std::optional<double> corrected_p(const VersusBaseline& versus) {
  return decides_by_reached(versus) ? versus.reached->p_value_holm : versus.p_value_holm;
}

bool fails_holm(const VersusBaseline& versus) {
  const std::optional<double> p = corrected_p(versus);
  return versus.pairs.seeds >= statistics::fewest_flips && p && *p > 0.05 &&
         (decides_by_reached(versus) || sees_difference(versus));
}

std::string ratio_in_words(const VersusBaseline& versus) {
  const statistics::PairedComparison& pairs = versus.pairs;
  if (is_same_time(versus)) return "took the same time to 0.5 %";
  const ShownRatio shown = shown_ratio(versus);
  const std::string_view bound = bound_of(versus, shown.faster);
  std::string text = fmt::format("{} {}{} times as {}", shown.faster ? "was" : "took",
                                 bound.empty()    ? ""
                                 : bound == ">= " ? "at least "
                                                  : "at most ",
                                 shown.times, shown.faster ? "fast" : "long");
  if (pairs.seeds == 1) return text + " (1 seed)";
  if (!versus.replicates) return text + " (seeds do not change its time)";
  const double all = static_cast<double>(pairs.seeds);
  const double agreeing = shown.faster ? wins_of(pairs) : all - wins_of(pairs);
  text += fmt::format(" ({} to {}{}), with {}", shown.low, shown.high, pairs.trustworthy ? "" : " ~",
                      agreeing < all ? fmt::format("{} of {} seeds", agreeing, pairs.seeds)
                                     : fmt::format("all {} seeds", pairs.seeds));
  if (are_both_cut(versus)) text += "," + until_text(versus);
  return fails_holm(versus) ? text + " ?" : text;
}

}  // namespace psim::analysis
