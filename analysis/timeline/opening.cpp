#include "analysis/timeline/opening.hpp"

#include <algorithm>

#include "analysis/timeline/text.hpp"

namespace psim::analysis {
namespace {

constexpr std::int64_t few = 4;  // clocks

bool is_over(const Mark& mark) { return mark.text.ends_with(" ends"); }

// The date when all nodes know of a fault, or the end of the fault, whichever is first; otherwise the date of
// the fault.
double end_of(const FirstFault& fault, const Timeline& line) {
  double end = line.end;
  bool is_known = false;
  for (const Lane& lane : line.lanes) {
    for (const Mark& mark : lane.marks) {
      const bool ends = mark.kind == "view" || mark.kind == "promotion" ||
                        (mark.kind == "fault" && lane.name == fault.node && is_over(mark));
      if (!ends || mark.at <= fault.at) continue;
      end = std::min(end, mark.at);
      is_known = true;
    }
  }
  return is_known ? end : fault.at;
}

}  // namespace

std::optional<FirstFault> first_fault(const Timeline& line) {
  std::optional<FirstFault> first;
  for (const Lane& lane : line.lanes) {
    for (const Mark& mark : lane.marks) {
      if (mark.kind != "fault" || is_over(mark) || !(mark.at > 0 && mark.at < line.end)) continue;
      if (!first || mark.at < first->at)
        first = FirstFault{.at = mark.at, .until = mark.at, .node = lane.name, .what = mark.text};
    }
  }
  if (first) first->until = end_of(*first, line);
  return first;
}

Opening opening_of(const Timeline& line) {
  const double clocks = end_of_clocks(line, few);
  const std::optional<FirstFault> fault = first_fault(line);
  if (!fault) return {.from = 0, .until = clocks};
  constexpr double around = 0.25;  // share of the time from the fault until it is known
  const double room = std::max(clocks, around * (fault->until - fault->at));
  return {.from = std::max(0.0, fault->at - room), .until = std::min(line.end, fault->until + room)};
}

}  // namespace psim::analysis
