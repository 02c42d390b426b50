#include "sim/scenario/reference/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/base/text_rows.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/fields/meaningful.hpp"
#include "sim/scenario/spec/features.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/toml_text.hpp"

namespace psim {
namespace {

using Json = nlohmann::ordered_json;

// Numbers and blanks as parse_quantity reads them. `positive`: not 0.
std::string number_pattern(bool positive) {
  return fmt::format("^{}([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *",
                     positive ? "(?=[^eE]*[1-9])" : "");
}

template <class Quantity>
std::string unit_pattern() {
  std::vector<std::string_view> names;
  for (const UnitName& unit : Unit<Quantity>::names) names.push_back(unit.name);
  return fmt::format("{}", fmt::join(names, "|"));
}

template <class T>
Json schema_of(const FieldInfo& info) {
  const auto bounded = [&](Json schema) {
    if (info.min > -HUGE_VAL) schema[info.above_min ? "exclusiveMinimum" : "minimum"] = info.min;
    if (info.max < HUGE_VAL) schema[info.below_max ? "exclusiveMaximum" : "maximum"] = info.max;
    return schema;
  };
  const auto pattern = [](bool positive, std::string_view units) -> Json {
    return {{"type", "string"}, {"pattern", fmt::format("{}({})$", number_pattern(positive), units)}};
  };
  const auto list = [](Json items, std::size_t fewest) {
    Json schema = {{"type", "array"}, {"items", std::move(items)}};
    if (fewest > 0) schema["minItems"] = fewest;
    return schema;
  };
  const bool positive = info.min > 0 || (info.min == 0 && info.above_min);
  if constexpr (std::is_same_v<T, bool>) return {{"type", "boolean"}};
  else if constexpr (std::is_same_v<T, std::int64_t>) return bounded({{"type", "integer"}});
  else if constexpr (std::is_same_v<T, double>) return bounded({{"type", "number"}});
  else if constexpr (std::is_same_v<T, std::string>)
    return {{"type", info.or_number ? Json::array({"string", "integer"}) : Json("string")}};
  else if constexpr (std::is_base_of_v<Period, T>) {
    return pattern(true, fmt::format("{}|updates?{}", unit_pattern<Seconds>(),
                                     std::is_same_v<T, Period> ? "" : "|samples?"));
  } else if constexpr (std::is_same_v<T, Speeds>) {
    const Json one = pattern(positive, unit_pattern<FlopsPerSecond>());
    return {{"anyOf", Json::array({one, list(one, 1)})}};
  } else if constexpr (requires(T t) { t.has_value(); }) return schema_of<typename T::value_type>(info);
  else if constexpr (requires { typename T::value_type; }) {
    return list(schema_of<typename T::value_type>(info),
                std::max<std::size_t>(info.fewest, info.required ? 1 : 0));
  } else return pattern(positive, unit_pattern<T>());
}

template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "integer";
  else if constexpr (std::is_same_v<T, double>) return "number";
  else if constexpr (std::is_same_v<T, std::string>) return "text";
  else if constexpr (std::is_same_v<T, Period>) return "duration, or \"N updates\"";
  else if constexpr (std::is_same_v<T, EvaluationPeriod>) return "duration, \"N updates\" or \"N samples\"";
  else if constexpr (std::is_same_v<T, Speeds>) return "computing speed, or a list of them";
  else if constexpr (requires(T t) { t.has_value(); }) return type_name<typename T::value_type>();
  else if constexpr (requires { typename T::value_type; })
    return "list of " + type_name<typename T::value_type>();
  else return std::string(Unit<T>::what.substr(2));
}

// The number of lists around a value.
template <class T>
constexpr std::size_t depth_of() {
  if constexpr (std::is_same_v<T, Speeds>) return 1;
  else if constexpr (std::is_void_v<T> || std::is_same_v<T, std::string>) return 0;
  else if constexpr (requires(T t) { t.has_value(); }) return depth_of<typename T::value_type>();
  else if constexpr (requires { typename T::value_type; }) return 1 + depth_of<typename T::value_type>();
  else return 0;
}

template <class F>
auto with_type(const FieldTarget& target, F&& f) {
  return std::visit(
      [&](const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_pointer_v<T>) return f(std::type_identity<std::remove_pointer_t<T>>{});
        else return f(std::type_identity<void>{});
      },
      target);
}

