// A study's answer, from its numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/page/study_parts.hpp"
#include "analysis/study/labels.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {
namespace {

const TableColumn& column_named(std::string_view name) {
  return *std::ranges::find_if(table_columns(), [&](const TableColumn& c) { return c.name.name() == name; });
}

std::string arm_html(const StudyView& view, const std::string& arm) {
  return fmt::format("<b class=\"name s{}\">{}</b>", view.series_of(arm) % 8, escaped(arm_label(arm)));
}

// The table's "2.7x faster [2.4, 3.1], 5/5" with "under 5/5 seeds" at its end, and the exact ratio behind it.
std::string ratio_html(const StudyView& view, const TableView& table, const Aggregate& one) {
  std::string text = cell_text(column_named("versus baseline"), table, one);
  const std::size_t comma = text.rfind("], ");
  if (comma != std::string::npos)
    text = fmt::format("{}] under {} seeds", text.substr(0, comma), text.substr(comma + 3));
  return view.numbers.told(view.path_of(one) + "/versus_baseline/ratio", text);
}

// Of one condition: the arms that are faster than the baseline, those that are slower, and the others.
std::string compared_times(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const StudyPage& page = view.page;
  const TableView table{.study = page.study, .evaluation = page.evaluation, .brief = true};
  std::vector<const Aggregate*> faster, slower, alike;
  for (const Aggregate* one : condition) {
    if (!one->versus || is_baseline(table, *one)) continue;
    const bool seen = sees_difference(*one->versus) && one->versus->pairs.ratio;
    (!seen ? alike : one->versus->pairs.ratio->value < 1 ? faster : slower).push_back(one);
  }
  const auto ratio = [](const Aggregate* one) { return one->versus->pairs.ratio->value; };
  std::ranges::sort(faster, {}, ratio);
  std::ranges::sort(slower, {}, ratio);
  std::vector<std::string> parts;
  const auto say = [&](const std::vector<const Aggregate*>& arms) {
    for (const Aggregate* one : arms)
      parts.push_back(
          fmt::format("{} was {}", arm_html(view, one->cell->arm), ratio_html(view, table, *one)));
  };
  say(faster);
  say(slower);
  for (const Aggregate* one : alike)
    parts.push_back(fmt::format("{} showed no difference", arm_html(view, one->cell->arm)));
  const std::string what =
      page.evaluation.has_target
          ? fmt::format("in reaching {}", page.target.empty() ? "the target" : escaped(page.target))
          : "to its end";
  return parts.empty() ? ""
                       : fmt::format("<p>Compared with {} {}: {}.</p>", arm_html(view, page.study.baseline),
                                     what, fmt::join(parts, "; "));
}

// An arm with its time and how often it reached the target.
std::string time_html(const StudyView& view, const Aggregate& one) {
  const std::string path = view.path_of(one);
  if (!one.time_to_target) return view.numbers(path + "/time_s/mean", as_seconds);
  return (one.time_to_target->cut > 0 ? "at least " : "") +
         view.numbers(path + "/time_to_target/restricted_mean_s", as_seconds);
}

// The fastest and the slowest arm, in seconds.
std::string best_time(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  const auto time = [](const Aggregate* one) {
    return one->time_to_target ? one->time_to_target->restricted_mean_s : one->time ? one->time->mean : -1;
  };
  std::vector<const Aggregate*> known;
  std::ranges::copy_if(condition, std::back_inserter(known),
                       [&](const Aggregate* one) { return time(one) >= 0; });
  if (known.empty()) return "";
  const Aggregate& best = **std::ranges::min_element(known, {}, time);
  const Aggregate& last = **std::ranges::max_element(known, {}, time);
  const std::string target = view.page.target.empty() ? "the target" : escaped(view.page.target);
  const std::string verb = best.time_to_target ? fmt::format("reached {} in", target) : "took";
  if (&best == &last || !compares_times(view.page.evaluation))
    return fmt::format("<p class=\"lead\">{} {} {} on average.</p>", arm_html(view, best.cell->arm), verb,
                       time_html(view, best));
  return fmt::format("<p class=\"lead\">{} {} {} on average, {} in {}.</p>", arm_html(view, best.cell->arm),
                     verb, time_html(view, best), arm_html(view, last.cell->arm), time_html(view, last));
}

// Where times do not differ, what the weights are worth at the end.
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

// How much was waited under the arm that waited most and under the one that waited least, and for whom.
std::string waits(const StudyView& view, const std::vector<const Aggregate*>& condition) {
  std::vector<const Aggregate*> known;
  std::ranges::copy_if(condition, std::back_inserter(known),
                       [](const Aggregate* one) { return one->measure("wait_percent") != nullptr; });
  if (known.empty()) return "";
  const auto wait = [](const Aggregate* one) { return one->measure("wait_percent")->mean; };
  const Aggregate& most = **std::ranges::max_element(known, {}, wait);
  const Aggregate& least = **std::ranges::min_element(known, {}, wait);
  constexpr Shape percent{.decimals = 0, .unit = " %"};
  const auto share = [&](const Aggregate& one) {
    return view.numbers(view.path_of(one) + "/wait_percent/mean", percent);
  };
  std::string out = fmt::format("<p>Why: under {} workers waited {} of their time",
                                arm_html(view, most.cell->arm), share(most));
  const std::vector<WorkerShares> shares = worker_shares(*most.cell);
  if (const std::vector<std::size_t> awaited = awaited_workers(shares); !awaited.empty())
    out += fmt::format(", all of them for {}, the only one{} that hardly waited", workers_text(awaited),
                       awaited.size() > 1 ? "s" : "");
  if (&least != &most)
    out += fmt::format("; under {} they waited {}, and computed {}", arm_html(view, least.cell->arm),
                       share(least), view.numbers(view.path_of(least) + "/compute_percent/mean", percent));
  return out + ".</p>";
}

// Over several conditions: how often an arm was faster than the baseline, and how much.
std::string over_conditions(const StudyView& view, const std::string& arm) {
  std::size_t faster = 0, slower = 0, all = 0;
  for (const Aggregate& one : view.page.evaluation.aggregates) {
    if (one.cell->arm != arm || !one.versus) continue;
    ++all;
    if (!one.versus->pairs.ratio || !sees_difference(*one.versus)) continue;
    ++(one.versus->pairs.ratio->value < 1 ? faster : slower);
  }
  if (all == 0) return "";
  return fmt::format("{} was faster under {} and slower under {} of {} conditions", arm_html(view, arm),
                     faster, slower, all);
}

}  // namespace

