// The answer of a study, from its numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/main_cause.hpp"
#include "analysis/page/study_parts.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/study.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {

// The fastest and the slowest arm of a condition.

// The mean time of an arm in seconds. The arm must have one (known_times).
double seconds_of(const Aggregate* one) {
  return one->time_to_target ? one->time_to_target->restricted_mean_s : one->time->mean;
}

std::vector<const Aggregate*> known_times(const std::vector<const Aggregate*>& arms) {
  std::vector<const Aggregate*> known;
  std::ranges::copy_if(arms, std::back_inserter(known),
                       [](const Aggregate* one) { return one->time_to_target || one->time; });
  return known;
}

// The date up to which all times of an arm are known: its budget, if a run missed the target.
double known_until(const Aggregate& one) {
  const bool is_cut = one.time_to_target && one.time_to_target->cut > 0;
  return is_cut ? one.time_to_target->budget_s : std::numeric_limits<double>::infinity();
}

// Mean seconds of an arm, each run counted up to `tau`.
double mean_up_to(const Aggregate& one, double tau) {
  std::vector<statistics::TimedRun> runs;
  for (const StudyRun& run : one.cell->runs) runs.push_back(timed(run));
  const auto mean = statistics::restricted_mean(statistics::kaplan_meier(runs), tau);
  return mean ? mean->mean_s : seconds_of(&one);
}

// Compares means up to the date until which the times of both arms are known: otherwise a short budget would
// look like a short time.
bool is_faster(const Aggregate& one, const Aggregate& other) {
  const double until = std::min(known_until(one), known_until(other));
  if (std::isinf(until)) return seconds_of(&one) < seconds_of(&other);
  return mean_up_to(one, until) < mean_up_to(other, until);
}

namespace {

// The number of other arms that are slower than this arm.
std::ptrdiff_t wins(const Aggregate* one, const std::vector<const Aggregate*>& others) {
  return std::ranges::count_if(others, [&](const Aggregate* other) { return is_faster(*one, *other); });
}

}  // namespace

// The arm that psim calls the fastest. Candidates learned as much as any other arm and reached the target
// with at least half of their seeds. Without candidates: the arms that reached the target most often. Among
// these the winner is faster than the most others.
const Aggregate& fastest_of(const std::vector<const Aggregate*>& known) {
  const auto rank = [&](const Aggregate* one) {
    const double reached = static_cast<double>(one->reached) / static_cast<double>(one->n);
    return std::tuple(one->better != nullptr || (!one->time_to_target && one->fails()),
                      !one->time_to_target || reached >= 0.5 ? 0 : 1 - reached, -wins(one, known),
                      seconds_of(one));
  };
  return **std::ranges::min_element(known, {}, rank);
}

// The arm that is faster than the fewest of the others.
const Aggregate& slowest_of(const std::vector<const Aggregate*>& known) {
  return **std::ranges::max_element(
      known, {}, [&](const Aggregate* one) { return std::pair(-wins(one, known), seconds_of(one)); });
}

