#include "sim/cli/compare_points.hpp"
#include "sim/cli/talk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cli/room.hpp"
#include "sim/record/summary.hpp"

namespace psim::cli {
namespace {

// What the command line sets is no axis: neither the field itself, nor one that the axis's tables set, and
// would take back.
bool is_fixed(const Axis& axis, const std::vector<Override>& overrides) {
  const auto is_in = [](const std::string& field, const std::string& table) {
    return (field + ".").starts_with(table + ".");
  };
  return std::ranges::any_of(overrides, [&](const Override& override) {
    const auto is_set = [&](const std::string& field) {
      return is_in(field, override.key) || is_in(override.key, field);
    };
    return is_in(axis.key, override.key) || std::ranges::any_of(axis.fields, is_set);
  });
}

// The points of the cross product, the first axis slowest.
std::vector<Point> cross_product(const Command& command, const std::vector<Axis>& axes) {
  std::vector<Point> points{{.labels = {}, .command = command}};
  for (const Axis& axis : axes) {
    std::vector<Point> more;
    for (const Point& point : points) {
      for (const AxisValue& value : axis.values) {
        Point next = point;
        if (axis.key != "seed") next.labels.push_back(value.label);
        next.command.sets.push_back(axis.key + "=" + value.toml);
        more.push_back(std::move(next));
      }
    }
    points = std::move(more);
  }
  return points;
}

// Checks every point. All their diagnostics, each once.
bool resolve(std::vector<Point>& points) {
  std::vector<std::string> reports;
  DataCache cache;
  for (Point& point : points) {
    Diagnostics diagnostics;
    LoadRequest request = load_request(point.command, diagnostics);
    request.cache = &cache;
    const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
    if (!loaded || !diagnostics.empty()) {
      std::string report = diagnostics.render();
      if (std::ranges::find(reports, report) == reports.end()) reports.push_back(std::move(report));
      continue;
    }
    if (std::string why_not = no_room(*loaded, point.command);
        !why_not.empty() && std::ranges::find(reports, why_not) == reports.end())
      reports.push_back(std::move(why_not));
    point.seed = loaded->scenario.seed;
    point.hash = scenario_hash(*loaded);
  }
  for (const std::string& report : reports) say("{}", report);
  return reports.empty();
}

// Points that are the same scenario, because an axis has no meaning beside another one's value, are run and
// shown once, with all their labels.
void merge_equal(std::vector<Point>& points) {
  std::vector<Point> distinct;
  for (Point& point : points) {
    const auto same = std::ranges::find(distinct, point.hash, &Point::hash);
    if (same == distinct.end()) {
      distinct.push_back(std::move(point));
      continue;
    }
    for (std::size_t i = 0; i < point.labels.size(); ++i) {
      const auto between = [](const std::string& text) { return fmt::format(" or {} or ", text); };
      if (between(same->labels[i]).find(between(point.labels[i])) == std::string::npos)
        same->labels[i] += " or " + point.labels[i];
    }
  }
  points = std::move(distinct);
}

}  // namespace

std::optional<Plan> plan_comparison(const Command& command) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(command, diagnostics);
  std::optional<std::vector<Axis>> axes = load_axes(request, diagnostics);
  if (!axes || !diagnostics.empty()) {
    say("{}", diagnostics.render());
    return std::nullopt;
  }
  std::erase_if(*axes, [&](const Axis& axis) { return is_fixed(axis, request.overrides); });
  Plan plan{.axes = {}, .points = cross_product(command, *axes)};
  if (!resolve(plan.points)) return std::nullopt;
  merge_equal(plan.points);
  for (const Axis& axis : *axes) {
    if (axis.key != "seed") plan.axes.push_back(axis.key);
  }
  return plan;
}

}  // namespace psim::cli
