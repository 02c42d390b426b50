#include "analysis/calibrate/step_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  bool has_unit = false;
  for (const auto& [suffix, seconds] : units) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    scale = seconds;
    has_unit = true;
    break;
  }
  if (name == "compute" || name == "seconds" || name == "duration")
    return TimeColumn{&LoggedStep::compute, scale};
  if (name == "push") return TimeColumn{&LoggedStep::push, scale};
  if (name == "pull") return TimeColumn{&LoggedStep::pull, scale};
  if (name == "server") return TimeColumn{&LoggedStep::server, scale};
  if ((has_unit && name == "step") || name == "step_time" || name == "iteration_time" || name == "iter_time")
    return TimeColumn{nullptr, scale};
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

bool StepTable::is(const Cells& header) {
  const auto is_whole = [](std::string_view name) {
    const std::optional<TimeColumn> time = time_column(name);
    return time && time->part == nullptr;
  };
  return column(header, step_names) &&
         (column(header, worker_names) || std::ranges::any_of(header, is_whole)) &&
         std::ranges::find(header, "workers") == header.end();
}

StepTable::StepTable(const std::string& path, std::int64_t number, const Cells& header, ClusterLog& log)
    : log_(log),
      worker_(column(header, worker_names)),
      number_(worker_ ? 0 : log.worker_of(path, {}, number)),
      step_(*column(header, step_names)),
      width_(header.size()) {
  Cells others;
  bool has_whole = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (worker_ == i || i == step_) continue;
    const std::optional<TimeColumn> time = time_column(header[i]);
    if (!time) {
      others.push_back(header[i]);
      continue;
    }
    for (const auto& [other, known] : times_) {
      if (known.part == time->part) throw two_columns(path, header[other], header[i]);
    }
    has_compute_ = has_compute_ || time->part == &LoggedStep::compute;
    has_whole = has_whole || time->part == nullptr;
    times_.emplace_back(i, *time);
  }
  log.has_whole_steps = has_whole && !has_compute_;
  if (!has_compute_ && !has_whole)
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
  double whole_step = LoggedStep::unknown;
  for (const auto& [column, time] : times_) {
    if (cells[column].empty()) continue;
    double& part = time.part == nullptr ? whole_step : step.*time.part;
    const std::optional<double> value = number_in(cells[column]);
    if (!value)
      throw LogError(fmt::format("{}: {} is not a number", place, in_backticks(cells[column])),
                     "durations are numbers; an empty cell is one that was not logged");
    part = *value * time.scale;
  }
  if (!has_compute_) step.compute = whole_step;
  else if (std::isnan(step.push) && std::isnan(step.pull))
    step.push = whole_step - step.compute, step.pull = 0;
  log_.steps.add(worker_ ? whole(cells[*worker_], "worker", place) : number_,
                 whole(cells[step_], "step", place), step);
}

}  // namespace psim::calibrate
