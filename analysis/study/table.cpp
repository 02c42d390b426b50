// The table of a study.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "analysis/render/text_table.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"

namespace psim::analysis {
namespace {

using Picked = std::vector<const TableColumn*>;
using TextColumns = std::vector<const TextColumn*>;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// On a command line a name may have hyphens (so it needs no quotes), and spaces around it.
std::string name_asked_for(std::string name) {
  std::ranges::replace(name, '-', ' ');
  name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

// One row: aggregates with the same runs and the same cells.
struct TableRow {
  std::vector<const Aggregate*> members;
  std::vector<std::string> labels;  // arm, then the condition
  std::vector<std::string> cells;
  bool begins_condition = false;
};

// The rows, by condition.
std::vector<TableRow> rows_of(const TableView& view, const Picked& columns) {
  std::vector<TableRow> rows;
  for (const std::vector<const Aggregate*>& condition : by_condition(view.evaluation.aggregates)) {
    bool is_first = true;
    for (const Aggregate* one : condition) {
      TableRow row{.members = {one}, .labels = {arm_label(one->cell->arm)}, .cells = {}};
      std::ranges::copy(one->cell->condition, std::back_inserter(row.labels));
      for (const TableColumn* column : columns) row.cells.push_back(cell_text(*column, view, *one));
      const auto same = std::ranges::find_if(rows, [&](const TableRow& other) {
        return same_runs(*other.members.front()->cell, *one->cell) && other.cells == row.cells;
      });
      if (same == rows.end()) {
        row.begins_condition = std::exchange(is_first, false);
        rows.push_back(std::move(row));
        continue;
      }
      same->members.push_back(one);
      for (std::size_t i = 0; i < row.labels.size(); ++i) add_label(same->labels[i], row.labels[i]);
    }
  }
  return rows;
}

// The rows of the fastest arms, which reached the target and learned no less than another.
std::vector<std::size_t> best_rows(const Evaluation& evaluation, const std::vector<TableRow>& rows) {
  std::vector<std::size_t> best;
  for (const std::vector<const Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    const Aggregate* fastest = nullptr;
    for (const Aggregate* one : condition) {
      const bool missed = one->time_to_target && one->time_to_target->cut > 0;
      if (missed || one->better != nullptr || one->fails() || !mean_time(*one)) continue;
      if (fastest == nullptr || *mean_time(*one) < *mean_time(*fastest)) fastest = one;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (condition.size() > 1 && std::ranges::count(rows[i].members, fastest) > 0) best.push_back(i);
    }
  }
  return best;
}

// The columns as texts; the first columns name the rows.
std::vector<TextColumn> texts_of(const TableView& view, const std::vector<TableRow>& rows,
                                 const Picked& columns) {
  std::vector<TextColumn> texts{TextColumn::called(heading_of_axis(view.study.arm_axis), true)};
  for (const std::string& axis : view.study.condition_axes)
    texts.push_back(TextColumn::called(heading_of_axis(axis), true));
  const std::size_t labels = texts.size();
  for (const TableColumn* column : columns) texts.emplace_back(column->name, column->is_text);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < labels; ++i) texts[i].cells.push_back(row.labels[i]);
    for (std::size_t i = 0; i < columns.size(); ++i) texts[labels + i].cells.push_back(row.cells[i]);
  }
  return texts;
}

// Tables of at most `width`, each with the first `labels` columns.
std::vector<TextColumns> split(const std::vector<TextColumn>& columns, std::size_t labels,
                               std::size_t width) {
  TextColumns names;
  for (std::size_t i = 0; i < labels; ++i) names.push_back(&columns[i]);
  std::vector<TextColumns> tables{names};
  for (std::size_t i = labels; i < columns.size(); ++i) {
    TextColumns more = tables.back();
    more.push_back(&columns[i]);
    if (natural_width(more) > width && tables.back().size() > labels) tables.push_back(names);
    tables.back().push_back(&columns[i]);
  }
  return tables;
}

// One table: the mandatory columns (as narrow as necessary), and the other columns that fit. Appends the
// names of the rest to `left_out`.
TextColumns fit(const std::vector<TextColumn>& columns, std::size_t labels, const Picked& picked,
                const TableView& view, std::size_t width, std::vector<std::string_view>& left_out) {
  TextColumns table;
  for (std::size_t i = 0; i < labels; ++i) table.push_back(&columns[i]);
  for (std::size_t i = 0; i < picked.size(); ++i) {
    table.push_back(&columns[labels + i]);
    const Place place = picked[i]->place;
    const bool must = place == Place::by_work ? view.evaluation.unequal_updates
                                              : place != Place::if_room && place != Place::without_target;
    const std::size_t least = least_width(table), natural = natural_width(table);
    constexpr std::size_t readable = 10;  // room beyond a column of single words
    if ((must ? std::min(natural, least + readable) : natural) <= width) continue;
    table.pop_back();
    left_out.push_back(picked[i]->name.name());
  }
  return table;
}

std::string profile_table(const Evaluation& evaluation, const Study& study, const TableOptions& options) {
  std::vector<TextColumn> columns{TextColumn::called(heading_of_axis(study.arm_axis), true), {"score"}};
  struct Within {
    double factor;
    ColumnName name;
  };
  constexpr Within factors[] = {{1, "best"}, {1.5, "within 1.5x"}, {2, "within 2x"}, {4, "within 4x"}};
  for (const auto& [factor, name] : factors) columns.emplace_back(name);
  for (const ArmProfile& arm : evaluation.profiles) {
    columns[0].cells.push_back(arm_label(arm.arm));
    columns[1].cells.push_back(fmt::format("{:.2f}", arm.score));
    for (std::size_t i = 0; i < std::size(factors); ++i) {
      const auto conditions = static_cast<double>(arm.profile.ratios.size());
      columns[2 + i].cells.push_back(fmt::format(
          "{:.0f}/{}", statistics::share_within(arm.profile, factors[i].factor) * conditions, conditions));
    }
  }
  TextColumns all;
  for (const TextColumn& column : columns) all.push_back(&column);
  return "\n" + render(all, {}, options.format, options.width);
}

}  // namespace