Json field_schema(const DescribedField& field) {
  Json schema = with_type(field.target, [&]<class T>(std::type_identity<T>) -> Json {
    if constexpr (std::is_void_v<T>)
      return {{"enum", all_names(std::get<ChoiceField>(field.target).choices)}};
    else return schema_of<T>(field.info);
  });
  schema["description"] = field.info.doc;
  return schema;
}

std::string range_column(const FieldInfo& info) {
  if (info.min == -HUGE_VAL && info.max == HUGE_VAL) return "";
  return fmt::format("{}{}, {}{}", info.above_min ? "(" : "[", info.min, info.max,
                     info.below_max ? ")" : "]");
}

std::string default_column(const DescribedField& field) {
  if (field.info.required) return "required";
  if (field.value && field.info.default_text.empty()) return fmt::format("`{}`", *field.value);
  return field.info.default_text.empty() ? "none" : std::string(field.info.default_text);
}

std::string type_column(const DescribedField& field) {
  return with_type(field.target, [&]<class T>(std::type_identity<T>) -> std::string {
    if constexpr (std::is_void_v<T>) return "name";
    else return type_name<T>();
  });
}

std::string consistency_table() {
  std::string out =
      "\n| model | when a worker may start clock t | a server applies | late pushes | source "
      "|\n|---|---|---|---|---|\n";
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, row.may_start, row.applies, row.late,
                       row.source);
  }
  return out +
         "\nUnder every model a worker reads its own writes. `ssp` with staleness 0 is `bsp`.\n\nA text can "
         "replace the table: `consistency = \"ssp 3\"` means model ssp with staleness 3. The number\nafter a "
         "k model is `k`, and after backup-workers `backup`.\n";
}

std::string study_example(std::string_view table) {
  const std::string_view text = table == "tune" ? R"([data]
validation_fraction = 0.2
[tune]
"training.learning_rate" = { from = 0.01, to = 1.0, points = 5 })"
                                                : R"([compare]
"cluster.workers" = [4, 8]
seeds = [1, 2, 3]

[[compare.arm]]
name = "bsp"

[[compare.arm]]
name = "asp, smaller steps"
"consistency.model" = "asp"
"training.learning_rate" = 0.02)";
  return fmt::format("\n```toml\n{}\n```\n", text);
}

std::string filter_table() {
  std::string out =
      "\n| kind | takes | on pulls | on phantoms | error feedback | source |\n|---|---|---|---|---|---|\n";
  std::array<std::vector<std::string_view>, 4> stages;
  for (const FilterRow& row : all_rows<FilterRow>()) {
    stages[static_cast<std::size_t>(row.stage)].push_back(row.name);
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.name, row.wire, row.push_only ? "no" : "yes",
                    row.needs_numbers ? "no" : "yes", in_words(row.error_feedback), row.source);
  }
  return out + fmt::format(
                   "\nThe order of the filters of one direction is: filters that select ({}), one filter "
                   "that\nquantises ({}), {}, {}. The receiver of a dense push reads a value that a filter "
                   "leaves out as\nzero. The receiver of a pull keeps its old value.\n",
                   fmt::join(stages[0], ", "), fmt::join(stages[1], ", "), fmt::join(stages[2], ", "),
                   fmt::join(stages[3], ", "));
}

// The fields of a scenario and of its study, which pages and schemas show.
const FieldList& shown_fields() {
  static const FieldList list = [] {
    FieldList all = all_fields();
    const FieldList& more = study_fields();
    all.tables.insert(all.tables.end(), more.tables.begin(), more.tables.end());
    all.fields.insert(all.fields.end(), more.fields.begin(), more.fields.end());
    return all;
  }();
  return list;
}

std::string_view values_of(const AnyField& any) {
  if (any.values == AnyField::Values::one) return "its value";
  return any.values == AnyField::Values::list ? "list of its values" : "list of its values, or range";
}

Json any_field_schema(const std::optional<AnyField>& any) {
  if (!any) return false;
  if (any->values == AnyField::Values::one) return true;
  const Json list = {{"type", "array"}, {"minItems", 1}};
  if (any->values == AnyField::Values::list) return list;
  const Json range = {
      {"type", "object"},
      {"required", Json::array({"from", "to"})},
      {"properties",
       {{"from", {{"type", "number"}}}, {"to", {{"type", "number"}}}, {"points", {{"type", "integer"}}}}}};
  return {{"anyOf", Json::array({list, range})}};
}

