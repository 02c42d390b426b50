#include "analysis/whatif/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/causes/words.hpp"
#include "analysis/render/text_chart.hpp"
#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

constexpr double exact = 1e-9;         // a share this small is rounding
constexpr double worth_saying = 0.01;  // of the time: the least saving that counts as help

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string time_cell(const std::optional<double>& seconds) { return seconds ? seconds_text(*seconds) : "-"; }

std::string error_cell(const Outcome& outcome) {
  if (!outcome.error) return "-";
  if (std::abs(*outcome.error) <= exact) return "exact";
  return fmt::format("{:+.2g} %", 100 * *outcome.error);
}

std::string same_steps_cell(const Outcome& outcome) {
  if (!outcome.same_steps) return "-";
  return (outcome.same_steps->is_measured ? "" : "~") + seconds_text(outcome.same_steps->seconds);
}

std::string accuracy_cell(const Rerun& run) {
  return run.accuracy ? fmt::format("{:.1f} %", 100 * *run.accuracy) : "-";
}

std::string loss_cell(const Rerun& run) { return run.loss ? fmt::format("{:.4g}", *run.loss) : "-"; }

std::string target_cell(const Rerun& run) {
  if (run.is_stuck) return "stuck";
  return !run.reached ? "-" : *run.reached ? "reached" : "missed";
}

std::string table_of(std::vector<TextColumn>& columns, std::size_t width) {
  std::vector<const TextColumn*> shown;
  for (const TextColumn& column : columns) {
    const auto is_empty = [](const std::string& cell) { return cell == "-"; };
    if (!std::ranges::all_of(column.cells, is_empty)) shown.push_back(&column);
  }
  return render(shown, {}, TableFormat::text, width);
}

std::string outcomes_table(const WhatIf& all, std::size_t width) {
  std::vector<TextColumn> columns{{"change", true},
                                  {"predicted"},
                                  {"same steps"},
                                  {"error"},
                                  {"re-run"},
                                  {"faster by"},
                                  {"loss"},
                                  ColumnName("accuracy", "psim what-if"),
                                  {ColumnName("target", "psim what-if"), true}};
  add_row(columns, {"as it was", seconds_text(all.original), "-", "-", "-", "-", loss_cell(all.as_it_was),
                    accuracy_cell(all.as_it_was), target_cell(all.as_it_was)});
  for (const Outcome& one : all.outcomes) {
    const std::optional<double> same = all.as_it_was.is_stuck ? std::nullopt : one.same_work();
    const Rerun none;
    const Rerun& run = one.rerun ? *one.rerun : none;
    add_row(columns, {one.change.text, time_cell(one.predicted), same_steps_cell(one), error_cell(one),
                      one.rerun ? seconds_text(one.rerun->actual.end) : "-",
                      same ? fmt::format("{:.3g}x", all.original / *same) : "-", loss_cell(run),
                      accuracy_cell(run), target_cell(run)});
  }
  return table_of(columns, width);
}

std::string end_of(const Rerun& run) {
  if (run.is_stuck) return fmt::format("gets stuck too, after {}", seconds_text(run.actual.end));
  const bool has_reached = run.reached.value_or(false);
  return fmt::format("{} after {}", has_reached ? "reaches its target" : "ends",
                     seconds_text(run.actual.end));
}

std::string sentence_of_stuck(const WhatIf& all) {
  std::string out =
      fmt::format("This run got stuck at {}, so there is no prediction.", seconds_text(all.original));
  for (const Outcome& one : all.outcomes) {
    if (one.rerun) out += fmt::format(" With {} it {}.", one.change.text, end_of(*one.rerun));
  }
  return out;
}

// The best change, in a sentence.
std::string sentence(const WhatIf& all) {
  if (all.as_it_was.is_stuck) return sentence_of_stuck(all);
  const Outcome* best = nullptr;
  for (const Outcome& one : all.outcomes) {
    if (one.same_work() && (best == nullptr || *one.same_work() < *best->same_work())) best = &one;
  }
  if (best == nullptr) return "psim cannot tell the time of the same steps with any of these changes.";
  const double seconds = *best->same_work();
  if (!(seconds < all.original * (1 - worth_saying)))
    return fmt::format("None of these changes makes the run at least {:g} % faster than {}.",
                       100 * worth_saying, seconds_text(all.original));
  std::string out =
      fmt::format("{} helps most: the same steps take {} instead of {}, {:.3g}x as fast", best->change.text,
                  seconds_text(seconds), seconds_text(all.original), all.original / seconds);
  if (!best->rerun) return out + ", if only times change (a prediction).";
  if (best->rerun->actual.end != seconds) out += fmt::format("; the re-run {}", end_of(*best->rerun));
  return out + ".";
}

