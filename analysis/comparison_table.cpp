// The table of a comparison, for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/columns.hpp"
#include "analysis/comparison.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t most_columns = 120;  // of characters; a wider table is broken

std::string text_of(const Statistic& s, int decimals, double scale = 1) {
  std::string text = fmt::format("{:.{}f}", scale * s.mean, decimals);
  if (s.sd) text += fmt::format(" ± {:.{}f}", scale * *s.sd, decimals);
  return text;
}

// Enough decimals to show three digits of a mean.
int decimals_for(double value) {
  if (!(std::abs(value) > 0)) return 1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// A column of the table, with a cell for each group.
struct Column {
  Column(std::string its_heading, bool names_row, const Comparison& c,
         const std::function<std::string(const Group&)>& cell)
      : heading(std::move(its_heading)), is_label(names_row), width(width_of(heading)) {
    for (const Group& g : c.groups) width = std::max(width, width_of(cells.emplace_back(cell(g))));
  }
  std::string heading;  // of an axis its key, else from columns.hpp
  bool is_label;
  std::vector<std::string> cells = {};  // of the groups
  std::size_t width;
};

// How a measure is shown.
constexpr int three_digits = -1, megabytes = -2;
enum class Where : std::uint8_t { known, not_zero, named_if_zero };  // in any row
struct Shown {
  ColumnName column;
  const char* key;  // of the measure
  double scale = 1;
  int decimals = 2;
  Where where = Where::known;
};
constexpr Shown shown[] = {
    {"updates", "updates", 1, 0},
    {"per update", "s_per_update", 1e3, three_digits},
    {"final loss", "final_loss", 1, 4},
    {"accuracy", "final_accuracy", 100},
    {"staleness", "staleness", 1, 2, Where::named_if_zero},
    {"compute", "compute_percent", 1, 1, Where::named_if_zero},
    {"wait", "wait_percent", 1, 1, Where::named_if_zero},
    {"network", "network_percent", 1, 1, Where::named_if_zero},
    {"absent", "absent_percent", 1, 1, Where::not_zero},
    {"sent", "bytes_sent", 1, megabytes},
    {"answer", "answer_latency_s", 1e3},
    {"served staleness", "served_staleness"},
    {"served accuracy", "served_accuracy", 100},
    {"copied", "copied_bytes", 1, megabytes, Where::not_zero},
    {"suspected", "suspicions", 1, 1, Where::not_zero},
    {"recovery", "recovery_s", 1, 2, Where::not_zero},
};

std::string cell_of(const Group& g, const Shown& one) {
  const Statistic* s = g.measure(one.key);
  const std::string_view key = one.key;
  if (s == nullptr) return "-";
  if (one.decimals == megabytes) return fmt::format("{:.4g}", s->mean / 1e6);
  if (key == "suspicions")
    return fmt::format("{:.1f} ({:.1f})", s->mean, g.measure("false_suspicions")->mean);
  const int decimals = one.decimals == three_digits ? decimals_for(one.scale * s->mean) : one.decimals;
  const std::string text = text_of(*s, decimals, one.scale);
  return key == "staleness" ? fmt::format("{} ({:.0f})", text, g.staleness_max) : text;
}

// The columns of the table. Appends to `zero` the names of those that are left out as 0 in every row.
std::vector<Column> columns_of(const Comparison& c, std::vector<std::string_view>& zero) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < c.axes.size(); ++i) {
    const std::string key = c.axes[i].substr(c.axes[i].rfind('.') + 1);
    columns.emplace_back(key, true, c, [i](const Group& g) { return g.point[i]; });
  }
  const auto add = [&](ColumnName name, const std::function<std::string(const Group&)>& cell) {
    columns.emplace_back(name.heading(), name.name() == "scenario", c, cell);
  };
  if (c.axes.empty()) add("scenario", [](const Group& g) { return label_of(g.point); });
  double slowest = 0;
  for (const Group& g : c.groups) slowest = std::max(slowest, g.time_at_least.mean);
  add(c.has_target ? ColumnName("time to target") : ColumnName("time"), [=](const Group& g) {
    const int decimals = decimals_for(slowest);
    return g.time ? text_of(*g.time, decimals) : fmt::format("> {:.{}f}", g.time_at_least.mean, decimals);
  });
  if (c.has_target) add("reached", [](const Group& g) { return fmt::format("{}/{}", g.reached, g.runs); });
  if (c.groups.size() > 1)
    add("relative", [](const Group& g) { return g.relative ? text_of(*g.relative, 2) : "-"; });
  for (const Shown& one : shown) {
    const auto is_known = [&](const Group& g) { return g.measure(one.key) != nullptr; };
    const auto is_more = [&](const Group& g) { return is_known(g) && g.measure(one.key)->mean > 0; };
    if (std::string_view(one.key) == "s_per_update" && c.has_target) continue;
    if (std::ranges::none_of(c.groups, is_known)) continue;
    if (one.where == Where::known || std::ranges::any_of(c.groups, is_more))
      add(one.column, [&](const Group& g) { return cell_of(g, one); });
    else if (one.where == Where::named_if_zero) zero.push_back(one.column.name());
  }
  return columns;
}

