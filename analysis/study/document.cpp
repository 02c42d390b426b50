// A study as one JSON document.

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/render/svg_chart.hpp"
#include "analysis/render/text_table.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/files.hpp"
#include "model/base/database.hpp"

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

namespace {

constexpr std::size_t points_of_curves = 200;

constexpr std::array<std::string_view, 12> file_names{
    "README.txt",    "analysis.R",    "analysis.py", "curves.csv", "curves.tex", "curves_mean.csv",
    "manifest.json", "results.jsonl", "runs.csv",    "study.db",   "study.json", "trials.csv"};

// The files that analysis.R and pdflatex create.
constexpr std::array<std::string_view, 4> made_names{"curves.aux", "curves.log", "curves.pdf", "losses.pdf"};

constexpr const char* analysis_py =
#include "analysis/study/snippets/analysis.py.inc"
    ;
constexpr const char* analysis_r =
#include "analysis/study/snippets/analysis.R.inc"
    ;
constexpr const char* readme =
#include "analysis/study/snippets/README.txt.inc"
    ;

// Losses span decades, so the axis is logarithmic if all values and intervals are above zero.
bool all_positive(const ConditionCurves& condition) {
  return std::ranges::all_of(condition.curves, [](const MeanCurve& curve) {
    return std::ranges::all_of(curve.band, [](const statistics::BandPoint& point) {
      return (point.interval ? point.interval->low : point.mean) > 0;
    });
  });
}

// One axis, with the curves from `number` on; increases `number`.
std::string axis_of(const ConditionCurves& condition, std::size_t& number) {
  const char* axis = all_positive(condition) ? "semilogyaxis" : "axis";
  std::string out = fmt::format(
      "\\begin{{tikzpicture}}\n\\begin{{{}}}[width=12cm, height=7cm, xlabel={{simulated time [s]}}, "
      "ylabel={{loss}},\n"
      "  title={{{}}}, legend pos=outer north east, legend cell align=left, legend style={{font=\\small}}]\n",
      axis, latex(condition.label));
  std::size_t colour = 0;
  for (const MeanCurve& curve : condition.curves) {
    if (curve.band.empty()) continue;
    const auto from = [&](const char* column) {
      return fmt::format("table [x=t{0}, y={1}{0}, col sep=comma] {{curves_mean.csv}};\n", number, column);
    };
    if (curve.band.front().interval) {
      out += fmt::format("\\addplot [name path=low{}, draw=none, forget plot] {}", number, from("low"));
      out += fmt::format("\\addplot [name path=high{}, draw=none, forget plot] {}", number, from("high"));
      out += fmt::format("\\addplot [c{1}, opacity=0.2, forget plot] fill between [of=low{0} and high{0}];\n",
                         number, colour % std::size(arm_colours));
    }
    out += fmt::format("\\addplot [c{}, thick, no marks] {}\\addlegendentry{{{}}}\n",
                       colour % std::size(arm_colours), from("mean"), latex(curve.label));
    ++number;
    ++colour;
  }
  return out + fmt::format("\\end{{{}}}\n\\end{{tikzpicture}}\n\n", axis);
}

std::string with_baseline(std::string text, const std::string& baseline) {
  constexpr std::string_view mark = "BASELINE";
  std::string escaped;
  for (const char c : baseline) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return text.replace(text.find(mark), mark.size(), escaped);
}

std::string curves_tex(const Study& study, std::size_t points) {
  std::string out =
      "% The mean losses of the study's arms with their 95 % intervals: pdflatex curves.tex\n"
      "\\documentclass{article}\n\\usepackage[a4paper, landscape, margin=2cm]{geometry}\n"
      "\\usepackage{pgfplots}\n\\pgfplotsset{compat=1.16}\n\\usepgfplotslibrary{fillbetween}\n";
  for (std::size_t i = 0; i < std::size(arm_colours); ++i)
    out += latex_colour(fmt::format("c{}", i), arm_colours[i]) + "\n";
  out += "\\begin{document}\n\\noindent\n";
  std::size_t number = 0;
  for (const ConditionCurves& condition : mean_curves(study, points)) {
    const auto drawn = [](const MeanCurve& curve) { return !curve.band.empty(); };
    if (std::ranges::any_of(condition.curves, drawn)) out += axis_of(condition, number);
  }
  return number == 0 ? "" : out + "\\end{document}\n";
}

}  // namespace