std::string study_answer(const StudyView& view) {
  std::vector<std::vector<const Aggregate*>> conditions;
  for (const std::vector<const Cell*>& cells : conditions_of(view.page.study)) {
    std::vector<const Aggregate*>& condition = conditions.emplace_back();
    for (const Cell* cell : cells)
      condition.push_back(&*std::ranges::find(view.page.evaluation.aggregates, cell, &Aggregate::cell));
  }
  if (conditions.size() == 1) {
    const std::vector<const Aggregate*>& only = conditions.front();
    const bool by_time = compares_times(view.page.evaluation) || only.size() == 1;
    return (by_time ? best_time(view, only) + compared_times(view, only) : best_loss(view, only)) +
           waits(view, only);
  }
  std::vector<std::string> parts, arms;
  for (const Cell& cell : view.page.study.cells) {
    if (std::ranges::find(arms, cell.arm) != arms.end() || cell.arm == view.page.study.baseline) continue;
    arms.push_back(cell.arm);
    if (std::string part = over_conditions(view, cell.arm); !part.empty()) parts.push_back(std::move(part));
  }
  std::string out;
  if (compares_times(view.page.evaluation) && !parts.empty())
    out = fmt::format("<p class=\"lead\">Compared with {}: {}.</p>", arm_html(view, view.page.study.baseline),
                      fmt::join(parts, "; "));
  for (const std::vector<const Aggregate*>& condition : conditions) {
    const bool by_time = compares_times(view.page.evaluation);
    const std::string best = by_time ? best_time(view, condition) : best_loss(view, condition);
    out += fmt::format("<details><summary>{}</summary>{}{}{}</details>",
                       escaped(condition_label(view.page.study, *condition.front()->cell)), best,
                       by_time ? compared_times(view, condition) : "", waits(view, condition));
  }
  return out;
}

}  // namespace psim::analysis