// Never "-0.0 %".
std::string share_cell(double share) {
  const double percent = std::round(1000 * share) / 10;
  return fmt::format("{:.1f} %", percent == 0 ? 0.0 : percent);
}

std::string attribution_text(const Attribution& why, const Facts& facts, std::size_t width) {
  if (why.slowdown <= 1)
    return "\nuneven computing costs nothing: with even steps the run would not be shorter\n";
  if (why.slowdown < least_slowdown)
    return fmt::format("\nuneven computing costs {:.1f} %: too little to blame a worker\n",
                       100 * (why.slowdown - 1));
  std::string out = fmt::format(
      "\nif every worker computed like the median worker, the run would take {}; it took {:.3g} times as "
      "long\n\n",
      seconds_text(why.ideal), why.slowdown);
  constexpr std::size_t shown = 6;
  constexpr double little = 0.02;  // of the slowdown
  const auto weight = [](const Blamed& one) { return std::max(one.removed, one.added); };
  std::vector<Blamed> blamed = why.workers;
  std::ranges::stable_sort(blamed, std::ranges::greater{}, weight);
  std::vector<TextColumn> columns{{"of this slowdown", true}, {"gone without it"}, {"there with it alone"}};
  for (const Blamed& one : blamed) {
    if (weight(one) < little || columns[0].cells.size() == shown) break;
    add_row(columns,
            {facts.name_of(1 + facts.servers + one.worker), share_cell(one.removed), share_cell(one.added)});
  }
  if (columns[0].cells.empty()) return out + "no worker alone makes 2 % of this slowdown\n";
  const std::size_t left_out = blamed.size() - columns[0].cells.size();
  out += table_of(columns, width);
  if (left_out > 0) out += fmt::format("{} more worker{} with less\n", left_out, left_out == 1 ? "" : "s");
  return out +
         paragraph(
             "gone without it: the share of the slowdown that disappears if only this worker computes like "
             "the median worker; there with it alone: the share that remains if all other workers compute "
             "like the median worker.",
             width);
}

// Explains the columns of times.
std::string about_same_steps(const WhatIf& all, std::size_t width) {
  const auto is_any = [&](auto is) { return std::ranges::any_of(all.outcomes, is); };
  std::string out;
  if (is_any([](const Outcome& one) { return one.same_steps.has_value(); }))
    out += paragraph(
        "same steps: when the re-run has computed as many steps as the run; error: of the prediction, "
        "relative to this time; re-run: when the re-run ends or reaches its target.",
        width);
  if (is_any([](const Outcome& one) { return one.same_steps && !one.same_steps->is_measured; }))
    out += paragraph(
        "~: the re-run ended with fewer steps, and the time assumes that it continues at its pace; the error "
        "is for the steps that both runs have.",
        width);
  return out;
}

// Choices that depend on the order of arrivals. A prediction keeps them as in the run.
std::string kept_as_it_was(const Facts& facts) {
  std::vector<std::string_view> kept;
  if (facts.model.starts_with("k-")) kept.emplace_back("which pushes make an update");
  if (facts.steals) kept.emplace_back("which worker computes which samples");
  if (facts.overlap) kept.emplace_back("which layers a step waits for");
  return fmt::format("{}", fmt::join(kept, " and "));
}

// A curve for each worker with several requested shares of computing time; the run itself is 100 %.
std::string curves(const WhatIf& all, const Facts& facts, std::size_t width) {
  std::map<std::vector<std::uint32_t>, std::pair<Points, Points>> of_nodes;
  for (const Outcome& one : all.outcomes) {
    if (one.change.what != Change::What::compute) continue;
    auto& [predicted, really] = of_nodes[one.change.nodes];
    if (one.predicted) predicted.emplace_back(100 * one.change.factor, *one.predicted);
    if (one.same_steps) really.emplace_back(100 * one.change.factor, one.same_steps->seconds);
  }
  std::string out;
  for (auto& [nodes, curve] : of_nodes) {
    if (curve.first.size() < 3) continue;
    std::vector<Series> series{{"predicted", std::move(curve.first)}};
    if (!curve.second.empty()) series.push_back({"same steps", std::move(curve.second)});
    for (Series& one : series) std::ranges::sort(one.points);
    const std::string who = nodes.empty() ? "all workers" : facts.name_of(nodes.front());
    const auto columns = static_cast<int>(std::clamp<std::size_t>(width, 40, 100)) - 14;
    out += "\n" + chart(series, {.x_label = fmt::format("computing time of {} (%)", who),
                                 .y_label = "simulated seconds",
                                 .width = columns,
                                 .height = 12});
  }
  return out;
}

}  // namespace