// "cluster", "cluster.network", "straggler"; empty if it is not a table.
std::string explain_table(std::string_view path) {
  std::string out;
  for (const DescribedTable& table : shown_fields().tables) {
    const std::size_t dot = table.path.rfind('.');
    const bool is_inside = dot != std::string::npos && std::string_view(table.path).substr(0, dot) == path;
    if (table.path == path)
      out += fmt::format("{}{}{}: {}\n", table.repeated ? "[[" : "[", path, table.repeated ? "]]" : "]",
                         table.doc);
    else if (is_inside) out += fmt::format("  {:<22} {}\n", "[" + table.path + "]", table.doc);
  }
  if (out.empty()) return out;
  for (const DescribedField& field : shown_fields().fields) {
    if (field.table == path)
      out += fmt::format("  {:<22} {}; default: {}\n", field.key, type_column(field), default_column(field));
  }
  return out + fmt::format("\n`psim explain {}.KEY` explains a field.\n", path);
}

}  // namespace

Json scenario_schema() {
  Json root = {{"$schema", "http://json-schema.org/draft-07/schema#"},
               {"title", "psim scenario"},
               {"type", "object"},
               {"additionalProperties", false},
               {"properties", Json::object()}};
  std::map<std::string, std::string> pointer{{"", ""}};  // table path -> JSON pointer of its object
  for (const DescribedTable& table : shown_fields().tables) {
    const std::size_t dot = table.path.rfind('.');
    const std::string outer = dot == std::string::npos ? "" : table.path.substr(0, dot);
    const std::string key = dot == std::string::npos ? table.path : table.path.substr(dot + 1);
    const std::string here = fmt::format("{}/properties/{}", pointer.at(outer), key);
    Json object = {{"type", "object"},
                   {"description", table.doc},
                   {"additionalProperties", any_field_schema(table.any)},
                   {"properties", Json::object()}};
    if (table.repeated) object = {{"type", "array"}, {"description", table.doc}, {"items", object}};
    root[Json::json_pointer(here)] = object;
    pointer[table.path] = table.repeated ? here + "/items" : here;
  }
  for (const DescribedField& field : shown_fields().fields) {
    root[Json::json_pointer(fmt::format("{}/properties/{}", pointer.at(field.table), field.key))] =
        field_schema(field);
    if (field.info.required)
      root[Json::json_pointer(pointer.at(field.table))]["required"].push_back(field.key);
  }
  for (const char* table : {"compare", "tune"})
    root["properties"][table]["properties"]["seeds"]["uniqueItems"] = true;
  Json& consistency = root["properties"]["consistency"];
  consistency = {
      {"anyOf", Json::array({consistency,
                             {{"type", "string"}, {"description", "A model and its number: \"ssp 3\"."}}})}};
  return root;
}

std::string scenario_reference() {
  std::string out =
      "# Scenario reference\n\n<!-- generated by `psim explain --reference`; a test fails when it is stale "
      "-->\n\nA scenario is a TOML file. Quantities are texts with a unit. These are errors: a bare "
      "number\ninstead of a quantity, an unknown key, and a field of a choice that the scenario does not "
      "make. If a\nfield has no effect because of another field's number, psim writes a note. `--set "
      "table.field=value`\nsets any field on the command line, and `[compare]` varies any field. Which "
      "features exclude each\nother is in [compatibility.md](compatibility.md).\n\n";
  out += unit_table();
  const auto rows = [&](const std::string& table, const std::optional<AnyField>& any) {
    out += "\n| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
    for (const DescribedField& f : shown_fields().fields) {
      if (f.table != table) continue;
      out += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", f.key, type_column(f), default_column(f),
                         range_column(f.info), f.info.doc, when_text(f.info));
    }
    if (any)
      out += fmt::format("| a dotted field, in quotes | {} | none |  | {} |\n", values_of(*any), any->doc);
    for (const DescribedField& f : shown_fields().fields) {
      const auto* choice = std::get_if<ChoiceField>(&f.target);
      if (f.table != table || choice == nullptr) continue;
      out += fmt::format("\n`{}` is one of:\n\n", f.key);
      for (const Choice& c : choice->choices) {
        out += fmt::format("- `{}`{}: {}\n", c.name,
                           c.aliases.empty() ? "" : fmt::format(" (also `{}`)", c.aliases), c.doc);
      }
    }
  };
  rows("", {});
  for (const DescribedTable& table : shown_fields().tables) {
    out += fmt::format("\n## {}{}{}\n\n{}\n", table.repeated ? "[[" : "[", table.path,
                       table.repeated ? "]]" : "]", table.doc);
    rows(table.path, table.any);
    if (table.path == "consistency") out += consistency_table();
    if (table.path == "filter") out += filter_table();
    if (table.path == "compare.arm" || table.path == "tune") out += study_example(table.path);
  }
  return out + preset_reference();
}

