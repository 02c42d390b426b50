// The axes of [compare], and their points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "model/numerics/functions.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/tune.hpp"

namespace psim {

// The arms of [compare]: an axis whose values set any fields together, under a name.

namespace {

constexpr std::string_view name_key = "name";

// The name of an arm; null if it has none, which the reader reports.
const toml::node* name_node(const toml::node& arm) {
  const toml::node* name = arm.is_table() ? arm.as_table()->get(name_key) : nullptr;
  return name != nullptr && name->is_string() ? name : nullptr;
}

std::string name_of_arm(const toml::node& arm) {
  const toml::node* name = name_node(arm);
  return name != nullptr ? label_of(*name) : "";
}

// The fields that `value` of axis `key` sets; `place`: of this axis, or of its value.
Assignments assignments_of(const std::string& key, const Place& place, toml::node& value) {
  if (key != arm_axis) return {{key, place, &value}};
  Assignments all;
  if (!value.is_table()) return all;
  for (auto&& [field, inner] : *value.as_table()) {
    if (field.str() != name_key) all.push_back({std::string(field.str()), place_of(field.source()), &inner});
  }
  return all;
}

// Whether the assignment sets the field `key`, its table, or a field in it.
bool sets(const Assignment& one, std::string_view key) {
  return std::ranges::any_of(fields_of({one}),
                             [key](const std::string& field) { return overlap(field, key); });
}

Assignments assignments_of_arm(toml::node& arm) { return assignments_of(std::string(arm_axis), {}, arm); }

std::string shown(const Place& place, const Diagnostics& diagnostics) {
  return fmt::format("{}:{}:{}", diagnostics.sources()[place.source].name, place.line, place.column);
}

std::string also_set_at(const Place& place, const Diagnostics& diagnostics) {
  return fmt::format("also set at {}", shown(place, diagnostics));
}

// Two keys of an arm may name the same field: `consistency` and "consistency.model".
void check_once(toml::node& arm, Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, Place>> seen;
  for (const Assignment& one : assignments_of_arm(arm)) {
    if (is_of_study(one.key))
      diagnostics.add({"axis", one.place, fmt::format("`{}` is not a field of a run", one.key),
                       "an arm cannot set axes", "give the field itself, such as seed = 2"});
    const std::set<std::string> fields = fields_of({one});
    for (const std::string& field : fields) {
      const auto same =
          std::ranges::find_if(seen, [&](const auto& other) { return overlap(field, other.first); });
      if (same == seen.end()) continue;
      diagnostics.add({"axis", one.place, fmt::format("arm `{}` sets `{}` twice", name_of_arm(arm), field),
                       also_set_at(same->second, diagnostics), "remove one of them"});
      break;
    }
    for (const std::string& field : fields) seen.emplace_back(field, one.place);
  }
}

// Reports arms whose name cannot be printed or has another arm, and arms that set a field twice.
void check_arms(toml::array& arms, Diagnostics& diagnostics) {
  std::map<std::string, Place> names;
  for (toml::node& arm : arms) {
    if (name_node(arm) == nullptr) continue;
    const std::string name = name_of_arm(arm);
    const Place place = place_of(name_node(arm)->source());
    const auto [same, is_new] = names.emplace(name, place);
    if (name.find_first_not_of(' ') == std::string::npos)
      diagnostics.add({"axis", place, "an arm needs a name", "an empty text", "for example name = \"bsp\""});
    else if (!fits_in_a_line(name))
      diagnostics.add({"axis", place, "the name of an arm cannot be printed", "it has control characters",
                       "for example name = \"bsp\""});
    else if (!is_new)
      diagnostics.add({"axis", place, fmt::format("two arms are called `{}`", name),
                       "the same name at " + shown(same->second, diagnostics),
                       "every arm needs a different name"});
    check_once(arm, diagnostics);
  }
}

}  // namespace

// Reads [tune] of the file.

namespace {

// Reads the tuned fields, and checks the values that the reader of fields has found.
class TuneReader {
 public:
  TuneReader(Document& document, Diagnostics& diagnostics)
      : document_(document), base_(document.root), diagnostics_(diagnostics) {
    base_.erase("compare");
    base_.erase("tune");
  }

  TuneSpec read() {
    const toml::node* target = base_.at_path("training.target").node();
    if (target != nullptr && target->is_table() && !target->as_table()->empty())
      spec_.measure = TuneMeasure::time_to_target;
    Reader reader(document_, diagnostics_);
    describe_tune(reader, spec_);
    reader.settle();
    toml::table* table = document_.root.get_as<toml::table>("tune");
    if (table == nullptr) return spec_;
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      if (study_fields().find("tune." + name) == nullptr) read_field(name, place_of(key.source()), value);
    }
    check_together(*table);
    return std::move(spec_);
  }

