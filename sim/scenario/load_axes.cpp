// The axes of [compare], and their points.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/scenario/axis_text.hpp"
#include "sim/scenario/fields/toml_text.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

// Reads the fields of `document` and reports the errors of each field itself. Does not report missing fields
// and fields without meaning, because the axes may change that. For a point of a comparison reports only
// errors of [compare].
void read_fields(Document& document, bool point, Diagnostics& diagnostics) {
  take_preset(document, diagnostics);
  const bool complete = std::exchange(document.complete, false);
  Diagnostics all, kept;
  Scenario scenario;
  Reader reader(document, all);
  describe(reader, scenario);
  reader.finish({"compare", "tune"});
  document.complete = complete;
  for (const Diagnostic& one : all.list()) {
    if (one.code != "no-meaning" && !(point && one.place.line == 0)) kept.add(one);
  }
  merge(kept, diagnostics);
}

// An axis of the file.
struct GivenAxis {
  Axis axis;
  Place place;  // of its key
  toml::array* values;
};

// The lists of [compare].
std::vector<GivenAxis> given_axes(toml::table& compare, Diagnostics& diagnostics) {
  std::vector<GivenAxis> axes;
  for (auto&& [key, node] : compare) {
    const std::string name(key.str());
    toml::array* values = node.as_array();
    if ((name + ".").starts_with("compare.")) {
      diagnostics.add({"axis", place_of(key.source()), fmt::format("axis `{}` is not a field of a run", name),
                       "an axis cannot vary [compare]", "give the field itself, such as seeds = [1, 2]"});
      continue;
    }
    if (name == arm_axis && values == nullptr) {
      diagnostics.add({"axis", place_of(key.source()), "`arm` is not a list of tables", "expected a list",
                       "write [[compare.arm]], or arm = [{ name = \"bsp\" }, ...]"});
      continue;
    }
    if (values == nullptr || values->empty()) {
      diagnostics.add(
          {"axis", place_of(node.is_table() ? key.source() : node.source()),
           fmt::format("axis `{}` is not a list of values", name),
           values == nullptr ? "expected a list" : "an empty list",
           node.is_table() ? fmt::format("put the dotted name in quotes: \"{}.field\" = [...]", name)
           : name == "seeds" || name == "seed" ? "write seeds = [1, 2, 3], or on the command line --seeds 1-3"
           : values == nullptr ? fmt::format("write a list, even of one value: [{}]", toml_of(node))
                               : "write a list, even of one value"});
      continue;
    }
    axes.push_back({.axis = {.key = name == "seeds" ? "seed" : name,
                             .fields = {},
                             .values = {},
                             .place = place_of(values->source())},
                    .place = place_of(key.source()),
                    .values = values});
  }
  // In file order, seeds last.
  std::ranges::stable_sort(axes, {}, [](const GivenAxis& one) {
    return std::tuple(one.axis.key == "seed", one.place.source, one.place.line, one.place.column);
  });
  return axes;
}

// Checks that the axes make a comparison that psim can run.
bool check_together(const std::vector<GivenAxis>& axes, Diagnostics& diagnostics) {
  double runs = 1;
  for (const GivenAxis& one : axes) {
    runs *= static_cast<double>(one.values->size());
    for (const GivenAxis& other : axes) {
      if (&one == &other || !(one.axis.key + ".").starts_with(other.axis.key + ".") ||
          (one.axis.key == other.axis.key && &one < &other))
        continue;
      diagnostics.add({"axis", one.place,
                       fmt::format("axes `{}` and `{}` set the same field", one.axis.key, other.axis.key),
                       fmt::format("also set by `{}`", other.axis.key),
                       "put this field into the tables of the other axis"});
    }
  }
  if (runs <= most_runs) return true;
  diagnostics.add({"axis", axes.front().place, fmt::format("the axes make {} runs", runs),
                   fmt::format("psim compares at most {} runs", most_runs), "shorten the lists"});
  return false;
}

// The fields that a value of axis `one` sets.
std::vector<Assignment> assignments(const GivenAxis& one, toml::node& value) {
  if (one.axis.key == arm_axis) return assignments_of_arm(value);
  return {{one.axis.key, one.place, &value}};
}

// For each axis reports the first arm that sets the field of the axis.
void check_beside_arms(const GivenAxis& arms, const std::vector<GivenAxis>& axes, Diagnostics& diagnostics) {
  for (const GivenAxis& other : axes) {
    if (&other == &arms) continue;
    const std::string& key = other.axis.key;
    const auto sets_it = [&](const Assignment& one) {
      std::set<std::string> fields;
      add_fields(one.key, *one.value, fields);
      return std::ranges::any_of(fields, [&](const std::string& field) {
        return (field + ".").starts_with(key + ".") || (key + ".").starts_with(field + ".");
      });
    };
    for (toml::node& arm : *arms.values) {
      const std::vector<Assignment> all = assignments_of_arm(arm);
      const auto same = std::ranges::find_if(all, sets_it);
      if (same == all.end()) continue;
      diagnostics.add({"axis", other.place,
                       fmt::format("axis `{}` and arm `{}` set the same field", key, name_of_arm(arm)),
                       fmt::format("also set at {}:{}:{}", diagnostics.sources()[same->place.source].name,
                                   same->place.line, same->place.column),
                       "remove one of them, or set this field in every arm"});
      break;
    }
  }
}

