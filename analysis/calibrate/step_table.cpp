#include "analysis/calibrate/step_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

constexpr std::array<std::string_view, 3> worker_names{"worker", "rank", "pid"};
constexpr std::array<std::string_view, 4> step_names{"step", "iteration", "clock", "batch"};

std::optional<std::size_t> column(const Cells& header, const auto& names) {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(header, name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return std::nullopt;
}

std::optional<TimeColumn> time_column(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}}};
  double scale = 1;
  for (const auto& [suffix, seconds] : units) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    scale = seconds;
    break;
  }
  if (name == "compute" || name == "seconds" || name == "duration")
    return TimeColumn{&LoggedStep::compute, scale};
  if (name == "push") return TimeColumn{&LoggedStep::push, scale};
  if (name == "pull") return TimeColumn{&LoggedStep::pull, scale};
  if (name == "server") return TimeColumn{&LoggedStep::server, scale};
  if (name == "bytes") return TimeColumn{&LoggedStep::bytes, 1};
  return std::nullopt;
}

std::int64_t whole(std::string_view cell, std::string_view what, const std::string& place) {
  std::int64_t value = 0;
  if (read(cell, value) != std::errc{} || value < 0)
    throw LogError(fmt::format("{}: {} is not the number of a {}", place, in_backticks(cell), what),
                   "whole numbers from 0 on");
  return value;
}

}  // namespace

bool StepTable::is(const Cells& header) { return column(header, worker_names) && column(header, step_names); }

StepTable::StepTable(const std::string& path, const Cells& header, ClusterLog& log)
    : log_(log),
      worker_(*column(header, worker_names)),
      step_(*column(header, step_names)),
      width_(header.size()) {
  Cells others;
  bool has_compute = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (i == worker_ || i == step_) continue;
    const std::optional<TimeColumn> time = time_column(header[i]);
    if (!time) {
      others.push_back(header[i]);
      continue;
    }
    for (const auto& [other, known] : times_) {
      if (known.part == time->part) throw two_columns(path, header[other], header[i]);
    }
    has_compute = has_compute || time->part == &LoggedStep::compute;
    times_.emplace_back(i, *time);
  }
  if (!has_compute)
    throw LogError(fmt::format("{}: there is no column `compute_s`", path),
                   others.empty()
                       ? "the columns are worker,step,compute_s[,push_s,pull_s,server_s,bytes]"
                       : fmt::format("it has {}; rename the column with the time of a worker's computation",
                                     listed(others)));
  note_ignored(path, others, log);
}

void StepTable::take(const Cells& cells, const std::string& place) {
  if (cells.size() != width_)
    throw LogError(fmt::format("{}: {} values under {} columns", place, cells.size(), width_),
                   "every line needs a value for each column");
  LoggedStep step;
  for (const auto& [column, time] : times_) {
    if (cells[column].empty()) continue;
    const std::optional<double> value = number_in(cells[column]);
    if (!value)
      throw LogError(fmt::format("{}: {} is not a number", place, in_backticks(cells[column])),
                     "durations are numbers; an empty cell is one that was not logged");
    step.*time.part = *value * time.scale;
  }
  log_.steps.add(whole(cells[worker_], "worker", place), whole(cells[step_], "step", place), step);
}

}  // namespace psim::calibrate