namespace {

const TableColumn& column_named(std::string_view name) {
  return *std::ranges::find_if(table_columns(), [&](const TableColumn& c) { return c.name.name() == name; });
}

std::string arm_html(const StudyView& view, const std::string& arm) {
  return fmt::format("<b class=\"name s{}\">{}</b>", view.series_of(arm) % 8, escaped(arm_name(view, arm)));
}

// "was 2.7 times as fast (2.4 to 3.1), with all 5 seeds", with the exact ratio behind it.
std::string ratio_html(const StudyView& view, const Aggregate& one) {
  return view.numbers.told(view.path_of(one) + "/versus_baseline/ratio", ratio_in_words(*one.versus));
}

// With more arms a sentence names only the first and the last; the table has all.
constexpr std::size_t most_named = 6;
constexpr const char* to_table = "see <a href=\"#table\">the table</a>";

// For one condition: faster arms than the baseline, slower arms, and the others.
std::string compared_times(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const StudyPage& page = view.page;
  const TableView table{.study = page.study, .evaluation = page.evaluation, .brief = true};
  std::vector<const Aggregate*> reached, faster, slower, alike;
  for (const Aggregate* one : condition) {
    if (!one->versus || is_baseline(table, *one)) continue;
    const bool seen = sees_difference(*one->versus) && one->versus->pairs.ratio;
    if (decides_by_reached(*one->versus)) {
      reached.push_back(one);
      continue;
    }
    (!seen ? alike : one->versus->pairs.ratio->value < 1 ? faster : slower).push_back(one);
  }
  const auto ratio = [](const Aggregate* one) { return one->versus->pairs.ratio->value; };
  std::ranges::sort(faster, {}, ratio);
  std::ranges::sort(slower, {}, ratio);
  const auto say = [&](const Aggregate* one) {
    return fmt::format("{} {}", arm_html(view, one->cell->arm), ratio_html(view, *one));
  };
  std::vector<std::string> parts;
  for (const Aggregate* one : reached)
    parts.push_back(fmt::format("{} {}", arm_html(view, one->cell->arm),
                                escaped(cell_text(column_named("versus baseline"), table, *one))));
  if (faster.size() + slower.size() + alike.size() > most_named) {
    if (!faster.empty()) parts.push_back(say(faster.front()));
    if (!slower.empty()) parts.push_back(say(slower.back()));
    const auto others = [](const std::vector<const Aggregate*>& arms) {
      return arms.empty() ? 0 : arms.size() - 1;
    };
    parts.push_back(
        fmt::format("among the others {} were faster, {} slower, and {} showed no difference ({})",
                    others(faster), others(slower), alike.size(), to_table));
  } else {
    std::ranges::transform(faster, std::back_inserter(parts), say);
    std::ranges::transform(slower, std::back_inserter(parts), say);
    for (const Aggregate* one : alike)
      parts.push_back(fmt::format("{} showed no difference", arm_html(view, one->cell->arm)));
  }
  const std::string what =
      page.evaluation.has_target
          ? fmt::format("in reaching {}", page.target.empty() ? "the target" : escaped(page.target))
          : "to its end";
  return parts.empty() ? ""
                       : fmt::format("<p>Compared with {} {}: {}.</p>", arm_html(view, page.study.baseline),
                                     what, fmt::join(parts, "; "));
}

// Arms that took less time than the fastest arm but learned less.
std::string fast_and_worse(const StudyView& view, const std::vector<const Aggregate*>& known,
                           const Aggregate& best) {
  std::vector<std::string> parts;
  for (const Aggregate* one : known) {
    if (one->better == nullptr || !is_faster(*one, best)) continue;
    const char* key = one->measure("final_accuracy") != nullptr ? "final_accuracy" : "final_loss";
    const auto value = [&](const Aggregate& of) {
      const std::string path = fmt::format("{}/{}/mean", view.path_of(of), key);
      return std::string_view(key) == "final_loss"
                 ? view.numbers(path, {.digits = 4})
                 : view.numbers(path, {.scale = 100, .decimals = 2, .unit = " %"});
    };
    parts.push_back(fmt::format(
        "{} took less time and learned clearly less: {} {}, {} {}", arm_html(view, one->cell->arm),
        std::string_view(key) == "final_loss" ? "loss" : "accuracy",
        one->measure(key) == nullptr ? "none" : value(*one), arm_html(view, one->better->cell->arm),
        one->better->measure(key) == nullptr ? "none" : value(*one->better)));
  }
  return parts.empty() ? "" : fmt::format("<p>{}.</p>", fmt::join(parts, "; "));
}

// If times do not differ: the lowest and the highest final loss.
std::string best_loss(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  std::vector<const Aggregate*> known;
  std::ranges::copy_if(condition, std::back_inserter(known),
                       [](const Aggregate* one) { return one->measure("final_loss") != nullptr; });
  if (known.size() < 2) return "";
  const auto loss = [](const Aggregate* one) { return one->measure("final_loss")->mean; };
  const auto say = [&](const Aggregate& one) {
    return fmt::format("{} {}", arm_html(view, one.cell->arm),
                       view.numbers(view.path_of(one) + "/final_loss/mean", {.digits = 4}));
  };
  return fmt::format("<p class=\"lead\">The lowest final loss was that of {}; the highest, of {}.</p>",
                     say(**std::ranges::min_element(known, {}, loss)),
                     say(**std::ranges::max_element(known, {}, loss)));
}

// How often an arm reached the target.
std::string reached_html(const StudyView& view, const Aggregate& one) {
  const std::string path = view.path_of(one);
  return fmt::format("{} of {} run{}", view.numbers(path + "/reached", {.decimals = 0}),
                     view.numbers(path + "/n", {.decimals = 0}), one.n == 1 ? "" : "s");
}

// The fastest and the slowest arm, in seconds. If their times are known up to different dates: how often each
// reached the target.
std::string best_time(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const std::vector<const Aggregate*> known = known_times(condition);
  if (known.empty()) return "";
  const Aggregate& best = fastest_of(known);
  const Aggregate& last = slowest_of(known);
  const std::string target = view.page.target.empty() ? "the target" : escaped(view.page.target);
  const std::string verb = best.time_to_target ? fmt::format("reached {} in", target) : "took";
  const double first_s = seconds_of(&best), last_s = seconds_of(&last);
  if (!best.time_to_target && &best != &last && std::abs(first_s - last_s) < 0.005 * last_s)
    return best_loss(view, condition);
  if (&best == &last || !compares_times(view.page.evaluation))
    return fmt::format("<p class=\"lead\">{} {} {} on average.</p>", arm_html(view, best.cell->arm), verb,
                       time_html(view, best, "at least "));
  const double best_until = known_until(best), last_until = known_until(last);
  if (best_until < last_until || last_until < best_until)
    return fmt::format("<p class=\"lead\">{} {} {}, {} in {}.</p>", arm_html(view, best.cell->arm), verb,
                       reached_html(view, best), arm_html(view, last.cell->arm), reached_html(view, last)) +
           fast_and_worse(view, known, best);
  return fmt::format("<p class=\"lead\">{} {} {} on average, {}{} {}.</p>", arm_html(view, best.cell->arm),
                     verb, time_html(view, best, "at least "), arm_html(view, last.cell->arm),
                     best.time_to_target ? " in" : "", time_html(view, last, "at least ")) +
         fast_and_worse(view, known, best);
}

// The kind of cause with the largest difference between the critical paths of the slowest and the fastest
// arm.
struct Difference {
  std::string kind;
  double seconds = 0;
};

Difference widest_of(const Json& slow, const Json& fast) {
  Difference widest;
  for (const auto& [kind, seconds] : slow["by_kind"].items()) {
    const double more = seconds.get<double>() - fast["by_kind"].value(kind, 0.0);
    if (more > widest.seconds) widest = {kind, more};
  }
  return widest;
}

constexpr const char* how_to_explain =
    "<p>The cause is unknown: psim did not explain these runs, because they are long or many, or because "
    "there was no room for a record. Record one run of each arm with <code>psim run --trace events</code>, "
    "and compare the two with <code>psim why</code>.</p>";

// Why the slowest arm took longer than the fastest, from one run of each. Empty if they are about equally
// fast.
std::string difference(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  constexpr double least_part = 0.05;
  const std::vector<const Aggregate*> known = known_times(condition);
  if (!compares_times(view.page.evaluation) || known.empty()) return "";
  const Aggregate &fastest = fastest_of(known), &slowest = slowest_of(known);
  const double until = std::min(known_until(fastest), known_until(slowest));
  const auto time = [until](const Aggregate& one) {
    return std::isinf(until) ? seconds_of(&one) : mean_up_to(one, until);
  };
  if (time(slowest) - time(fastest) < least_part * time(slowest)) return "";
  const StudyRun *slow = slowest.cell->explained(), *fast = fastest.cell->explained();
  if (slow == nullptr || fast == nullptr) return how_to_explain;
  const double total = slow->cause["total_s"];
  const Difference widest = widest_of(slow->cause, fast->cause);
  if (total - fast->cause["total_s"].get<double>() < least_part * total ||
      widest.seconds < least_part * total)
    return "";
  const auto seconds = [&](const Aggregate& arm) {
    const std::string path = fmt::format("{}/cause/by_kind/{}", view.path_of(arm), widest.kind);
    const bool has_any = view.document.contains(Json::json_pointer(path));
    return has_any ? view.numbers(path, as_seconds) : std::string("none");
  };
  const std::string slow_arm = arm_html(view, slowest.cell->arm);
  return fmt::format(
      "<p>Why: {} took {} of the critical path under {}, {} under {} (seed {}). <code>psim why</code> says "
      "about {}: {}</p>",
      std::string(suspect_called(widest.kind)->label), seconds(slowest), slow_arm, seconds(fastest),
      arm_html(view, fastest.cell->arm), slow->seed, slow_arm,
      escaped(slow->cause["sentence"].get<std::string>()));
}

// If all arms have the same main cause: that cause, in the words for the slowest arm.
std::string shared_cause(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const auto cause_of = [](const Aggregate* one) -> const Json& { return one->cell->explained()->cause; };
  const Aggregate* longest = nullptr;
  for (const Aggregate* one : condition) {
    if (one->cell->explained() == nullptr) return "";
    if (longest == nullptr || cause_of(one)["total_s"] > cause_of(longest)["total_s"]) longest = one;
  }
  const auto is_same = [&](const Aggregate* one) {
    const Json &own = cause_of(one)["verdict"], &other = cause_of(longest)["verdict"];
    return own["kind"] == other["kind"] && own["nodes"] == other["nodes"];
  };
  if (condition.size() < 2 || !std::ranges::all_of(condition, is_same)) return "";
  return fmt::format(
      "<p>The same cause sets the pace of all arms. <code>psim why</code> says about {}: {}</p>",
      arm_html(view, longest->cell->arm), escaped(cause_of(longest)["sentence"].get<std::string>()));
}

std::string reason(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const std::string why = difference(view, condition);
  return why.empty() ? shared_cause(view, condition) : why;
}

// Over several conditions: in how many an arm was faster than the baseline, and in how many slower.
struct Record {
  std::string arm;
  std::size_t faster = 0, slower = 0, all = 0;
};

std::string record_html(const StudyView& view, const Record& one) {
  const std::string who = arm_html(view, one.arm);
  std::string where = fmt::format("all {} conditions", one.all);
  if (one.all <= 2) where = one.all == 1 ? "1 condition" : "both conditions";
  if (one.faster == one.all) return fmt::format("{} was faster under {}", who, where);
  if (one.slower == one.all) return fmt::format("{} was slower under {}", who, where);
  if (one.faster + one.slower == 0) return fmt::format("{} showed no difference under any condition", who);
  return fmt::format("{} was faster under {} and slower under {} of {} conditions", who, one.faster,
                     one.slower, one.all);
}

// The records of all arms; with many arms only the best and the worst.
std::string records_html(const StudyView& view) {
  std::vector<Record> records;
  for (const Aggregate& one : view.page.evaluation.aggregates) {
    if (!one.versus || one.cell->arm == view.page.study.baseline) continue;
    auto record = std::ranges::find(records, one.cell->arm, &Record::arm);
    if (record == records.end()) record = records.insert(record, {.arm = one.cell->arm});
    ++record->all;
    if (!one.versus->pairs.ratio || decides_by_reached(*one.versus) || !sees_difference(*one.versus))
      continue;
    ++(one.versus->pairs.ratio->value < 1 ? record->faster : record->slower);
  }
  std::vector<std::string> parts;
  if (records.size() > most_named) {
    std::ranges::stable_sort(records, std::greater{}, [](const Record& one) {
      return static_cast<double>(one.faster) - static_cast<double>(one.slower);
    });
    parts = {record_html(view, records.front()), record_html(view, records.back()),
             fmt::format("{} others lie between ({})", records.size() - 2, to_table)};
  } else {
    for (const Record& one : records) parts.push_back(record_html(view, one));
  }
  return parts.empty() ? ""
                       : fmt::format("<p>Compared with {}: {}.</p>", arm_html(view, view.page.study.baseline),
                                     fmt::join(parts, "; "));
}

using Conditions = std::vector<std::vector<const Aggregate*>>;
constexpr std::size_t few_conditions = 4;

// With many conditions: the shortest and the longest time of all.
std::string extremes_html(const StudyView& view, const Conditions& conditions) {
  std::vector<const Aggregate*> all;
  for (const std::vector<const Aggregate*>& condition : conditions)
    std::ranges::copy(known_times(condition), std::back_inserter(all));
  if (conditions.size() <= few_conditions || all.size() < 3) return "";
  const auto [best, worst] = std::ranges::minmax(all, {}, seconds_of);
  const auto say = [&](const Aggregate* one) {
    return fmt::format("{} with {} ({})", arm_html(view, one->cell->arm),
                       escaped(condition_label(view.page.study, *one->cell)),
                       time_html(view, *one, "at least "));
  };
  return fmt::format("<p>Fastest of all was {}, slowest {}; {} others lie between ({}).</p>", say(best),
                     say(worst), all.size() - 2, to_table);
}

// "servers = 16 was fastest under both conditions: 2.1 s (bandwidth = 1Gbps) ..."; empty if it depends on the
// condition.
std::string fastest_everywhere(const StudyView& view, const Conditions& conditions) {
  const std::string* arm = nullptr;
  std::vector<std::string> times;
  for (const std::vector<const Aggregate*>& condition : conditions) {
    if (known_times(condition).size() < condition.size()) return "";
    const Aggregate& best = fastest_of(condition);
    if (arm != nullptr && *arm != best.cell->arm) return "";
    arm = &best.cell->arm;
    times.push_back(fmt::format("{} with {}", time_html(view, best, "at least "),
                                escaped(condition_label(view.page.study, *best.cell))));
  }
  return fmt::format("<p class=\"lead\">{} was fastest under {} conditions{}{}.</p>", arm_html(view, *arm),
                     conditions.size() == 2 ? "both" : fmt::format("all {}", conditions.size()),
                     times.size() > few_conditions ? "" : ": ",
                     times.size() > few_conditions ? "" : fmt::format("{}", fmt::join(times, ", ")));
}

}  // namespace

std::string study_answer(const StudyView& view) {
  const Conditions conditions = by_condition(view.page.evaluation.aggregates);
  const bool by_time = compares_times(view.page.evaluation);
  if (conditions.size() == 1) {
    const std::vector<const Aggregate*>& only = conditions.front();
    return (by_time || only.size() == 1 ? best_time(view, only) + compared_times(view, only)
                                        : best_loss(view, only)) +
           reason(view, only);
  }
  std::string out, each;
  if (by_time) {
    out = fastest_everywhere(view, conditions) + records_html(view) + extremes_html(view, conditions);
    if (out.starts_with("<p>")) out.insert(2, " class=\"lead\"");
  }
  for (const std::vector<const Aggregate*>& condition : conditions)
    each += fmt::format("<details><summary>{}</summary>{}{}{}</details>",
                        escaped(condition_label(view.page.study, *condition.front()->cell)),
                        by_time ? best_time(view, condition) : best_loss(view, condition),
                        by_time ? compared_times(view, condition) : "", reason(view, condition));
  return conditions.size() <= few_conditions
             ? out + each
             : out + fmt::format(
                         "<details class=\"each\"><summary>Each of the {} conditions</summary>{}</details>",
                         conditions.size(), each);
}

}  // namespace psim::analysis