 private:
  void wrong(const Place& place, std::string message, std::string label, std::string help) {
    diagnostics_.add({"tune", place, std::move(message), std::move(label), std::move(help)});
  }

  void read_field(const std::string& key, const Place& place, toml::node& value) {
    TuneField field{.key = key, .values = {}};
    if (is_of_study(key) || key == "seed") {
      spec_.fields.push_back(field);  // [tune] names a field
      return wrong(place, fmt::format("`{}` cannot be tuned", key), "not a field to tune",
                   key == "seed" ? "the seeds of the trials are `seeds`" : "name a field of a run");
    }
    if (toml::array* list = value.as_array(); list != nullptr && !list->empty()) {
      for (toml::node& one : *list) {
        field.values.push_back(toml_of(one));
        check_values(base_, {{key, place, &one}}, diagnostics_);  // takes the value
      }
    } else if (!read_range(place, value, field)) {
      spec_.fields.push_back(field);
      const bool has_fields = value.is_table() && !value.as_table()->contains("from");
      return wrong(
          has_fields ? place : place_of(value.source()), fmt::format("`{}` has no values to try", key),
          "expected a list, or a range { from, to, points }",
          has_fields ? fmt::format("put the dotted name in quotes: \"{}.field\" = [...]", key)
                     : fmt::format("for example \"{}\" = {{ from = 0.01, to = 1.0, points = 5 }}", key));
    }
    if (std::set(field.values.begin(), field.values.end()).size() < field.values.size())
      wrong(place_of(value.source()), fmt::format("`{}` has a value twice", key), "two equal settings",
            "give each value once, or take fewer points");
    check_overlap(key, place);
    spec_.fields.push_back(std::move(field));
  }

  // A tuned field replaces what an axis sets. An arm's value is only the one that it has untuned.
  void check_overlap(const std::string& key, const Place& place) {
    for (const TuneField& other : spec_.fields) {
      if (overlap(key, other.key))
        wrong(place, fmt::format("[tune] names `{}` twice", key), fmt::format("also set by `{}`", other.key),
              "remove one of them");
    }
    toml::table* axes = document_.root.get_as<toml::table>("compare");
    if (axes == nullptr) return;
    for (auto&& [axis, node] : *axes) {
      const std::string name(axis.str());
      toml::array* values = node.as_array();
      if (values == nullptr || name == arm_axis) continue;
      if (std::ranges::any_of(*values, [&](toml::node& value) { return sets({name, {}, &value}, key); }))
        wrong(place, fmt::format("[tune] and axis `{}` set the same field", name),
              "psim would replace the value of the axis", "remove one of them");
    }
  }

  // { from = 0.01, to = 1.0, points = 5 }: numbers with equal ratios.
  bool read_range(const Place& place, const toml::node& value, TuneField& field) {
    const toml::table* range = value.as_table();
    if (range == nullptr) return false;
    const auto number = [&](const char* key) {
      const toml::node* node = range->get(key);
      return node == nullptr ? std::nullopt : node->value<double>();
    };
    field.from = number("from");
    field.to = number("to");
    const double points = number("points").value_or(5);
    const bool is_range = field.from && field.to && *field.from > 0 && *field.to > *field.from &&
                          std::isfinite(*field.to) && points >= 2 && points <= 100 &&
                          std::floor(points) == points &&
                          range->size() == 2U + (range->contains("points") ? 1U : 0U);
    if (!is_range) return false;
    for (int i = 0; i < static_cast<int>(points); ++i) {
      const double exact = *field.from * numerics::pow(*field.to / *field.from, i / (points - 1));
      field.values.push_back(three_digits(exact));
      const toml::node* end = i == 0 ? range->get("from") : i + 1 == points ? range->get("to") : &value;
      const Place at = place_of(end->source());
      ParsedText point = parse_value(field.values.back(), at.source, at.line, at.column);
      check_values(base_, {{field.key, place, point.root.get("v")}}, diagnostics_);
    }
    return true;
  }

  void check_together(const toml::table& table) {
    const Place place = place_of(table.source());
    if (spec_.fields.empty())
      wrong(place, "[tune] names no field", "which field should it tune?",
            "for example \"training.learning_rate\" = { from = 0.01, to = 1.0, points = 5 }");
    if (spec_.method != TuneMethod::grid && !table.contains("trials"))
      wrong(place, fmt::format("method \"{}\" needs `trials`", name_of(spec_.method)), "`trials` is missing",
            "for example trials = 16: each arm tries 16 settings");
    if (std::set(spec_.seeds.begin(), spec_.seeds.end()).size() < spec_.seeds.size())
      wrong(place_of(table.get("seeds")->source()), "`seeds` is not a list of different seeds",
            "a seed occurs twice", "for example seeds = [1001, 1002, 1003]");
    if (!base_.at_path("data.validation_fraction"))
      wrong(place, "[tune] needs a validation set", "without one it would choose by the test set",
            "for example data.validation_fraction = 0.2");
  }

