// The axes of [compare], and their points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "model/numerics/functions.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/tune.hpp"

namespace psim {

// The arms of [compare]: an axis whose values set any fields together, under a name.

namespace {

constexpr std::string_view name_key = "name";

std::string shown(const Place& place, const Diagnostics& diagnostics) {
  return fmt::format("{}:{}:{}", diagnostics.sources()[place.source].name, place.line, place.column);
}

// The error of an arm's name, if it has one.
std::optional<Diagnostic> wrong_name(const toml::table& arm) {
  const std::string example = "for example name = \"bsp\"", message = "an arm needs a name";
  const toml::node* name = arm.get(name_key);
  if (name == nullptr)
    return Diagnostic{"axis", place_of(arm.source()), message, "`name` is missing", example};
  const Place place = place_of(name->source());
  const auto text = name->value_exact<std::string>();
  if (!text) return Diagnostic{"axis", place, message, "expected a text", example};
  if (text->find_first_not_of(' ') == std::string::npos)
    return Diagnostic{"axis", place, message, "an empty text", example};
  if (!fits_in_a_line(*text))
    return Diagnostic{"axis", place, "the name of an arm cannot be printed", "it has control characters",
                      example};
  return std::nullopt;
}

bool within(const std::string& field, const std::string& table) {
  return (field + ".").starts_with(table + ".");
}

// Two keys of an arm may name the same field: `consistency` and "consistency.model".
void check_once(toml::node& arm, Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, Place>> seen;
  for (const Assignment& one : assignments_of_arm(arm)) {
    if (within(one.key, "compare")) {
      diagnostics.add({"axis", one.place, fmt::format("`{}` is not a field of a run", one.key),
                       "an arm cannot set axes", "give the field itself, such as seed = 2"});
    }
    std::set<std::string> fields;
    add_fields(one.key, *one.value, fields);
    for (const std::string& field : fields) {
      const auto same = std::ranges::find_if(
          seen, [&](const auto& other) { return within(field, other.first) || within(other.first, field); });
      if (same == seen.end()) continue;
      diagnostics.add({"axis", one.place, fmt::format("arm `{}` sets `{}` twice", name_of_arm(arm), field),
                       "also set at " + shown(same->second, diagnostics), "remove one of them"});
      break;
    }
    for (const std::string& field : fields) seen.emplace_back(field, one.place);
  }
}

}  // namespace

std::vector<Assignment> assignments_of_arm(toml::node& arm) {
  std::vector<Assignment> all;
  if (!arm.is_table()) return all;
  for (auto&& [key, value] : *arm.as_table()) {
    if (key.str() != name_key) all.push_back({std::string(key.str()), place_of(key.source()), &value});
  }
  return all;
}

std::string name_of_arm(const toml::node& arm) {
  const toml::node* name = arm.is_table() ? arm.as_table()->get(name_key) : nullptr;
  return name != nullptr ? name->value_or(std::string{}) : "";
}

void check_arms(toml::array& arms, Diagnostics& diagnostics) {
  std::vector<const toml::node*> named;
  for (toml::node& arm : arms) {
    if (!arm.is_table()) {
      diagnostics.add({"axis", place_of(arm.source()), "an arm is a table", "expected a table",
                       "write { name = \"bsp\", \"consistency.model\" = \"bsp\" }"});
      continue;
    }
    if (std::optional<Diagnostic> wrong = wrong_name(*arm.as_table())) {
      diagnostics.add(std::move(*wrong));
      continue;
    }
    const toml::node& name = *arm.as_table()->get(name_key);
    const auto same = std::ranges::find(
        named, name_of_arm(arm), [](const toml::node* other) { return other->value_or(std::string{}); });
    if (same != named.end())
      diagnostics.add({"axis", place_of(name.source()),
                       fmt::format("two arms are called `{}`", name_of_arm(arm)),
                       "the same name at " + shown(place_of((*same)->source()), diagnostics),
                       "every arm needs a different name"});
    named.push_back(&name);
    check_once(arm, diagnostics);
  }
}

void add_fields(const std::string& key, const toml::node& value, std::set<std::string>& fields) {
  if (key == "consistency" && value.is_string()) {
    toml::table model{{key, *value.as_string()}};
    expand_consistency(model);
    return add_fields(key, *model.get(key), fields);
  }
  if (!value.is_table()) {
    fields.insert(key);
    return;
  }
  for (auto&& [name, inner] : *value.as_table())
    add_fields(fmt::format("{}.{}", key, name.str()), inner, fields);
}

void add_sets(const std::string& key, const toml::node& value, std::vector<std::string>& sets) {
  const toml::table* table = value.as_table();
  if (table == nullptr || table->empty()) return sets.push_back(key + "=" + toml_of(value));
  for (auto&& [name, inner] : *table) add_sets(fmt::format("{}.{}", key, name.str()), inner, sets);
}

// Reads [tune] of the file.

namespace {

template <class Choice>
struct Named {
  const char* name;
  Choice choice;
};
constexpr Named<TuneMethod> methods[] = {
    {"grid", TuneMethod::grid}, {"random", TuneMethod::random}, {"halving", TuneMethod::halving}};
constexpr Named<TuneMeasure> measures[] = {{"time-to-target", TuneMeasure::time_to_target},
                                           {"loss", TuneMeasure::loss},
                                           {"accuracy", TuneMeasure::accuracy}};

class TuneReader {
 public:
  TuneReader(const Document& document, toml::table& table, Diagnostics& diagnostics)
      : table_(table), base_(document.root), diagnostics_(diagnostics) {
    base_.erase("compare");
    base_.erase("tune");
  }

