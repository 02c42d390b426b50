
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>

#include "analysis/causes/words.hpp"
#include "analysis/page/page.hpp"
#include "analysis/page/study_parts.hpp"
#include "analysis/render/html.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/files.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {
namespace {

std::string header(const StudyView& view) {
  const Study& study = view.page.study;
  return fmt::format(
      "<header><p class=\"kind\">A study by psim {}: {}, {} run{}</p><h1>{}</h1>{}</header>",
      view.numbers("/psim"), escaped(study.name), view.document["runs"].size(),
      view.document["runs"].size() == 1 ? "" : "s", escaped(study.title.empty() ? study.name : study.title),
      view.page.target.empty() ? ""
                               : fmt::format("<p class=\"kind\">Target: {}</p>", escaped(view.page.target)));
}

bool is_about_workers(const Json& verdict) {
  return verdict.is_object() && verdict["kind"].get<std::string>().starts_with("worker-") &&
         !verdict["nodes"].empty();
}

// Which workers set the pace, or who waited: for the first arm where some workers stand out.
std::string waiting_heading(const StudyView& view) {
  for (const Cell& cell : view.page.study.cells) {
    const std::vector<WorkerShares> shares = worker_shares(cell);
    const std::string arm = escaped(arm_name(view, cell.arm));
    const Json verdict = cell.explained() != nullptr ? cell.explained()->cause["verdict"] : Json();
    if (is_about_workers(verdict) && verdict["nodes"].size() < shares.size())
      return fmt::format(
          "Under {} {} set the pace", arm,
          escaped(fmt::format("{}", fmt::join(verdict["nodes"].get<std::vector<std::string>>(), ", "))));
    if (const std::vector<WaitGroup> groups = wait_groups(shares); !groups.empty())
      return fmt::format("Under {} {}", arm, groups_text(groups));
  }
  return "What the workers did with their time";
}

// A note if updates of the arms use different numbers of gradients.
std::string updates_note(const StudyView& view) {
  constexpr double much = 3;
  for (const Aggregate& one : view.page.evaluation.aggregates) {
    if (arm_label(one.cell->arm) != "bsp" || one.measure("updates") == nullptr) continue;
    for (const Aggregate& other : view.page.evaluation.aggregates) {
      if (other.cell->condition != one.cell->condition || other.measure("updates") == nullptr) continue;
      if (other.measure("updates")->mean > much * one.measure("updates")->mean)
        return "<p class=\"hint\">Updates are not comparable: an update under bsp uses a gradient from every "
               "worker.</p>";
    }
  }
  return "";
}

std::string made(const StudyView& view) {
  const StudyPage& page = view.page;
  std::string out;
  if (!page.command.empty())
    out += fmt::format(
        "<p>This command makes the study again, in this folder:</p><pre class=\"command\">{}</pre>",
        escaped(page.command));
  if (!page.scenario.empty())
    out += fmt::format("<details><summary>The scenario</summary><pre>{}</pre></details>",
                       escaped(page.scenario));
  return out + fmt::format(
                   "<p class=\"kind\">psim {}, {}, build {}. Numbers are those of "
                   "<code>study.json</code>; point at one to see all its digits.</p>",
                   view.numbers("/psim"), view.numbers("/cpu_family"), view.numbers("/build"));
}

}  // namespace

std::size_t StudyView::series_of(const std::string& arm) const { return series_of_arm(page.study, arm); }

std::string arm_name(const StudyView& view, const std::string& arm) {
  const std::string label = arm_label(arm);
  const bool is_number = !label.empty() && std::isdigit(static_cast<unsigned char>(label.front())) != 0;
  return is_number ? fmt::format("{} = {}", heading_of_axis(view.page.study.arm_axis), label) : label;
}

std::string StudyView::path_of(const Aggregate& one) const {
  return fmt::format("/aggregates/{}", &one - page.evaluation.aggregates.data());
}

std::string time_html(const StudyView& view, const Aggregate& one, const char* bound) {
  const std::string path = view.path_of(one);
  if (!one.time_to_target) return view.numbers(path + "/time_s/mean", as_seconds);
  return (one.time_to_target->cut > 0 ? bound : "") +
         view.numbers(path + "/time_to_target/restricted_mean_s", as_seconds);
}

