#include "sim/cli/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cli/talk.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace psim::cli {
namespace {

// What the command line sets is no axis: neither the field itself, nor one that the axis's tables set, and
// would take back. Returns the override that fixes it; null: none.
const Override* fixed_by(const Axis& axis, const std::vector<Override>& overrides) {
  const auto is_in = [](const std::string& field, const std::string& table) {
    return (field + ".").starts_with(table + ".");
  };
  const auto fixes = [&](const Override& override) {
    const auto is_set = [&](const std::string& field) {
      return is_in(field, override.key) || is_in(override.key, field);
    };
    return is_in(axis.key, override.key) || std::ranges::any_of(axis.fields, is_set);
  };
  const auto found = std::ranges::find_if(overrides, fixes);
  return found == overrides.end() ? nullptr : &*found;
}

// Of "--set KEY=VALUE": whether VALUE is a list where KEY has a single value, so that it is an axis.
bool is_axis(const Override& set) {
  if ((set.key + ".").starts_with("compare.")) return false;
  std::size_t depth = 0;
  for (const char c : set.value) {
    if (c == '[') ++depth;
    else if (c != ' ') break;
  }
  return depth > list_depth(set.key);
}

// What the command line asks for: a scenario with axes of its own.
struct Request {
  Command command;  // without the axes
  LoadRequest load;
};

Request request_of(const Command& command, Diagnostics& diagnostics) {
  Request request{.command = command, .load = {}};
  std::vector<Override> axes;
  std::erase_if(request.command.sets, [&](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    if (one && is_axis(*one)) axes.push_back(*one);
    return one && is_axis(*one);
  });
  if (!command.seeds.empty()) axes.push_back({"seeds", "[" + command.seeds + "]"});
  request.command.seeds.clear();
  request.load = load_request(request.command, diagnostics);
  request.load.axes = std::move(axes);
  return request;
}

// A point before it is checked.
struct Candidate {
  Point point;
  std::vector<AxisChoice> choices;
  std::string name;  // "consistency = ssp 3, seed = 2"
};

// The points of the cross product, the first axis slowest.
std::vector<Candidate> cross_product(const Command& command, const std::vector<Axis>& axes) {
  std::vector<Candidate> candidates{{.point = {.labels = {}, .command = command}, .choices = {}, .name = {}}};
  for (const Axis& axis : axes) {
    std::vector<Candidate> more;
    for (const Candidate& one : candidates) {
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        Candidate next = one;
        const AxisValue& value = axis.values[i];
        if (axis.key != "seed") next.point.labels.push_back(value.label);
        next.point.command.sets.insert(next.point.command.sets.end(), value.sets.begin(), value.sets.end());
        next.choices.push_back({axis.key, i});
        next.name += fmt::format("{}{} = {}", next.name.empty() ? "" : ", ", axis.key, value.label);
        more.push_back(std::move(next));
      }
    }
    candidates = std::move(more);
  }
  return candidates;
}

// Checks every point. Throws each diagnostic once, at the line where the axis' value stands. `runs`:
// whether there must be room for it, too.
void resolve(std::vector<Candidate>& candidates, LoadRequest request, bool runs) {
  std::vector<std::string> too_large;
  std::optional<Diagnostics> found;
  DataCache cache;
  request.cache = &cache;
  for (Candidate& one : candidates) {
    Diagnostics diagnostics;
    request.point = one.choices;
    const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
    if (loaded && diagnostics.empty()) {
      if (&one == &candidates.front()) say("{}", diagnostics.render_notes());
      if (std::string why_not = no_room(*loaded, one.point.command);
          runs && !why_not.empty() && std::ranges::find(too_large, why_not) == too_large.end())
        too_large.push_back(std::move(why_not));
      one.point.seed = loaded->scenario.seed;
      one.point.hash = scenario_hash(*loaded);
      continue;
    }
    diagnostics.annotate(fmt::format("in the run with {}", one.name));
    if (found) merge(diagnostics, *found);
    else found = std::move(diagnostics);
  }
  std::string wrong = found ? found->render() : "";
  for (const std::string& why_not : too_large) wrong += why_not;
  if (!wrong.empty()) throw Invalid{std::move(wrong)};
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

Plan plan_comparison(const Command& command, bool runs) {
  Diagnostics diagnostics;
  const Request request = request_of(command, diagnostics);
  std::optional<std::vector<Axis>> axes = load_axes(request.load, diagnostics);
  if (!axes || !diagnostics.empty()) throw Invalid{diagnostics.render()};
  std::erase_if(*axes, [&](const Axis& axis) {
    const Override* fixed = fixed_by(axis, request.load.overrides);
    if (fixed == nullptr) return false;
    const bool by_seed = fixed->key == "seed" && command.seed;
    if (!axis.in_file)
      diagnostics.add(
          given_twice(axis.key, axis.place,
                      by_seed ? Source{"--seed", ""} : Source{"--set", fixed->key + "=" + fixed->value}));
    return true;
  });
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  std::vector<Candidate> candidates = cross_product(request.command, *axes);
  resolve(candidates, request.load, runs);
  Plan plan;
  for (Candidate& one : candidates) plan.points.push_back(std::move(one.point));
  merge_equal(plan.points);
  for (const Axis& axis : *axes) {
    if (axis.key != "seed") plan.axes.push_back(axis.key);
  }
  return plan;
}

}  // namespace psim::cli