  TuneSpec read() {
    const toml::node* target = base_.at_path("training.target").node();
    spec_.measure = target != nullptr && target->is_table() && !target->as_table()->empty()
                        ? TuneMeasure::time_to_target
                        : TuneMeasure::loss;
    for (auto&& [key, value] : table_) read_key(std::string(key.str()), place_of(key.source()), value);
    if (spec_.seeds.empty()) spec_.seeds = {1001, 1002, 1003};
    check_together();
    return std::move(spec_);
  }

 private:
  void wrong(const Place& place, std::string message, std::string label, std::string help) {
    diagnostics_.add({"tune", place, std::move(message), std::move(label), std::move(help)});
  }

  void read_key(const std::string& key, const Place& place, toml::node& value) {
    if (key == "method") return read_choice(methods, spec_.method, key, value);
    if (key == "measure") return read_choice(measures, spec_.measure, key, value);
    if (key == "seeds") return read_seeds(value);
    if (key != "trials") return read_field(key, place, value);
    const auto trials = value.value_exact<std::int64_t>();
    if (!trials || *trials < 2 || *trials > 1000)
      wrong(place_of(value.source()), "`trials` is not a number of trials", "expected 2 to 1000",
            "the number of settings that each arm tries");
    else spec_.trials = *trials;
  }

  template <class Choice, std::size_t n>
  void read_choice(const Named<Choice> (&names)[n], Choice& into, const std::string& key,
                   const toml::node& value) {
    const std::string text = value.value_or(std::string());
    const auto found = std::ranges::find(names, text, &Named<Choice>::name);
    if (found != std::end(names)) {
      into = found->choice;
      return;
    }
    std::string all;
    for (const Named<Choice>& one : names) all += (all.empty() ? "" : ", ") + std::string(one.name);
    wrong(place_of(value.source()), fmt::format("`{}` is not a {} of [tune]", text, key), "not known here",
          "known: " + all);
  }

  void read_seeds(const toml::node& value) {
    const toml::array* list = value.as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto seed = list->get(i)->value_exact<std::int64_t>();
      if (seed && *seed >= 0 && std::ranges::find(spec_.seeds, *seed) == spec_.seeds.end())
        spec_.seeds.push_back(*seed);
      else list = nullptr;
    }
    if (list == nullptr || list->empty())
      wrong(place_of(value.source()), "`seeds` is not a list of different seeds",
            "expected integers from 0 on", "for example seeds = [1001, 1002, 1003]");
  }

  void read_field(const std::string& key, const Place& place, toml::node& value) {
    TuneField field{.key = key, .values = {}};
    if (toml::array* list = value.as_array(); list != nullptr && !list->empty()) {
      for (toml::node& one : *list) {
        field.values.push_back(toml_of(one));
        check_value(base_, key, place, one, diagnostics_);  // takes the value
      }
    } else if (!read_range(place, value, field)) {
      return wrong(place_of(value.source()), fmt::format("`{}` has no values to try", key),
                   "expected a list, or a range { from, to, points }",
                   fmt::format("for example \"{}\" = {{ from = 0.01, to = 1.0, points = 5 }}", key));
    }
    spec_.fields.push_back(std::move(field));
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
      toml::value<double> node(*number_in<double>(field.values.back()));
      check_value(base_, field.key, place, node, diagnostics_);
    }
    return true;
  }

  void check_together() {
    const Place place = place_of(table_.source());
    if (spec_.fields.empty())
      wrong(place, "[tune] names no field", "which field should it tune?",
            "for example \"training.learning_rate\" = { from = 0.01, to = 1.0, points = 5 }");
    const bool draws = spec_.method != TuneMethod::grid;
    if (draws && spec_.trials == 0)
      wrong(place, fmt::format("method \"{}\" needs `trials`", name_of(spec_.method)), "`trials` is missing",
            "for example trials = 16: each arm tries 16 settings");
    if (!draws && spec_.trials > 0)
      wrong(place, "`trials` has no meaning for a grid", "a grid tries every combination",
            "remove it, or write method = \"random\"");
    if (!base_.at_path("data.validation_fraction"))
      wrong(place, "[tune] needs a validation set", "without one it would choose by the test set",
            "for example data.validation_fraction = 0.2");
  }

  toml::table& table_;
  toml::table base_;  // a copy without places
  Diagnostics& diagnostics_;
  TuneSpec spec_;
};

}  // namespace

std::string_view name_of(TuneMethod method) {
  return std::ranges::find(methods, method, &Named<TuneMethod>::choice)->name;
}

std::string_view name_of(TuneMeasure measure) {
  return std::ranges::find(measures, measure, &Named<TuneMeasure>::choice)->name;
}

std::optional<TuneSpec> load_tune(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document || !diagnostics.empty()) return std::nullopt;
  toml::node* tune = document->root.get("tune");
  if (tune == nullptr) return std::nullopt;
  if (!tune->is_table()) {
    diagnostics.add({"tune", place_of(tune->source()), "`tune` has the wrong type", "expected a table",
                     "write [tune] and the fields below"});
    return std::nullopt;
  }
  TuneSpec spec = TuneReader(*document, *tune->as_table(), diagnostics).read();
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
