#include "analysis/calibrate/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "analysis/calibrate/tool_outputs.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

struct SecondsColumn {
  std::string_view name;
  double seconds;
};
constexpr std::array<SecondsColumn, 2> step_columns{{{"step_s", 1}, {"step_ms", 1e-3}}};
constexpr std::array<SecondsColumn, 2> compute_columns{{{"compute_s", 1}, {"compute_ms", 1e-3}}};

// Columns with a short name of their own, and the field of each.
struct ShortName {
  std::string_view name, field;
};
constexpr std::array<ShortName, 5> short_names{{{"workers", "cluster.workers"},
                                                {"servers", "cluster.servers"},
                                                {"consistency", "consistency"},
                                                {"steps", "training.steps"},
                                                {"seed", "seed"}}};
constexpr std::string_view model_column = "model_bytes", slow_column = "slowdown";

template <class Table>
const typename Table::value_type* row_of(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Table::value_type::name);
  return found == table.end() ? nullptr : &*found;
}

// Refuses a header with two of these columns.
template <class Table>
void refuse_two(const std::string& path, const Cells& header, const Table& columns) {
  Cells found;
  std::ranges::copy_if(header, std::back_inserter(found),
                       [&](std::string_view name) { return row_of(columns, name) != nullptr; });
  if (found.size() > 1) throw two_columns(path, found[0], found[1]);
}

double positive(std::string_view cell, std::string_view column, const std::string& place) {
  double value = 0;
  if (read(cell, value) != std::errc{} || !(value > 0) || std::isinf(value))
    throw LogError(fmt::format("{}: {} is no {}", place, in_backticks(cell), column), "a number above 0");
  return value;
}

}  // namespace

const std::string* LoggedRun::consistency() const {
  const auto found = std::ranges::find_if(fields, [](const auto& field) {
    return field.first == "consistency" || field.first.starts_with("consistency.");
  });
  return found == fields.end() ? nullptr : &found->second;
}

bool RunTable::is(const std::vector<std::string_view>& header) {
  const auto has = [&](std::string_view name) { return std::ranges::find(header, name) != header.end(); };
  return has("workers") && std::ranges::any_of(step_columns, [&](const auto& one) { return has(one.name); });
}

RunTable::RunTable(const std::string& path, const std::vector<std::string_view>& header)
    : header_(header.begin(), header.end()) {
  for (const std::string_view name : header) {
    const bool is_known = row_of(short_names, name) != nullptr || row_of(step_columns, name) != nullptr ||
                          row_of(compute_columns, name) != nullptr || name == model_column ||
                          name == slow_column || name.find('.') != std::string_view::npos;
    if (!is_known)
      throw LogError(
          fmt::format("{}: {} is no column of a table of runs", path, in_backticks(name)),
          "the columns are workers, servers, consistency, model_bytes, compute_s, slowdown, steps, "
          "step_s, and fields of the scenario such as messages.acknowledge");
  }
  refuse_two(path, header, step_columns);
  refuse_two(path, header, compute_columns);
}

void RunTable::add(const std::vector<std::string_view>& cells, const std::string& place) {
  if (cells.size() != header_.size())
    throw LogError(fmt::format("{}: {} values under {} columns", place, cells.size(), header_.size()),
                   "every line needs a value for each column; it may be empty");
  LoggedRun run;
  double computing = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = cells[i];
    const std::string& column = header_[i];
    if (cell.empty()) continue;
    if (const SecondsColumn* step = row_of(step_columns, column)) {
      run.step = positive(cell, column, place) * step->seconds;
      continue;
    }
    const auto put = [&](std::string_view field, std::string value) {
      run.fields.emplace_back(field, std::move(value));
    };
    if (const SecondsColumn* compute = row_of(compute_columns, column)) {
      computing = positive(cell, column, place) * compute->seconds;
      put("compute.time", fmt::format("\"{}s\"", computing));
    } else if (column == model_column)
      put("model.parameters", fmt::format("{:.0f}", std::ceil(positive(cell, column, place) / 4)));
    else if (column == slow_column && cell != "1")
      put("straggler", fmt::format("[{{workers = [0], slowdown = {}}}]", positive(cell, column, place)));
    else if (column != slow_column) {
      const ShortName* known = row_of(short_names, column);
      put(known != nullptr ? known->field : column, std::string(cell));
    }
  }
  if (!(run.step > 0))
    throw LogError(place + ": the run has no time of a step", "`step_s` is a number above 0");
  if (run.step < computing)
    throw LogError(fmt::format("{}: a step of {} s with a computation of {} s", place, run.step, computing),
                   "a step contains its computation, so its time is the longer one");
  runs_.push_back(std::move(run));
  lines_.emplace_back(cells.begin(), cells.end());
}

std::vector<LoggedRun> RunTable::runs() const {
  std::vector<LoggedRun> named = runs_;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    const auto cell = [column](const std::vector<std::string>& line) { return line[column]; };
    if (row_of(step_columns, header_[column]) != nullptr || header_[column].find('.') != std::string::npos ||
        std::ranges::all_of(lines_, [&](const auto& line) { return cell(line) == cell(lines_.front()); }))
      continue;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (!cell(lines_[i]).empty())
        named[i].name +=
            fmt::format("{}{} {}", named[i].name.empty() ? "" : ", ", header_[column], cell(lines_[i]));
    }
  }
  return named;
}

}  // namespace psim::calibrate
