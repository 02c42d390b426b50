// A study as one JSON document.
#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/study/files.hpp"

namespace psim::analysis {
namespace {

// JSON has no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json number(const std::optional<double>& value) { return value ? number(*value) : Json(); }

Json interval(const statistics::Interval& i) { return Json::array({number(i.low), number(i.high)}); }
Json interval(const std::optional<statistics::Interval>& i) { return i ? interval(*i) : Json(); }

Json statistic_json(const Statistic* s) {
  if (s == nullptr) return nullptr;
  return {{"mean", number(s->mean)}, {"sd", number(s->sd)}, {"n", s->n}};
}

Json condition_json(const Study& study, const Cell& cell) {
  Json json = Json::object();
  for (std::size_t i = 0; i < study.condition_axes.size(); ++i)
    json[study.condition_axes[i]] = cell.condition[i];
  return json;
}

Json time_json(const std::optional<TimeToTarget>& time) {
  if (!time) return nullptr;
  return {{"restricted_mean_s", number(time->restricted_mean_s)},
          {"restricted_mean_ci95", interval(time->interval_s)},
          {"restricted_sd_s", number(time->restricted_sd_s)},
          {"median_s", number(time->median_s)},
          {"budget_s", number(time->budget_s)},
          {"method", time->by_kaplan_meier ? "kaplan-meier" : "restricted mean"}};
}

Json until_ci_json(const Study& study, const Evaluation& evaluation) {
  Json json = study.until_ci;
  if (evaluation.width) {
    json["widest"] = number(evaluation.width->widest);
    json["narrow"] = evaluation.width->narrow;
  }
  return json;
}

// Without replicates there is no p value.
Json reached_json(const VersusBaseline& versus) {
  if (!versus.reached) return nullptr;
  const ReachedByBoth& reached = *versus.reached;
  return {{"arm", reached.arm},
          {"baseline", reached.baseline},
          {"p_value", versus.is_test() ? Json(reached.p_value) : Json()},
          {"p_value_holm", number(reached.p_value_holm)},
          {"decides", decides_by_reached(versus)}};
}

Json versus_json(const Study& study, const Aggregate& a) {
  if (!a.versus) return nullptr;
  const VersusBaseline* versus = &*a.versus;
  const statistics::PairedComparison& pairs = versus->pairs;
  Json json = {
      {"ratio", pairs.ratio ? number(pairs.ratio->value) : Json()},
      {"ratio_ci95", pairs.ratio ? interval(pairs.ratio->interval) : Json()},
      {"difference_s", number(pairs.difference.value)},
      {"difference_ci95", interval(pairs.difference.interval)},
      {"p_better", pairs.better},
      {"p_better_unpaired", pairs.unpaired_better},
      {"p_value", versus->is_test() ? Json(pairs.test.p) : Json()},
      {"p_value_holm", number(versus->p_value_holm)},
      {"reached", reached_json(*versus)},
      {"seeds", pairs.seeds},
      {"order",
       versus->order ? Json{{"arm", versus->order->arm}, {"baseline", versus->order->baseline}} : Json()},
      {"learns", versus->learns},
      {"replicates", versus->replicates},
      {"predicted", versus->predicted},
      {"budget_s", number(versus->budget_s)},
      {"cut_arm", versus->cut_arm},
      {"cut_baseline", versus->cut_baseline},
      {"cut_both", versus->cut_both},
      {"trustworthy", pairs.trustworthy}};
  if (!study.until_ci.is_null() && has_width(*versus))
    json["narrow"] = is_narrow(*a.versus, study.until_ci["half_width"].get<double>());
  return json;
}

Json cause_json(const StudyRun* run) {
  if (run == nullptr) return nullptr;
  Json json = {{"seed", run->seed}};
  for (const char* key : {"total_s", "verdict", "by_kind", "sentence"}) json[key] = run->cause[key];
  return json;
}

Json aggregate_json(const Study& study, const Aggregate& a) {
  Json json = {{"arm", a.cell->arm},
               {"condition", condition_json(study, *a.cell)},
               {"n", a.n},
               {"reached", a.reached},
               {"diverged", a.diverged},
               {"unlearned", a.unlearned},
               {"time_to_target", time_json(a.time_to_target)},
               {"time_s", statistic_json(a.time ? &*a.time : nullptr)},
               {"versus_baseline", versus_json(study, a)},
               {"pareto", a.pareto},
               {"cause", cause_json(a.cell->explained())}};
  for (const Measure& measure : measures()) {
    if (measure.with && !a.measure(measure.with)) continue;
    json[measure.key] = statistic_json(a.measure(measure.key));
    if (std::string_view(measure.key) == "staleness") json["staleness_max"] = a.staleness_max;
  }
  return json;
}

Json profile_json(const ArmProfile& arm) {
  Json ratios = Json::array();
  for (const double ratio : arm.profile.ratios) ratios.push_back(number(ratio));
  return {{"arm", arm.arm}, {"score", arm.score}, {"ratios", ratios}};
}

// The budget, if all conditions share it.
Json common_budget_json(const Evaluation& evaluation) {
  std::set<double> budgets;
  for (const Aggregate& one : evaluation.aggregates) {
    if (one.time_to_target) budgets.insert(one.time_to_target->budget_s);
  }
  return budgets.size() == 1 ? number(*budgets.begin()) : Json();
}

}  // namespace

bool Cell::predicts() const {
  return !runs.empty() &&
         std::ranges::all_of(runs, [](const StudyRun& run) { return run.predicts.has_value(); });
}

const StudyRun* Cell::explained() const {
  const auto found = std::ranges::find_if(runs, [](const StudyRun& run) { return !run.cause.is_null(); });
  return found == runs.end() ? nullptr : &*found;
}

Json document(const Study& study, const Evaluation& evaluation) {
  const Json& first = study.cells.front().runs.front().summary;
  Json runs = Json::array(), aggregates = Json::array(), notes = Json::array(), profiles = Json::array();
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      Json entry = {{"run", run.run},
                    {"arm", cell.arm},
                    {"condition", condition_json(study, cell)},
                    {"seed", run.seed}};
      entry.update(run.summary);
      runs.push_back(std::move(entry));
    }
  }
  for (const Aggregate& one : evaluation.aggregates) aggregates.push_back(aggregate_json(study, one));
  for (const StudyNote& note : evaluation.notes)
    notes.push_back({{"name", note.name}, {"text", note.text}, {"runs", note.runs}});
  for (const ArmProfile& arm : evaluation.profiles) profiles.push_back(profile_json(arm));
  Json json = {{"schema", "psim.compare/2"},
               {"psim", first.value("psim", Json())},
               {"cpu_family", first.value("cpu_family", Json())},
               {"build", first.value("build", Json())},
               {"name", study.name},
               {"title", study.title},
               {"arm_axis", study.arm_axis},
               {"condition_axes", study.condition_axes},
               {"baseline", study.baseline},
               {"budget_s", common_budget_json(evaluation)},
               {"runs", std::move(runs)},
               {"aggregates", std::move(aggregates)}};
  if (evaluation.family.tests > 0)
    json["holm"] = {{"tests", evaluation.family.tests},
                    {"seeds", evaluation.family.seeds},
                    {"seeds_needed", evaluation.family.seeds_needed}};
  if (!profiles.empty()) json["profiles"] = std::move(profiles);
  if (!study.until_ci.is_null()) json["until_ci"] = until_ci_json(study, evaluation);
  if (!study.tuning.is_null()) json["tuning"] = study.tuning;
  json["notes"] = std::move(notes);
  return json;
}

}  // namespace psim::analysis
