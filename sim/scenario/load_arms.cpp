// The arms of [compare]: an axis whose values set any fields together, under a name.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/scenario/axis_text.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
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

}  // namespace psim