std::string home_of_key(std::string_view key) {
  for (const DescribedField& field : all_fields().fields) {
    if (field.key == key && !field.table.empty())
      return fmt::format("`{}` belongs in [{}]", key, field.table);
  }
  return "";
}

std::size_t list_depth(std::string_view path) {
  const std::string plain = without_numbers(path);
  for (const DescribedTable& table : all_fields().tables) {
    if (table.path == plain) return table.repeated && plain == path ? 1 : 0;
  }
  const DescribedField* field = all_fields().find(plain);
  if (field == nullptr) return 0;
  return with_type(field->target,
                   []<class T>(std::type_identity<T>) -> std::size_t { return depth_of<T>(); });
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const DescribedField& f : shown_fields().fields) {
    names.push_back(f.path());
    names.push_back(f.key);
  }
  for (const DescribedTable& table : shown_fields().tables) names.push_back(table.path);
  return names;
}

std::string explain_field(std::string_view path) {
  std::string out;
  for (const DescribedField& f : shown_fields().fields) {
    if (f.path() != path && f.key != path) continue;
    out += fmt::format("{}: {}\n  {}{}\n  default: {}\n", f.path(), type_column(f), f.info.doc,
                       when_text(f.info), default_column(f));
    if (const std::string range = range_column(f.info); !range.empty())
      out += fmt::format("  range: {}\n", range);
    if (const auto* choice = std::get_if<ChoiceField>(&f.target)) {
      for (const Choice& c : choice->choices) out += fmt::format("  {:<20} {}\n", c.name, c.doc);
    }
    out += "\n";
  }
  return out + explain_table(path);
}

std::string explain_choice(std::string_view name) {
  std::string out;
  for (const DescribedField& f : shown_fields().fields) {
    const auto* field = std::get_if<ChoiceField>(&f.target);
    if (field == nullptr) continue;
    for (const Choice& c : field->choices) {
      if (answers_to(c, name)) out += fmt::format("{} = \"{}\"\n  {}\n", f.path(), c.name, c.doc);
    }
  }
  return out;
}

// Text about the units of a scenario's quantities, from the table that the reader uses.

namespace {

// "`s`, `ms` = 0.001 s"
template <class Quantity>
std::string row() {
  using U = Unit<Quantity>;
  std::string names;
  for (const UnitName& unit : U::names) {
    if (&unit == U::names) {
      names = fmt::format("`{}`", unit.name);
      continue;
    }
    const double value = unit.times / unit.divided;
    const std::string number = value < 1e3 ? shortest(value) : fmt::format("{:.0f}", value);
    names += fmt::format(", `{}` = {} {}", unit.name, number, U::names[0].name);
  }
  return fmt::format("| {} | `\"{}\"` | {} |\n", U::what.substr(2), U::example, names);
}

template <class Quantity>
std::string explained(std::string_view name) {
  using U = Unit<Quantity>;
  const auto found = std::ranges::find(U::names, name, &UnitName::name);
  if (found == std::end(U::names)) return {};
  const std::string is =
      found == U::names ? ", as results have it"
                        : fmt::format(": {} {}", shortest(found->times / found->divided), U::names[0].name);
  return fmt::format("{}: a unit of {}{}, for example \"{}\"\n", name, U::what, is, U::example);
}

}  // namespace

std::string explain_unit(std::string_view name) {
  return explained<Seconds>(name) + explained<Bytes>(name) + explained<BytesPerSecond>(name) +
         explained<FlopsPerSecond>(name) + explained<Watts>(name);
}

std::string unit_table() {
  return "| quantity | example | units |\n|---|---|---|\n" + row<Seconds>() + row<Bytes>() +
         row<BytesPerSecond>() + row<FlopsPerSecond>() + row<Watts>() +
         "\n`bps` are bits per second, `Bps` bytes per second, `f` floating-point operations per second. "
         "Fields of\ntype integer or number need a bare number.\n";
}

// The resolved echo of a scenario.

namespace {

// Writes the fields that have a meaning, and their tables.
class Echo final : public MeaningfulFields {
 public:
  TomlText out;