  Document& document_;
  toml::table base_;  // a copy without places
  Diagnostics& diagnostics_;
  TuneSpec spec_;
};

}  // namespace

std::optional<TuneSpec> load_tune(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document || !diagnostics.empty()) return std::nullopt;
  if (!document->root.contains("tune")) return std::nullopt;
  TuneSpec spec = TuneReader(*document, diagnostics).read();
  if (!diagnostics.empty()) return std::nullopt;
  return spec;
}

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
std::vector<GivenAxis> given_axes(toml::table& compare, const Reading& reading, Diagnostics& diagnostics) {
  std::vector<GivenAxis> axes;
  for (auto&& [key, node] : compare) {
    const std::string name(key.str());
    toml::array* values = node.as_array();
    if (is_of_study(name)) {
      diagnostics.add({"axis", place_of(key.source()), fmt::format("axis `{}` is not a field of a run", name),
                       "an axis cannot vary [compare] or [tune]",
                       "give the field itself, such as seeds = [1, 2]"});
      continue;
    }
    if (!reading.reliable("compare." + name) && (name != arm_axis || values == nullptr)) continue;
    if (values == nullptr || values->empty()) {
      diagnostics.add(
          {"axis", place_of(node.is_table() ? key.source() : node.source()),
           fmt::format("axis `{}` is not a list of values", name),
           values == nullptr ? "expected a list" : "an empty list",
           node.is_table()     ? fmt::format("put the dotted name in quotes: \"{}.field\" = [...]", name)
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
      if (&one == &other || !overlap(one.axis.key, other.axis.key) ||
          one.axis.key.size() < other.axis.key.size() || (one.axis.key == other.axis.key && &one < &other))
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

// For each axis reports the first arm that sets the field of the axis.
void check_beside_arms(const GivenAxis& arms, const std::vector<GivenAxis>& axes, Diagnostics& diagnostics) {
  for (const GivenAxis& other : axes) {
    if (&other == &arms) continue;
    const std::string& key = other.axis.key;
    for (toml::node& arm : *arms.values) {
      const Assignments all = assignments_of_arm(arm);
      const auto same = std::ranges::find_if(all, [&](const Assignment& part) { return sets(part, key); });
      if (same == all.end()) continue;
      diagnostics.add({"axis", other.place,
                       fmt::format("axis `{}` and arm `{}` set the same field", key, name_of_arm(arm)),
                       also_set_at(same->place, diagnostics),
                       "remove one of them, or set this field in every arm"});
      break;
    }
  }
}

AxisValue value_of(const GivenAxis& one, toml::node& value, const toml::table& base) {
  if (one.axis.key == arm_axis) {
    AxisValue arm{name_of_arm(value), {}};
    for (const Assignment& part : assignments_of_arm(value))
      each_field(part.key, *part.value, [&](const std::string& field, const toml::node& inner) {
        arm.sets.push_back(field + "=" + toml_of(inner));
      });
    return arm;
  }
  const bool adds_nothing = value.is_table() && value.as_table()->empty() && !base.at_path(one.axis.key);
  return {adds_nothing ? "none" : label_of(value), {one.axis.key + "=" + toml_of(value)}};
}

}  // namespace

std::vector<Axis> read_axes(Document& document, Diagnostics& diagnostics) {
  CompareSpec spec;
  Reader reader(document, diagnostics);
  describe_compare(reader, spec);
  reader.settle();
  toml::table* compare = document.root.get_as<toml::table>("compare");
  if (compare == nullptr) return {};
  std::vector<GivenAxis> given = given_axes(*compare, reader.reading(), diagnostics);
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
      const Assignments all = assignments_of(one.axis.key, one.place, value);
      one.axis.fields.merge(fields_of(all));
      check_values(base, all, diagnostics);
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

void check_values(const toml::table& base, const Assignments& values, Diagnostics& diagnostics) {
  Document point{.root = base};
  Diagnostics failures;
  assign(point, values, "axis", failures);
  merge(failures, diagnostics);
  read_fields(point, true, diagnostics);
}

std::vector<std::string> varied_fields(toml::table& compare) {
  std::vector<std::string> axes;
  for (auto&& [key, list] : compare) axes.emplace_back(key.str());
  std::set<std::string> fields;
  if (toml::array* arms = compare.get_as<toml::array>(arm_axis)) {
    for (toml::node& arm : *arms) fields.merge(fields_of(assignments_of_arm(arm)));
  }
  axes.insert(axes.end(), fields.begin(), fields.end());
  return axes;
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
    assign(document, assignments_of(choice.key, place_of(value->source()), *value), "axis", diagnostics);
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
