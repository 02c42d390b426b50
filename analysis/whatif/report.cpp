#include "analysis/whatif/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/causes/explain.hpp"
#include "analysis/causes/words.hpp"
#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

constexpr double no_date = std::numeric_limits<double>::infinity();

}  // namespace

Progress::Progress(const CausalGraph& graph, const Facts& facts, double until) : dates_(facts.workers) {
  // A step with several parts, or a repeated step, is done when the last part ends.
  std::vector<std::map<std::int64_t, double>> done(facts.workers);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= until; ++id) {
    const Moment& moment = graph.moments[id];
    if (!moment.is_step(ComputePhase::ended)) continue;
    done[facts.worker(moment.node)].insert_or_assign(moment.clock, moment.at);
  }
  for (std::size_t worker = 0; worker < done.size(); ++worker) {
    for (const auto& [clock, date] : done[worker]) dates_[worker].push_back(date);
    std::ranges::sort(dates_[worker]);
  }
}

std::int64_t Progress::steps() const {
  std::int64_t all = 0;
  for (const auto& worker : dates_) all += std::ssize(worker);
  return all;
}

double Progress::pace(std::size_t worker) const {
  const auto& dates = dates_[worker];
  if (dates.size() < 2) return no_date;
  return (dates.back() - dates.front()) / static_cast<double>(dates.size() - 1);
}

double Progress::date_of(std::int64_t steps, const std::vector<bool>& goes_on) const {
  const auto count = [&](double date) {
    std::int64_t all = 0;
    for (std::size_t w = 0; w < dates_.size(); ++w) {
      const auto& dates = dates_[w];
      all += std::ranges::upper_bound(dates, date) - dates.begin();
      const double gap = pace(w);
      if (!goes_on.empty() && goes_on[w] && gap > 0 && gap < no_date && date > dates.back())
        all += static_cast<std::int64_t>((date - dates.back()) / gap);
    }
    return all;
  };
  double low = 0, high = 0;
  for (const auto& dates : dates_) high = std::max(high, dates.empty() ? 0 : dates.back());
  for (int doubled = 0; count(high) < steps; ++doubled, high *= 2) {
    if (doubled == 60 || high == 0) return no_date;
  }
  for (int halved = 0; halved < 100 && std::nextafter(low, high) < high; ++halved) {
    const double middle = low + (high - low) / 2;
    (count(middle) >= steps ? high : low) = middle;
  }
  return high;
}

std::vector<bool> Progress::going_on(double end) const {
  std::vector<bool> goes_on;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double gap = pace(w);
    goes_on.push_back(gap < no_date && dates_[w].back() + 4 * gap >= end);
  }
  return goes_on;
}

Rerun rerun_of(const RunRecord& record, const CausalGraph& graph) {
  const Json& summary = record.summary;
  const double end = summary.at("sim_time_s");
  const std::uint32_t last = end_of(graph, end, summary, {}, Until::What::end);
  Rerun run{.progress = Progress(graph, record.facts, end),
            .is_finished = last != CausalGraph::none && graph.moments[last].is<Finish>(),
            .end = end,
            .is_stuck = !summary.at("stuck").empty()};
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto final = summary.find("final");
    if (final == summary.end() || !final->is_object() || !final->contains(name) ||
        !final->at(name).is_number())
      return std::nullopt;
    return final->at(name).get<double>();
  };
  run.loss = number("loss");
  run.accuracy = number("accuracy");
  const auto target = summary.find("target");
  if (target != summary.end() && target->is_object() && target->value("given", false))
    run.reached = target->value("reached", false);
  return run;
}

std::optional<SameSteps> same_steps_of(const Rerun& original, const Rerun& rerun) {
  const std::int64_t steps = original.progress.steps();
  if (original.is_finished && rerun.is_finished && rerun.progress.steps() == steps)
    return SameSteps{.seconds = rerun.end};
  const double date = rerun.progress.date_of(
      steps, rerun.is_finished ? std::vector<bool>() : rerun.progress.going_on(rerun.end));
  if (steps == 0 || std::isinf(date)) return std::nullopt;
  return SameSteps{.seconds = date + original.end - original.progress.date_of(steps),
                   .is_measured = rerun.progress.steps() >= steps};
}

namespace {

constexpr double worth_saying = 0.01;  // of the time: the least saving that counts as help

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string same_steps_cell(const ChangeOutcome& outcome) {
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
                                  {"same steps"},
                                  {"faster by"},
                                  {"re-run"},
                                  {"loss"},
                                  ColumnName("accuracy", "psim what-if"),
                                  {ColumnName("target", "psim what-if"), true}};
  const auto add = [&](const std::string& name, const Rerun& run, const std::string& same,
                       const std::string& faster) {
    add_row(columns, {name, same, faster, seconds_text(run.end), loss_cell(run), accuracy_cell(run),
                      target_cell(run)});
  };
  add("as it was", all.original, "-", "-");
  for (const ChangeOutcome& one : all.outcomes) {
    if (!one.rerun) continue;
    add(one.change.text, *one.rerun, same_steps_cell(one),
        one.same_steps ? fmt::format("{:.3g}x", all.original.end / one.same_steps->seconds) : "-");
  }
  return table_of(columns, width);
}