 private:
  void on_field(std::string_view key, const FieldTarget& target, const FieldInfo&) override {
    const std::optional<std::string> value = toml_text(target);
    if (!value) return;
    if (begins_) out.begin(path(), is_element_);
    begins_ = false;
    out.add(key, *value);
  }
  void on_table(bool is_element, const std::function<void()>& fields) override {
    begins_ = true;
    is_element_ = is_element;
    fields();
  }
  bool begins_ = false, is_element_ = false;
};

}  // namespace

std::string resolved_toml(const Scenario& scenario) {
  Scenario copy = scenario;
  if (scenario.architecture.is_on_one_machine()) copy.cluster.workers = 1;  // as in a file
  Echo echo;
  describe(echo, copy);
  // Without this line the preset's filters would come back.
  const bool no_filters = scenario.filters.empty() && sets(scenario.preset, "filter");
  return (no_filters ? "filter = []\n" : "") + echo.out.text();
}

namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// The names of the features that `fit`.
template <class Fit>
std::string names_of(Fit&& fit) {
  std::vector<std::string_view> names;
  for (const Feature& feature : features()) {
    if (fit(feature)) names.push_back(feature.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string in_page(std::string text) {  // a cell of a table, one line
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "`, `");
  return fmt::format("`{}`", text);
}

constexpr std::string_view intro = R"(# Compatible features

<!-- Generated by `psim explain compatibility`; do not edit. -->

A *property* holds in a scenario unless a feature takes it away. A *feature* needs some properties. Two
features exclude each other if one needs a property that the other takes away. psim then rejects the
scenario, and names the missing property. psim runs all other pairs.

Two values of one field always exclude each other: a scenario has one consistency model. Some rows depend
on numbers:

- The rows of consistency models assume several servers and more workers than `k`. If an update takes the
  pushes of all workers (k-sync with `k` = workers, ssp with `staleness = 0`), all workers are in the same
  clock, and an update has all pushes of a clock.
- With `k = 1`, an update has one push under k-async and k-batch-async.

)";

}  // namespace

std::string compatibility_page() {
  std::string page(intro);
  page += "## Properties\n\n| property | what holds | taken away by |\n|---|---|---|\n";
  for (const PropertyRow& row : properties()) {
    page += fmt::format("| {} | {} | {} |\n", row.name, row.doc, names_of([&](const Feature& feature) {
                          return feature.demands.takes.has(row.property);
                        }));
  }
  page += "\n## Features\n\n| feature | for example | needs | takes away |\n|---|---|---|---|\n";
  for (const Feature& feature : features()) {
    page += fmt::format("| {} | {} | {} | {} |\n", feature.name, in_page(feature.example),
                        or_dash(in_words(feature.demands.needs)), or_dash(in_words(feature.demands.takes)));
  }
  page += "\n## Pairs that exclude each other\n\n| feature | cannot go with |\n|---|---|\n";
  for (const Feature& feature : features()) {
    const std::string others =
        names_of([&](const Feature& other) { return &other != &feature && exclude(feature, other); });
    page += fmt::format("| {} | {} |\n", feature.name, or_dash(others));
  }
  return page;
}

std::string explain_needs(std::string_view name) {
  std::string text;
  const std::string choice = fmt::format(" = \"{}\"", name);
  for (const Feature& feature : features()) {
    const std::string first = feature.example.substr(0, feature.example.find('\n'));
    if (feature.name != name && feature.field() != name && !first.ends_with(choice)) continue;
    if (!feature.demands.needs.empty())
      text += fmt::format("  {} needs: {}\n", feature.name, in_words(feature.demands.needs));
    if (!feature.demands.takes.empty())
      text += fmt::format("  {} excludes features that need: {}\n", feature.name,
                          in_words(feature.demands.takes));
  }
  return text.empty() ? text : "Compatible features (docs/compatibility.md):\n" + text;
}

namespace {

constexpr std::string_view page =
#include "sim/scenario/reference/topics.txt.inc"
    ;

constexpr std::string_view page_of_methods =
#include "sim/scenario/reference/methods.txt.inc"
    ;

constexpr auto all_topics = text_rows<Topic, 4, row_count(page)>(page);
constexpr auto all_methods = text_rows<Topic, 4, row_count(page_of_methods)>(page_of_methods);

}  // namespace

std::span<const Topic> topics() { return all_topics; }
std::span<const Topic> methods() { return all_methods; }

}  // namespace psim