AxisValue value_of(const GivenAxis& one, toml::node& value, const toml::table& base) {
  if (one.axis.key == arm_axis) {
    AxisValue arm{name_of_arm(value), {}};
    for (const Assignment& part : assignments_of_arm(value)) add_sets(part.key, *part.value, arm.sets);
    return arm;
  }
  const bool adds_nothing = value.is_table() && value.as_table()->empty() && !base.at_path(one.axis.key);
  return {adds_nothing ? "none" : label_of(value), {one.axis.key + "=" + toml_of(value)}};
}

}  // namespace

std::vector<Axis> read_axes(Document& document, Diagnostics& diagnostics) {
  toml::node* compare = document.root.get("compare");
  if (compare == nullptr) return {};
  if (!compare->is_table()) {
    diagnostics.add({"axis", place_of(compare->source()), "`compare` has the wrong type", "expected a table",
                     "write [compare] and the axes below"});
    return {};
  }
  std::vector<GivenAxis> given = given_axes(*compare->as_table(), diagnostics);
  if (!check_together(given, diagnostics)) return {};
  for (const GivenAxis& one : given) {
    if (one.axis.key != arm_axis) continue;
    check_arms(*one.values, diagnostics);
    check_beside_arms(one, given, diagnostics);
  }
  toml::table base = document.root;  // a copy without places
  base.erase("compare");
  std::vector<Axis> axes;
  for (GivenAxis& one : given) {
    one.axis.in_file = one.axis.place.source == document.source;
    for (toml::node& value : *one.values) {
      one.axis.values.push_back(value_of(one, value, base));
      Document point{.root = base};
      Diagnostics failures;
      for (const Assignment& part : assignments(one, value)) {
        add_fields(part.key, *part.value, one.axis.fields);
        put(point, part.key, part.place, *part.value, "axis", failures);
      }
      merge(failures, diagnostics);
      read_fields(point, true, diagnostics);
    }
    axes.push_back(std::move(one.axis));
  }
  return axes;
}

namespace {

// The scenario with all axes: the axes of the file, changed by the command line. A point and its list come
// only from this function.
std::optional<Document> read_with_axes(LoadRequest request, Diagnostics& diagnostics) {
  request.point.clear();
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document) return std::nullopt;
  for (const Override& axis : request.axes) apply_axis(*document, axis, diagnostics);
  return document;
}

}  // namespace

void check_value(const toml::table& base, const std::string& key, const Place& place, toml::node& value,
                 Diagnostics& diagnostics) {
  Document point{.root = base};
  Diagnostics failures;
  put(point, key, place, value, "axis", failures);
  merge(failures, diagnostics);
  read_fields(point, true, diagnostics);
}

void take_point(Document& document, const LoadRequest& request, Diagnostics& diagnostics) {
  // Each value is a separate source, because a later axis may take away the meaning of an earlier one.
  for (const AxisChoice& choice : request.point) {
    Diagnostics reading = diagnostics;  // errors of the axes are already reported
    std::optional<Document> values = read_with_axes(request, reading);
    for (std::size_t i = diagnostics.sources().size(); i < reading.sources().size(); ++i)
      diagnostics.add_source(reading.sources()[i]);
    toml::table* compare = values ? values->root.get_as<toml::table>("compare") : nullptr;
    toml::node* list = compare == nullptr ? nullptr : compare->get(choice.key);
    if (compare != nullptr && list == nullptr && choice.key == "seed") list = compare->get("seeds");
    toml::node* value = list == nullptr || !list->is_array() ? nullptr : list->as_array()->get(choice.index);
    if (value == nullptr) continue;
    const Assignment itself{choice.key, place_of(value->source()), value};
    for (const Assignment& one : choice.key == arm_axis ? assignments_of_arm(*value) : std::vector{itself}) {
      put(document, one.key, one.place, *one.value, "axis", diagnostics);
    }
  }
}

std::optional<std::vector<Axis>> load_axes(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_with_axes(request, diagnostics);
  if (!document) return std::nullopt;
  read_fields(*document, false, diagnostics);
  std::vector<Axis> axes = read_axes(*document, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  return axes;
}

std::string study_text(const LoadRequest& request, const std::vector<std::string>& axes) {
  Diagnostics ignored;
  std::optional<Document> document = read_with_axes(request, ignored);
  // toml++ sorts keys, and the order of axes has a meaning.
  std::string compare;
  if (const toml::table* lists = document->root.get_as<toml::table>("compare")) {
    for (const std::string& axis : axes) {
      const toml::node* list = lists->get(axis);
      if (list == nullptr && axis == "seed") list = lists->get("seeds");
      compare += fmt::format("{} = {}\n", toml_string(axis), toml_of(*list));
    }
  }
  document->root.erase("compare");
  std::string out = toml_document(document->root);
  if (!compare.empty()) out += (out.empty() ? "[compare]\n" : "\n[compare]\n") + compare;
  return out;
}

}  // namespace psim
