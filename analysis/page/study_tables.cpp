// Tables of a study page: results, the meanings of marks, and runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "analysis/page/study_parts.hpp"
#include "analysis/render/html.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {
namespace {

// The place of the number of a column within an aggregate.
std::string place_of(const TableColumn& column) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> others{{
      {"time to target", "/time_to_target/restricted_mean_s"},
      {"time", "/time_s/mean"},
      {"versus baseline", "/versus_baseline/ratio"},
      {"reached", "/reached"},
      {"median", "/time_to_target/median_s"},
      {"p", "/versus_baseline/p_value_holm"},
  }};
  if (column.key != nullptr) return fmt::format("/{}/mean", column.key);
  return std::ranges::find(others, column.name.name(), &decltype(others)::value_type::first)->second;
}

// The columns that show first, in this order; the rest is under "all columns".
constexpr std::array<std::string_view, 9> first_columns{"time to target", "time",       "versus baseline",
                                                        "compute",        "wait",       "network",
                                                        "reached",        "final loss", "accuracy"};
std::size_t rank_of(const TableColumn* column) {
  return static_cast<std::size_t>(std::ranges::find(first_columns, column->name.name()) -
                                  first_columns.begin());
}

// "the best of 4 arms" needs no colour: a filled bar below the number says how large it is.
std::string cell_html(const StudyView& view, const TableColumn& column, const Aggregate& one, bool is_more) {
  const TableView table = view_of(view.page.study, view.page.evaluation, false);
  const std::string text = cell_text(column, table, one), path = view.path_of(one) + place_of(column);
  const bool is_number = !view.numbers.at(path).is_null();
  return fmt::format("<td class=\"{}{}\">{}</td>", column.is_text ? "text" : "number", is_more ? " more" : "",
                     is_number ? view.numbers.told(path, text) : escaped(text));
}

}  // namespace

std::string letter_html(std::size_t series) {
  return fmt::format("<b class=\"letter s{}\">{}</b>", series % 8, letter_of(series));
}

std::string results_table(const StudyView& view) {
  const Study& study = view.page.study;
  const TableView table = view_of(study, view.page.evaluation, false);
  std::vector<const TableColumn*> all = choose_columns(table, true).columns;
  std::ranges::stable_sort(all, {}, rank_of);
  const auto is_more = [](const TableColumn* column) { return rank_of(column) == first_columns.size(); };
  std::string out =
      "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"results\"><table "
      "id=\"results\"><thead><tr>";
  out += head(heading_of_axis(study.arm_axis), "What is compared.");
  for (const std::string& axis : study.condition_axes)
    out += head(heading_of_axis(axis), "A condition: " + axis);
  for (const TableColumn* column : all)
    out += head(column->name, is_more(column) ? "number more" : column->is_text ? "" : "number");
  out += "</tr></thead><tbody>";
  for (const std::vector<const Aggregate*>& condition : by_condition(view.page.evaluation.aggregates)) {
    for (const Aggregate* one : condition) {
      const std::string& arm = one->cell->arm;
      out += fmt::format("<tr{}><th scope=\"row\">{} {}</th>",
                         one == condition.front() ? " class=\"begins\"" : "",
                         letter_html(view.series_of(arm)), escaped(arm_label(arm)));
      for (const std::string& value : one->cell->condition)
        out += fmt::format("<td class=\"text\">{}</td>", escaped(value));
      for (const TableColumn* column : all) out += cell_html(view, *column, *one, is_more(column));
      out += "</tr>";
    }
  }
  return out +
         "</tbody></table></div><p class=\"hint scrolls\">The table continues to the right: scroll it.</p>";
}