std::span<const std::string_view> study_file_names() { return file_names; }
std::span<const std::string_view> made_file_names() { return made_names; }

std::vector<StudyFile> study_files(const Study& study, const Evaluation& evaluation) {
  std::vector<StudyFile> files{{"study.json", document(study, evaluation).dump(1) + "\n"},
                               {"runs.csv", runs_csv(study)},
                               {"curves.csv", curves_csv(study)},
                               {"README.txt", readme},
                               {"analysis.py", analysis_py},
                               {"analysis.R", with_baseline(analysis_r, study.baseline)}};
  if (std::string curves = mean_curves_csv(study, points_of_curves); !curves.empty()) {
    files.push_back({"curves_mean.csv", std::move(curves)});
    files.push_back({"curves.tex", curves_tex(study, points_of_curves)});
  }
  if (study.tuning.contains("settings")) files.push_back({"trials.csv", trials_csv(study)});
  return files;
}

namespace {

constexpr const char* study_schema =
#include "analysis/study/schema.sql.inc"
    ;

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) : db_(path) {
    db_.execute(study_schema);
    db_.execute("BEGIN");
  }

  // Values: null, text or number.
  void insert(const std::string& table, const std::vector<Json>& values) {
    Statement& insert = statement_into(table, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bind(insert, static_cast<int>(i + 1), values[i]);
    insert.execute();
  }

  void finish() {
    db_.execute("COMMIT");
    inserts_.clear();
    db_.close();
  }

 private:
  Statement& statement_into(const std::string& table, std::size_t columns) {
    if (const auto found = inserts_.find(table); found != inserts_.end()) return found->second;
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (std::size_t i = 1; i < columns; ++i) sql += ",?";
    return inserts_.try_emplace(table, db_, sql + ")").first->second;
  }
  static void bind(Statement& statement, int i, const Json& value) {
    if (value.is_number_float()) statement.bind(i, value.get<double>());
    else if (value.is_number()) statement.bind(i, value.get<std::int64_t>());
    else if (value.is_string()) statement.bind(i, value.get_ref<const std::string&>());
    else statement.bind(i, nullptr);
  }

  OutputDatabase db_;
  std::map<std::string, Statement> inserts_;  // by table
};

void write_run(Writer& writer, const Study& study, const Cell& cell, const StudyRun& run,
               std::int64_t number) {
  const RunTime time = run_time(run);
  writer.insert("runs", {number, run.run, cell.arm, run.seed, time.time_s, time.reached, time.budget_s});
  for (std::size_t i = 0; i < study.condition_axes.size(); ++i)
    writer.insert("conditions", {number, study.condition_axes[i], cell.condition[i]});
  for (const Measure& measure : measures()) {
    const Json value = value_of(measure, run.summary);
    if (!value.is_null()) writer.insert("measures", {number, measure.key, value});
  }
  for (const Json& point : run.summary["curve"]) {
    std::vector<Json> values{number};
    for (const char* key : curve_keys) values.push_back(point.value(key, Json()));
    writer.insert("curves", values);
  }
}

}  // namespace

void write_database(const std::filesystem::path& path, const Study& study) {
  Writer writer(path);
  writer.insert("study", {"name", study.name});
  writer.insert("study", {"title", study.title});
  writer.insert("study", {"arm_axis", study.arm_axis});
  writer.insert("study", {"baseline", study.baseline});
  std::int64_t number = 0;
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) write_run(writer, study, cell, run, number++);
  }
  writer.finish();
}

}  // namespace psim::analysis
