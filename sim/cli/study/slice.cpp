#include "sim/cli/study/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>

#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::size_t> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : number_in(value);
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

}  // namespace

std::optional<Slice> slice_of(const std::string& text) {
  if (text.empty()) {
    const auto count = variable("SLURM_ARRAY_TASK_COUNT");
    const auto place = array_place();
    if (!count || !place || !variable("SLURM_ARRAY_TASK_ID")) return std::nullopt;
    return Slice{.number = *place, .count = *count};
  }
  const std::size_t bar = text.find('/');
  const auto count = number_in(std::string_view(text).substr(std::min(bar, text.size() - 1) + 1));
  const auto number = bar == 0 ? array_place() : number_in(text.substr(0, bar));
  if (bar == 0 && !number)
    throw Refused(fmt::format("--slice {}: which one is not said", text),
                  "SLURM_ARRAY_TASK_ID or PARALLEL_SEQ says it; outside of them write 1" + text);
  if (bar == std::string::npos || !count || !number || *number < 1 || *number > *count)
    throw Refused(fmt::format("--slice {}: this is no slice", text), "for example 3/8, the third of eight");
  return Slice{.number = *number, .count = *count};
}

std::vector<std::size_t> runs_of(const Slice& slice, const std::vector<double>& seconds) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t run) { return seconds[run]; });
  std::vector<double> load(slice.count, 0);
  std::vector<std::size_t> mine;
  for (const std::size_t run : order) {
    const auto least = std::ranges::min_element(load);
    *least += seconds[run];
    if (least - load.begin() + 1 == static_cast<std::ptrdiff_t>(slice.number)) mine.push_back(run);
  }
  std::ranges::sort(mine);
  return mine;
}

}  // namespace psim::cli