std::string definitions_of(const StudyView& view) {
  std::string arms, fields;
  std::set<std::string> known, defined;
  for (const Cell& cell : view.page.study.cells) {
    const auto found = view.page.arms.find(cell.arm);
    if (found == view.page.arms.end() || !known.insert(cell.arm).second) continue;
    std::vector<std::string> parts;
    std::vector<ArmField> set = found->second;  // values with explanations first, then numbers
    std::ranges::stable_partition(set, &ArmField::of_value);
    for (const ArmField& one : set) {
      const std::string what = fmt::format("{} = {}", one.field, one.value);
      parts.push_back(one.of_value ? fmt::format("<b>{}</b>: {}", escaped(what), escaped(one.doc))
                                   : fmt::format("<b>{}</b>", escaped(what)));
      if (one.of_value || one.doc.empty() || !defined.insert(one.field).second) continue;
      fields += fmt::format("<dt><code>{}</code></dt><dd>{}</dd>", escaped(one.field), escaped(one.doc));
    }
    // "servers = 16" needs no line: the definition of the field is enough.
    if (found->second.size() == 1 && !found->second.front().of_value && view.page.study.arm_axis != "arm")
      continue;
    arms += fmt::format(
        "<dt>{} {}</dt><dd>{}</dd>", letter_html(view.series_of(cell.arm)), escaped(arm_label(cell.arm)),
        parts.empty() ? "the scenario as it is" : fmt::format("{}", fmt::join(parts, "<br>")));
  }
  return arms.empty() && fields.empty() ? "" : fmt::format("<dl class=\"terms\">{}{}</dl>", arms, fields);
}

std::string remarks_of(const StudyView& view) {
  std::istringstream lines(remarks(view.page.study, view.page.evaluation));
  std::string out, text;
  for (std::string line; std::getline(lines, line);) text += line + "\n";
  return text.empty() ? ""
                      : fmt::format(
                            "<details><summary>Meanings of the marks, and notes</summary><pre "
                            "class=\"words\">{}</pre></details>",
                            escaped(text));
}

std::string runs_table(const StudyView& view) {
  std::string out =
      "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"runs\"><table id=\"runs\"><thead><tr>" +
      head(heading_of_axis(view.page.study.arm_axis), "What is compared.");
  for (const std::string& axis : view.page.study.condition_axes) out += head(heading_of_axis(axis), axis);
  const bool has_target = view.page.evaluation.has_target;
  out += head("seed") + (has_target ? head(ColumnName("to target", "a report")) : "") +
         head(ColumnName("length", "a report"));
  out += head("updates") + head("final loss") + head("digest") + head("the run") + "</tr></thead><tbody>";
  const Json& runs = view.document["runs"];
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string path = fmt::format("/runs/{}", i), hash = runs[i]["run"], arm = runs[i]["arm"];
    out += fmt::format("<tr id=\"run-{}-{}\" tabindex=\"-1\"><th scope=\"row\">{} {}</th>", i, escaped(hash),
                       letter_html(view.series_of(arm)), escaped(arm_label(arm)));
    for (const auto& [axis, value] : runs[i]["condition"].items())
      out += fmt::format("<td class=\"text\">{}</td>", escaped(value.get<std::string>()));
    const bool reached = runs[i]["target"]["reached"];
    out += fmt::format("<td class=\"number\">{}</td>", view.numbers(path + "/seed"));
    if (has_target)
      out += fmt::format("<td class=\"number\">{}</td>",
                         reached ? view.numbers(path + "/target/sim_time_s") : "-");
    for (const char* key : {"/sim_time_s", "/updates", "/final/loss"})
      out += fmt::format("<td class=\"number\">{}</td>", view.numbers(path + key, {.digits = 4}));
    out += fmt::format("<td><code>{:.8}</code></td>", escaped(runs[i]["digest"].get<std::string>()));
    const auto place = view.page.runs.find(hash);
    const RunPlace known = place == view.page.runs.end() ? RunPlace{} : place->second;
    out += fmt::format(
        "<td class=\"text\">{}<details><summary>command, in this folder</summary><code "
        "class=\"command\">{}</code></details></td></tr>",
        known.report.empty() ? "" : fmt::format("<a href=\"{}\">report</a> ", escaped(known.report)),
        escaped(known.command));
  }
  return out + "</tbody></table></div>";
}

}  // namespace psim::analysis