std::string end_of(const Rerun& run) {
  if (run.is_stuck) return fmt::format("gets stuck, after {}", seconds_text(run.end));
  const bool has_reached = run.reached.value_or(false);
  return fmt::format("{} after {}", has_reached ? "reaches its target" : "ends", seconds_text(run.end));
}

std::string sentence_of_stuck(const WhatIf& all) {
  std::string out = fmt::format("This run got stuck at {}.", seconds_text(all.original.end));
  for (const ChangeOutcome& one : all.outcomes) {
    if (one.rerun) out += fmt::format(" With {} it {}.", one.change.text, end_of(*one.rerun));
  }
  return out;
}

// The best change, in a sentence.
std::string sentence(const WhatIf& all) {
  if (all.original.is_stuck) return sentence_of_stuck(all);
  const ChangeOutcome* best = nullptr;
  for (const ChangeOutcome& one : all.outcomes) {
    if (one.same_steps && (best == nullptr || one.same_steps->seconds < best->same_steps->seconds))
      best = &one;
  }
  if (best == nullptr) return "None of these changes comes to the same number of steps.";
  const double seconds = best->same_steps->seconds, was = all.original.end;
  if (!(seconds < was * (1 - worth_saying)))
    return fmt::format("None of these changes makes the run at least {:g} % faster than {}.",
                       100 * worth_saying, seconds_text(was));
  std::string out = fmt::format("{} helps most: the same steps take {} instead of {}, {:.3g}x as fast",
                                best->change.text, seconds_text(seconds), seconds_text(was), was / seconds);
  if (best->rerun->end != seconds) out += fmt::format("; the re-run {}", end_of(*best->rerun));
  return out + ".";
}

// Explains the columns of times.
std::string about_same_steps(const WhatIf& all, std::size_t width) {
  const auto is_any = [&](auto is) { return std::ranges::any_of(all.outcomes, is); };
  std::string out;
  if (is_any([](const ChangeOutcome& one) { return one.same_steps.has_value(); }))
    out += paragraph(
        "same steps: when the re-run has computed as many steps as the run; re-run: when the re-run ends or "
        "reaches its target.",
        width);
  if (is_any([](const ChangeOutcome& one) { return one.same_steps && !one.same_steps->is_measured; }))
    out += paragraph(
        "~: the re-run ended with fewer steps, and the time assumes that it continues at its pace.", width);
  return out;
}

// A curve for each worker with several requested shares of computing time; the run itself is 100 %.
std::string curves(const WhatIf& all, const Facts& facts, std::size_t width) {
  std::map<std::vector<std::uint32_t>, Points> of_nodes;
  for (const ChangeOutcome& one : all.outcomes) {
    if (one.change.what == Change::What::compute && one.same_steps)
      of_nodes[one.change.nodes].emplace_back(100 * one.change.factor, one.same_steps->seconds);
  }
  std::string out;
  for (auto& [nodes, points] : of_nodes) {
    if (points.size() < 3) continue;
    std::ranges::sort(points);
    const std::string who = nodes.empty() ? "all workers" : facts.name_of(nodes.front());
    const auto columns = static_cast<int>(std::clamp<std::size_t>(width, 40, 100)) - 14;
    out += "\n" + chart({{"same steps", std::move(points)}},
                        {.x_label = fmt::format("computing time of {} (%)", who),
                         .y_label = "simulated seconds",
                         .width = columns,
                         .height = 12});
  }
  return out;
}

}  // namespace

std::string text(const WhatIf& all, const Facts& facts, std::size_t width) {
  std::string out = paragraph(sentence(all), width) + "\n" + outcomes_table(all, width);
  out += about_same_steps(all, width);
  for (const ChangeOutcome& one : all.outcomes) {
    if (!one.no_rerun.empty()) out += fmt::format("no re-run of {}: {}\n", one.change.text, one.no_rerun);
  }
  return out + curves(all, facts, width);
}

Json document(const WhatIf& all) {
  const Rerun& was = all.original;
  Json changes = Json::array();
  for (const ChangeOutcome& one : all.outcomes) {
    const std::optional<SameSteps>& same = one.same_steps;
    const Rerun none;
    const Rerun& run = one.rerun ? *one.rerun : none;
    changes.push_back({{"change", one.change.text},
                       {"sets", one.sets},
                       {"same_steps_s", same ? Json(same->seconds) : Json()},
                       {"same_steps_measured", same ? Json(same->is_measured) : Json()},
                       {"rerun_s", one.rerun ? Json(run.end) : Json()},
                       {"speedup", same ? Json(was.end / same->seconds) : Json()},
                       {"loss", or_null(run.loss)},
                       {"accuracy", or_null(run.accuracy)},
                       {"reached", or_null(run.reached)},
                       {"stuck", one.rerun ? Json(run.is_stuck) : Json()},
                       {"no_rerun", one.no_rerun.empty() ? Json() : Json(one.no_rerun)}});
  }
  return {{"schema", "psim.what-if/2"},
          {"original",
           {{"seconds", was.end},
            {"loss", or_null(was.loss)},
            {"accuracy", or_null(was.accuracy)},
            {"reached", or_null(was.reached)},
            {"stuck", was.is_stuck}}},
          {"changes", std::move(changes)}};
}

}  // namespace psim::analysis
