#include "sim/scenario/definition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/base/table.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

std::string doc_of_value(const std::string& field, const std::string& value) {
  if (field == "consistency.model") {
    const auto row = std::ranges::find_if(all_rows<ConsistencyRow>(),
                                          [&](const ConsistencyRow& one) { return answers_to(one, value); });
    return row == all_rows<ConsistencyRow>().end()
               ? ""
               : fmt::format("when a worker may start clock t: {}{}; a server applies: {}", row->may_start,
                             row->has_schedule() ? " (s: the staleness)" : "", row->applies);
  }
  if (field == "preset") {
    const auto preset = std::ranges::find_if(all_rows<PresetTable>(),
                                             [&](const PresetTable& one) { return answers_to(one, value); });
    return preset == all_rows<PresetTable>().end() ? "" : std::string(preset->doc);
  }
  const DescribedField* found = all_fields().find(field);
  const auto* field_of_names = found == nullptr ? nullptr : std::get_if<ChoiceField>(&found->target);
  if (field_of_names == nullptr) return "";
  for (const Choice& choice : field_of_names->choices) {
    if (answers_to(choice, value)) return std::string(choice.doc);
  }
  return "";
}

void add(std::vector<Definition>& all, const std::string& key, const toml::node& value) {
  if (value.is_table()) return;  // an empty one
  if (value.is_array_of_tables()) {
    for (const toml::node& element : *value.as_array())
      each_field(key, element,
                 [&](const std::string& field, const toml::node& inner) { add(all, field, inner); });
    return;
  }
  const std::string field = without_numbers(key), text = label_of(value);
  Definition one{.field = field, .value = text, .doc = doc_of_value(field, text)};
  one.of_value = !one.doc.empty();
  const DescribedField* found = all_fields().find(field);
  if (!one.of_value && found != nullptr) one.doc = found->info.doc;
  all.push_back(std::move(one));
}

}  // namespace

std::vector<Definition> definitions(const AxisValue& value) {
  std::vector<Definition> all;
  for (const std::string& set : value.sets) {
    const toml::table parsed = toml::parse("value = " + set.substr(set.find('=') + 1));
    each_expanded_field(key_in(set), *parsed.get("value"),
                        [&](const std::string& field, const toml::node& one) { add(all, field, one); });
  }
  return all;
}

}  // namespace psim
