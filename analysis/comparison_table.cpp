// The table of a comparison, for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "analysis/columns.hpp"
#include "analysis/comparison.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t most_columns = 120;  // of characters; a wider table is broken

Statistic scaled(Statistic s, double factor) {
  s.mean *= factor;
  if (s.sd) *s.sd *= factor;
  return s;
}

std::string text_of(const Statistic& s, int decimals) {
  std::string text = fmt::format("{:.{}f}", s.mean, decimals);
  if (s.sd) text += fmt::format(" ± {:.{}f}", *s.sd, decimals);
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

// A column of the table: its heading, and a group's cell.
struct Column {
  std::string heading;  // of an axis its key, else from columns.hpp
  bool is_label;
  std::function<std::string(const Group&)> cell;
  std::function<bool(const Group&)> is_zero = {};  // none: the column is always of interest
};

// What there is to say about failures, if anybody was suspected, anything copied, any server made good.
std::vector<Column> failure_columns(const Comparison& c) {
  const auto any = [&](auto member) {
    return std::ranges::any_of(c.groups, [=](const Group& g) { return g.*member && (g.*member)->mean > 0; });
  };
  std::vector<Column> columns;
  if (any(&Group::copied))
    columns.push_back({ColumnName("copied").heading(), false, [](const Group& g) {
                         return g.copied ? fmt::format("{:.4g}", g.copied->mean / 1e6) : "-";
                       }});
  if (any(&Group::suspicions))
    columns.push_back({ColumnName("suspected").heading(), false, [](const Group& g) {
                         if (!g.suspicions) return std::string("-");
                         return fmt::format("{:.1f} ({:.1f})", g.suspicions->mean, g.false_suspicions->mean);
                       }});
  if (any(&Group::recovery))
    columns.push_back({ColumnName("recovery").heading(), false,
                       [](const Group& g) { return g.recovery ? text_of(*g.recovery, 2) : "-"; }});
  return columns;
}

std::vector<Column> columns_of(const Comparison& c) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < c.axes.size(); ++i) {
    columns.push_back(
        {c.axes[i].substr(c.axes[i].rfind('.') + 1), true, [i](const Group& g) { return g.point[i]; }});
  }
  if (c.axes.empty())
    columns.push_back(
        {ColumnName("scenario").heading(), true, [](const Group& g) { return label_of(g.point); }});
  double slowest = 0;
  for (const Group& g : c.groups) slowest = std::max(slowest, g.time_at_least.mean);
  const auto any = [&](auto member) {
    return std::ranges::any_of(c.groups, [=](const Group& g) { return (g.*member).has_value(); });
  };
  const auto add = [&](ColumnName name, std::function<std::string(const Group&)> cell) {
    columns.push_back({name.heading(), false, std::move(cell)});
  };
  const auto add_percent = [&](ColumnName name, Statistic Group::*member) {
    columns.push_back({name.heading(), false, [=](const Group& g) { return text_of(g.*member, 1); },
                       [=](const Group& g) { return (g.*member).mean == 0; }});
  };

  add(c.has_target ? ColumnName("time to target") : ColumnName("time"), [=](const Group& g) {
    const int decimals = decimals_for(slowest);
    return g.time ? text_of(*g.time, decimals) : fmt::format("> {:.{}f}", g.time_at_least.mean, decimals);
  });
  if (c.has_target) add("reached", [](const Group& g) { return fmt::format("{}/{}", g.reached, g.runs); });
  if (c.groups.size() > 1)
    add("relative", [](const Group& g) { return g.relative ? text_of(*g.relative, 2) : "-"; });
  add("updates", [](const Group& g) { return text_of(g.updates, 0); });
  if (!c.has_target)
    add("per update", [](const Group& g) {
      return text_of(scaled(g.per_update, 1e3), decimals_for(1e3 * g.per_update.mean));
    });
  if (any(&Group::loss)) add("final loss", [](const Group& g) { return g.loss ? text_of(*g.loss, 4) : "-"; });
  if (any(&Group::accuracy))
    add("accuracy", [](const Group& g) { return g.accuracy ? text_of(scaled(*g.accuracy, 100), 2) : "-"; });
  columns.push_back(
      {ColumnName("staleness").heading(), false,
       [](const Group& g) { return fmt::format("{} ({:.0f})", text_of(g.staleness, 2), g.staleness_max); },
       [](const Group& g) { return g.staleness_max == 0; }});
  add_percent("compute", &Group::compute);
  add_percent("wait", &Group::wait);
  add_percent("network", &Group::network);
  if (std::ranges::any_of(c.groups, [](const Group& g) { return g.absent.mean > 0; }))
    add_percent("absent", &Group::absent);
  add("sent", [](const Group& g) { return fmt::format("{:.4g}", g.bytes.mean / 1e6); });
  const auto add_served = [&](ColumnName name, auto member, double factor) {
    if (!any(member)) return;
    add(name, [=](const Group& g) {
      const std::optional<Statistic>& s = g.*member;
      return s ? text_of(scaled(*s, factor), 2) : std::string("-");
    });
  };
  add_served("answer", &Group::latency, 1e3);
  add_served("served staleness", &Group::served_staleness, 1);
  add_served("served accuracy", &Group::served_accuracy, 100);
  std::ranges::move(failure_columns(c), std::back_inserter(columns));
  return columns;
}

std::size_t width_of(const Column& column, const Comparison& c) {
  std::size_t width = width_of(column.heading);
  for (const Group& g : c.groups) width = std::max(width, width_of(column.cell(g)));
  return width;
}

// One table of these columns.
std::string lines_of(const std::vector<const Column*>& columns, const Comparison& c) {
  std::string out;
  const auto row = [&](const std::function<std::string(const Column&)>& cell) {
    for (const Column* column : columns) {
      const std::string text = cell(*column), pad(width_of(*column, c) - width_of(text), ' ');
      out += column->is_label ? fmt::format("| {}{} ", text, pad) : fmt::format("| {}{} ", pad, text);
    }
    out += "|\n";
  };
  row([](const Column& column) { return column.heading; });
  for (const Column* column : columns) {
    const std::string dashes(width_of(*column, c) + 1, '-');
    out += column->is_label ? fmt::format("|:{}", dashes) : fmt::format("|{}:", dashes);
  }
  out += "|\n";
  for (const Group& g : c.groups) row([&](const Column& column) { return column.cell(g); });
  return out;
}

// The columns of each table: the labels, and as many others as there is room for.
std::vector<std::vector<const Column*>> split(const std::vector<Column>& columns, const Comparison& c) {
  std::vector<const Column*> labels;
  std::size_t label_width = 1;
  const auto room = [&](const Column& column) { return width_of(column, c) + 3; };
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
  std::vector<Column> columns = columns_of(c);
  std::vector<std::string> zero;
  std::erase_if(columns, [&](const Column& column) {
    if (!column.is_zero || !std::ranges::all_of(c.groups, column.is_zero)) return false;
    zero.push_back(column.heading.substr(0, column.heading.find(' ')));
    return true;
  });
  std::string out;
  for (const std::vector<const Column*>& part : split(columns, c))
    out += (out.empty() ? "" : "\n") + lines_of(part, c);
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