std::vector<WorkerShares> worker_shares(const Cell& cell) {
  std::vector<WorkerShares> shares;
  const auto runs = static_cast<double>(cell.runs.size());
  for (const StudyRun& run : cell.runs) {
    const Json& workers = run.summary["workers"];
    if (shares.empty()) shares.resize(workers.size());
    if (shares.size() != workers.size()) return {};
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].compute += workers[i]["compute_share"].get<double>() / runs;
      shares[i].wait += workers[i]["wait_share"].get<double>() / runs;
      shares[i].network += workers[i]["network_share"].get<double>() / runs;
    }
  }
  return shares;
}

std::vector<WaitGroup> wait_groups(const std::vector<WorkerShares>& shares) {
  std::vector<std::uint32_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return shares[i].wait; });
  constexpr double far = 0.2;
  std::size_t cut = 0;
  double widest = far;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const double gap = shares[order[i - 1]].wait - shares[order[i]].wait;
    if (gap >= widest) cut = i, widest = gap;
  }
  if (cut == 0) return {};
  std::vector<WaitGroup> groups(2);
  for (std::size_t i = 0; i < order.size(); ++i) groups[i < cut ? 0 : 1].workers.push_back(order[i]);
  for (WaitGroup& group : groups) {
    std::ranges::sort(group.workers);
    for (const std::uint32_t worker : group.workers) group.wait += shares[worker].wait;
    group.wait /= static_cast<double>(group.workers.size());
  }
  return groups;
}

std::string groups_text(const std::vector<WaitGroup>& groups) {
  return fmt::format("{} waited {:.0f} % of their time, {} {:.0f} %", workers_text(groups[0].workers),
                     100 * groups[0].wait, workers_text(groups[1].workers), 100 * groups[1].wait);
}

std::string workers_text(const std::vector<std::uint32_t>& workers) {
  return fmt::format("worker{} {}", workers.size() == 1 ? "" : "s", ranges_text(workers));
}

std::string study_page(const StudyPage& page) {
  const Json all = document(page.study, page.evaluation);
  const StudyView view{.page = page, .document = all, .numbers = Numbers(all)};
  const bool has_target = page.evaluation.has_target;
  const Json goal =  // only if all runs have the same target
      page.target.empty() ? Json() : goal_of(page.study.cells.front().runs.front().summary["target"]);
  const char* letters =
      "Each arm has a letter and a colour, the same in all figures; what workers do with their time has "
      "other colours.";
  std::string body = header(view);
  body += fmt::format("<section id=\"answer\">{}</section>", study_answer(view));
  body += section("curves", "How fast each arm learns",
                  fmt::format("{} Lines are means over seeds, bands their 95 % intervals. Along time a "
                              "finished run keeps its last value, and a line ends with the last of its runs.",
                              letters),
                  curve_figures(view) + axes_left_out(view) + updates_note(view));
  body += section("table", "Results",
                  "Means over seeds. [a, b]: 95 % interval; ±: standard deviation over seeds.",
                  results_table(view) + definitions_of(view) + remarks_of(view));
  body += section("times", has_target ? "Time to the target" : "Length of the runs",
                  "A dot is the run of one seed and links to it; the vertical line is the mean, the bar its "
                  "95 % interval.",
                  time_figures(view));
  body += section("waiting", waiting_heading(view),
                  fmt::format("Each bar is the time of a worker in the first run of its arm, with the seed "
                              "next to the arm: {}. The "
                              "heading is about all seeds.",
                              bar_keys),
                  waiting_figures(view));
  body += section("pareto", "Faster, but how many bytes?",
                  "Left and low is better; the percentage is the final accuracy. A filled mark is on the "
                  "Pareto front: no other arm is as good in time, bytes and accuracy, and better in one.",
                  pareto_figures(view));
  body += section("map", "Mean times over the conditions", "Darker is slower.", heat_maps(view));
  body += section("all-runs", "Every run", "", runs_table(view));
  body += section("made", "How this was made", "", made(view));
  return html_of({.title = (page.study.title.empty() ? page.study.name : page.study.title) + " - psim",
                  .body = body,
                  .data = {{"kind", "study"}, {"curves", curve_data(view)}, {"goal", goal}}});
}

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