const TableColumn& column_called(const std::string& asked) {
  const std::string name = name_asked_for(asked);
  std::vector<std::string> known;
  const TableColumn* nearest = nullptr;
  for (const TableColumn& column : table_columns()) {
    if (column.name.name() == name) return column;
    std::ranges::replace(known.emplace_back(column.name.name()), ' ', '-');
    if (nearest == nullptr || distance(name, column.name.name()) < distance(name, nearest->name.name()))
      nearest = &column;
  }
  std::string near(nearest->name.name());
  std::ranges::replace(near, ' ', '-');
  throw std::invalid_argument(fmt::format("no column is called `{}`: did you mean `{}`? There are: {}", asked,
                                          near, fmt::join(known, ", ")));
}

TableView view_of(const Study& study, const Evaluation& evaluation, bool brief) {
  TableView view{.study = study, .evaluation = evaluation, .brief = brief};
  for (const Aggregate& one : evaluation.aggregates)
    view.slowest_s = std::max({view.slowest_s, one.time_to_target ? one.time_to_target->restricted_mean_s : 0,
                               one.time ? one.time->mean : 0});
  return view;
}

ColumnChoice choose_columns(const TableView& view, bool wide) {
  ColumnChoice choice;
  const std::vector<Aggregate>& rows = view.evaluation.aggregates;
  for (const TableColumn& column : table_columns()) {
    if (column.place == (wide ? Place::narrow : Place::wide)) continue;
    const auto known = [&](const Aggregate& row) { return is_known(column, view, row); };
    const auto zero = [&](const Aggregate& row) {
      return !known(row) || !(row.measure(column.key)->mean > 0);
    };
    if (std::ranges::none_of(rows, known)) continue;
    if (column.name.name() == "versus baseline" && !compares_times(view.evaluation)) continue;
    if (column.place == Place::without_target && view.evaluation.has_target && !wide) continue;
    if (column.if_zero != IfZero::shown && std::ranges::all_of(rows, zero)) {
      if (column.if_zero == IfZero::named) choice.zero.push_back(column.name.name());
      continue;
    }
    choice.columns.push_back(&column);
  }
  return choice;
}

namespace {

// Without a target the time is that of the whole run, with a target that to the target.
const TableColumn& time_of_study(const TableColumn& asked, const Evaluation& evaluation) {
  if (asked.name.name() == "time" && evaluation.has_target) return column_called("time to target");
  return asked.name.name() == "time to target" && !evaluation.has_target ? column_called("time") : asked;
}

}  // namespace

std::string table(const Study& study, const Evaluation& evaluation, const TableOptions& options) {
  const bool asked = !options.columns.empty(), brief = !asked && !options.wide;
  const TableView view = view_of(study, evaluation, brief);
  ColumnChoice choice;
  if (asked) {
    for (const std::string& name : options.columns)
      choice.columns.push_back(&time_of_study(column_called(name), evaluation));
  } else {
    choice = choose_columns(view, options.wide);
  }
  const std::vector<TableRow> rows = rows_of(view, choice.columns);
  std::vector<std::size_t> breaks;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].begins_condition &&
        std::ranges::any_of(rows, [](const TableRow& r) { return !r.begins_condition; }))
      breaks.push_back(i);
  }
  const std::vector<TextColumn> texts = texts_of(view, rows, choice.columns);
  const std::size_t labels = 1 + study.condition_axes.size();
  std::vector<std::string_view> left_out;
  std::vector<TextColumns> tables;
  if (brief) tables.push_back(fit(texts, labels, choice.columns, view, options.width, left_out));
  else tables = split(texts, labels, options.width);
  std::vector<std::size_t> bold;
  if (options.bold_best && compares_times(evaluation)) bold = best_rows(evaluation, rows);
  std::string out;
  for (const TextColumns& one : tables)
    out += (out.empty() ? "" : "\n") + render(one, breaks, options.format, options.width, bold);
  const auto say = [&](const std::string& what, const std::vector<std::string_view>& names) {
    if (!names.empty())
      out += render_line(fmt::format("{}: {}", what, fmt::join(names, ", ")), options.format, options.width);
  };
  std::vector<std::string_view> unknown;
  for (const TableColumn* column : choice.columns) {
    if (std::ranges::none_of(evaluation.aggregates,
                             [&](const Aggregate& row) { return is_known(*column, view, row); }))
      unknown.push_back(column->name.name());
  }
  say("no run has a value", unknown);
  say("0 in every row", choice.zero);
  say(fmt::format("not shown, no room in {} columns (--wide shows all)", options.width), left_out);
  if (options.format != TableFormat::text &&
      std::ranges::any_of(evaluation.aggregates, [](const Aggregate& row) { return row.n > 1; }))
    out += render_line(meaning_of_marks(evaluation, options), options.format, options.width);
  if (!evaluation.profiles.empty() && !asked) out += profile_table(evaluation, study, options);
  return out;
}

}  // namespace psim::analysis
