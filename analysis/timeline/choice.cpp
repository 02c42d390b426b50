#include "analysis/timeline/choice.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace psim::analysis {
namespace {

struct Window {
  double from, until;
  bool has(double begin, double end) const { return begin < until && end > from; }
  bool has(double at) const { return at >= from && at <= until; }
};

bool does_something(const Lane& lane, const Window& window) {
  return std::ranges::any_of(lane.spans, [&](const Span& one) { return window.has(one.begin, one.end); }) ||
         std::ranges::any_of(lane.marks, [&](const Mark& one) {
           return (one.kind == "update" || one.kind == "fault") && window.has(one.at);
         });
}

bool is_concerned(const Lane& lane, const Timeline& line, const Window& window) {
  return std::ranges::any_of(
             line.shades,
             [&](const Shade& one) { return one.node == lane.node && window.has(one.begin, one.end); }) ||
         std::ranges::any_of(lane.marks,
                             [&](const Mark& one) { return one.kind == "fault" && window.has(one.at); });
}

// Sorts lanes by the time for `use`, most first.
std::vector<const Lane*> by(Use use, std::vector<const Lane*> lanes, const Window& window) {
  std::map<std::uint32_t, double> seconds;
  for (const Lane* lane : lanes) seconds[lane->node] = lane->seconds(use, window.from, window.until);
  std::ranges::stable_sort(
      lanes, [&](const Lane* a, const Lane* b) { return seconds.at(a->node) > seconds.at(b->node); });
  return lanes;
}

}  // namespace

Choice lanes_to_show(const Timeline& line, double from, double until, std::size_t most) {
  const Window window{from, until};
  Choice choice;
  for (const Lane& lane : line.lanes) {
    if (does_something(lane, window)) choice.lanes.push_back(&lane);
  }
  if (choice.lanes.size() <= most) return choice;
  std::set<std::uint32_t> taken;
  const auto take = [&](const Lane* lane) {
    if (taken.size() < most) taken.insert(lane->node);
  };
  for (const Lane* lane : choice.lanes) {
    if (is_concerned(*lane, line, window)) take(lane);
  }
  const std::vector<const Lane*> waiting = by(Use::wait, choice.lanes, window),
                                 computing = by(Use::compute, choice.lanes, window);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    take(waiting[i]);
    take(computing[i]);
  }
  choice.left_out =
      std::erase_if(choice.lanes, [&](const Lane* lane) { return !taken.contains(lane->node); });
  return choice;
}

}  // namespace psim::analysis