// One table of these columns.
std::string lines_of(const std::vector<const Column*>& columns, std::size_t groups) {
  std::string out;
  const auto row = [&](const auto& cell) {
    for (const Column* column : columns) {
      const std::string& text = cell(*column);
      const std::string pad(column->width - width_of(text), ' ');
      out += column->is_label ? fmt::format("| {}{} ", text, pad) : fmt::format("| {}{} ", pad, text);
    }
    out += "|\n";
  };
  row([](const Column& column) -> const std::string& { return column.heading; });
  for (const Column* column : columns) {
    const std::string dashes(column->width + 1, '-');
    out += column->is_label ? fmt::format("|:{}", dashes) : fmt::format("|{}:", dashes);
  }
  out += "|\n";
  for (std::size_t g = 0; g < groups; ++g)
    row([g](const Column& column) -> const std::string& { return column.cells[g]; });
  return out;
}

// The columns of each table: the labels, and as many others as there is room for.
std::vector<std::vector<const Column*>> split(const std::vector<Column>& columns) {
  std::vector<const Column*> labels;
  std::size_t label_width = 1;
  const auto room = [](const Column& column) { return column.width + 3; };
  for (const Column& column : columns) {
    if (!column.is_label) continue;
    labels.push_back(&column);
    label_width += room(column);
  }
  std::vector<std::vector<const Column*>> tables{labels};
  std::size_t width = label_width;
  for (const Column& column : columns) {
    if (column.is_label) continue;
    if (width + room(column) > most_columns && tables.back().size() > labels.size()) {
      tables.push_back(labels);
      width = label_width;
    }
    tables.back().push_back(&column);
    width += room(column);
  }
  return tables;
}

}  // namespace

std::string label_of(const std::vector<std::string>& point) {
  return point.empty() ? "as it is" : fmt::format("{}", fmt::join(point, ", "));
}

std::string table(const Comparison& c) {
  std::vector<std::string_view> zero;
  const std::vector<Column> columns = columns_of(c, zero);
  std::string out;
  for (const std::vector<const Column*>& part : split(columns))
    out += (out.empty() ? "" : "\n") + lines_of(part, c.groups.size());
  if (!zero.empty()) out += fmt::format("0 in every row: {}\n", fmt::join(zero, ", "));
  for (const Group& g : c.groups) {
    if (!c.has_target || g.reached == g.runs) continue;
    out += fmt::format(
        "{}: {} of {} reached the target; `>` counts the whole run for {}, so the mean is longer than that\n",
        label_of(g.point), g.reached, g.runs, g.reached == 0 ? "all" : "the others");
  }
  return out;
}

}  // namespace psim::analysis