std::optional<double> Outcome::same_work() const {
  if (!rerun) return predicted;
  return same_steps ? std::optional(same_steps->seconds) : std::nullopt;
}

Rerun rerun_of(const RunRecord& record, const CausalGraph& graph) {
  const Json& summary = record.summary;
  Rerun run{.actual = actual(record, graph), .is_stuck = !summary.at("stuck").empty()};
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto last = summary.find("final");
    if (last == summary.end() || !last->is_object() || !last->contains(name) || !last->at(name).is_number())
      return std::nullopt;
    return last->at(name).get<double>();
  };
  run.loss = number("loss");
  run.accuracy = number("accuracy");
  const auto target = summary.find("target");
  if (target != summary.end() && target->is_object() && target->value("given", false))
    run.reached = target->value("reached", false);
  return run;
}

std::string text(const WhatIf& all, const Facts& facts, std::size_t width) {
  std::string out;
  if (!all.outcomes.empty()) {
    out += paragraph(sentence(all), width) + "\n" + outcomes_table(all, width);
  }
  out += about_same_steps(all, width);
  if (!facts.fault_factors.empty())
    out += paragraph(
        "Predictions keep faults and their consequences as in the run; only no-faults and no-crash remove "
        "them.",
        width);
  const bool is_predicted =
      std::ranges::any_of(all.outcomes, [](const Outcome& one) { return one.predicted.has_value(); });
  if (const std::string kept = kept_as_it_was(facts); is_predicted && !kept.empty())
    out += paragraph(fmt::format("Predictions keep {} as in the run.", kept), width);
  if (!all.unpredictable.empty())
    out += paragraph(fmt::format("psim cannot predict {}, because nodes would wait for different nodes than "
                                 "in the run; psim what-if RUN {} simulates it.",
                                 fmt::join(all.unpredictable, ", "), all.unpredictable.front()),
                     width);
  for (const Outcome& one : all.outcomes) {
    if (!one.no_rerun.empty()) out += fmt::format("no re-run of {}\n", one.no_rerun);
  }
  out += curves(all, facts, width);
  if (all.attribution) out += attribution_text(*all.attribution, facts, width);
  if (all.replay_error > exact)
    out += fmt::format(
        "\nwarning: the causal graph does not reproduce the dates of this run: they are off by up to {:.2g} "
        "%\n",
        100 * all.replay_error);
  return out;
}

Json document(const WhatIf& all) {
  const Rerun& was = all.as_it_was;
  Json changes = Json::array(), blamed = Json::array();
  for (const Outcome& one : all.outcomes) {
    const std::optional<double> same = was.is_stuck ? std::nullopt : one.same_work();
    const Rerun none;
    const Rerun& run = one.rerun ? *one.rerun : none;
    changes.push_back({{"change", one.change.text},
                       {"sets", one.sets},
                       {"predicted_s", or_null(one.predicted)},
                       {"same_steps_s", one.same_steps ? Json(one.same_steps->seconds) : Json()},
                       {"same_steps_measured", one.same_steps ? Json(one.same_steps->is_measured) : Json()},
                       {"rerun_s", one.rerun ? Json(run.actual.end) : Json()},
                       {"error", or_null(one.error)},
                       {"speedup", same ? Json(all.original / *same) : Json()},
                       {"loss", or_null(run.loss)},
                       {"accuracy", or_null(run.accuracy)},
                       {"reached", or_null(run.reached)},
                       {"stuck", one.rerun ? Json(run.is_stuck) : Json()}});
  }
  if (all.attribution) {
    for (const Blamed& one : all.attribution->workers)
      blamed.push_back({{"worker", one.worker}, {"removed", one.removed}, {"added", one.added}});
  }
  return {{"schema", "psim.what-if/1"},
          {"original",
           {{"seconds", all.original},
            {"loss", or_null(was.loss)},
            {"accuracy", or_null(was.accuracy)},
            {"reached", or_null(was.reached)},
            {"stuck", was.is_stuck}}},
          {"changes", std::move(changes)},
          {"slowdown", all.attribution ? Json(all.attribution->slowdown) : Json()},
          {"ideal_s", all.attribution ? Json(all.attribution->ideal) : Json()},
          {"attribution", std::move(blamed)},
          {"unpredictable", all.unpredictable},
          {"replay_error", all.replay_error}};
}

}  // namespace psim::analysis
