#include "sim/study/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string_view>

#include "sim/runs/refused.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/number_in.hpp"

namespace psim::study {
namespace {

std::optional<std::size_t> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : number_in<std::size_t>(value);
}

// The place of this task in its array, from 1.
std::optional<std::size_t> array_place() {
  if (const auto task = variable("SLURM_ARRAY_TASK_ID")) {
    const std::size_t first = variable("SLURM_ARRAY_TASK_MIN").value_or(1);
    const std::size_t step = std::max<std::size_t>(1, variable("SLURM_ARRAY_TASK_STEP").value_or(1));
    return *task < first ? std::nullopt : std::optional((*task - first) / step + 1);
  }
  return variable("PARALLEL_SEQ");
}

constexpr const char* example = "for example 3/8, the third of eight";

// Slurm tells each task of an array its place.
std::optional<Slice> slice_of_array() {
  const auto count = variable("SLURM_ARRAY_TASK_COUNT");
  if (!count || !variable("SLURM_ARRAY_TASK_ID")) return std::nullopt;
  const auto number = array_place();
  if (!number || *number > *count)
    throw Refused(
        fmt::format("Slurm's array has {}, and this task is not among them",
                    counted(static_cast<std::int64_t>(*count), "task")),
        fmt::format("see SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT; --slice overrides them, {}", example));
  return Slice{.number = *number, .count = *count};
}

}  // namespace

std::optional<Slice> slice_of(const std::string& text) {
  if (text.empty()) return slice_of_array();
  const std::size_t bar = std::min(text.find('/'), text.size());
  const auto count = number_in<std::size_t>(std::string_view(text).substr(std::min(bar + 1, text.size())));
  const bool is_told = bar == 0 && count;
  const auto number = is_told ? array_place() : number_in<std::size_t>(std::string_view(text).substr(0, bar));
  if (is_told && !number)
    throw Refused(fmt::format("--slice {}: the number of the slice is missing", text),
                  "SLURM_ARRAY_TASK_ID or PARALLEL_SEQ gives it; without these write 1" + text);
  if (is_told && *number > *count)
    throw Refused(fmt::format("--slice {}: this is task {}", text, *number),
                  "a study needs one task per slice, counted from the array's first task");
  if (!count || !number || *number < 1 || *number > *count)
    throw Refused(fmt::format("--slice {}: this is not a slice", text), example);
  return Slice{.number = *number, .count = *count};
}

std::vector<std::size_t> runs_of(const Slice& slice, const std::vector<PlannedRun>& runs) {
  std::vector<std::size_t> order;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (seen.insert(runs[i].hash).second) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t run) { return runs[run].seconds; });
  std::vector<double> load(std::min(slice.count, order.size()), 0);
  std::vector<std::size_t> mine;
  for (const std::size_t run : order) {
    const auto least = std::ranges::min_element(load);
    *least += runs[run].seconds;
    if (least - load.begin() + 1 == static_cast<std::ptrdiff_t>(slice.number)) mine.push_back(run);
  }
  std::ranges::sort(mine);
  return mine;
}

}  // namespace psim::study
