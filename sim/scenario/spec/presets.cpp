#include "sim/scenario/spec/presets.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {
namespace {

constexpr std::string_view presets_toml =
#include "sim/scenario/spec/presets.toml.inc"
    ;

std::int64_t workers_of(const toml::table& root) {
  const auto given = root["cluster"]["workers"].value_exact<std::int64_t>();
  return given.value_or(Scenario{}.cluster.workers);
}

// presets.toml.
class PresetsFile {
 public:
  PresetsFile() : root_(toml::parse(presets_toml)) {}

  std::deque<PresetTable> tables() const {
    std::deque<PresetTable> tables;
    for (const toml::node& node : *root_["preset"].as_array()) {
      const toml::table& one = *node.as_table();
      PresetTable& table = tables.emplace_back();
      table.name = one["name"].ref<std::string>();
      table.doc = one["doc"].ref<std::string>();
      add_rows(one["rows"].as_array(), table.rows);
    }
    return tables;
  }

 private:
  void add_rows(const toml::array* rows, std::vector<PresetRow>& all) const {
    if (rows == nullptr) return;
    for (const toml::node& node : *rows) {
      if (const toml::array* row = node.as_array())
        all.push_back({row->at(0).ref<std::string>(), row->at(1).ref<std::string>(),
                       row->at(2).ref<std::string>(), row->at(3).ref<std::string>()});
      else add_rows(rows_of(node.ref<std::string>()), all);
    }
  }
  // Shared rows, or the rows of another system.
  const toml::array* rows_of(const std::string& name) const {
    if (const toml::array* shared = root_["shared"][name].as_array()) return shared;
    for (const toml::node& node : *root_["preset"].as_array()) {
      const toml::table& one = *node.as_table();
      if (one["name"].ref<std::string>() == name) return one["rows"].as_array();
    }
    throw std::logic_error("presets.toml has no rows " + name);
  }

  toml::table root_;
};

}  // namespace

template <>
std::deque<PresetTable> built_in_rows() {
  return PresetsFile().tables();
}

bool sets(Preset preset, std::string_view field) {
  return std::ranges::find(preset->rows, field, &PresetRow::field) != preset->rows.end();
}

void take_preset(Document& document, Diagnostics& diagnostics) {
  document.preset.reset();
  const toml::node* given = document.root.get("preset");
  const auto name = given == nullptr ? std::nullopt : given->value_exact<std::string>();
  const auto& tables = all_rows<PresetTable>();
  const auto found = std::ranges::find_if(
      tables, [&](const PresetTable& table) { return answers_to(table, name.value_or("none")); });
  if (found == tables.end() || found->rows.empty()) return;  // the reader reports the possible names
  std::string defaults;
  for (const PresetRow& row : found->rows) {
    const std::string value =
        row.value == all_workers ? fmt::to_string(workers_of(document.root)) : row.value;
    if (!row.field.empty()) defaults += fmt::format("{} = {}\n", row.field, value);
  }
  const std::size_t source = diagnostics.add_source({fmt::format("preset {}", *name), defaults});
  document.preset = {.name = *name,
                     .rows = parse_text(defaults, source).root,
                     .source = source,
                     .given_in = place_of(given->source()).source};
}

std::string explain_preset(const PresetTable& table) {
  std::string out = fmt::format("{}: a preset, {}\n", table.name, table.doc);
  for (const PresetRow& row : table.rows) {
    if (!row.field.empty())
      out += fmt::format("\n  {} = {}\n    {}\n    {}\n", row.field, row.value, row.does, row.source);
  }
  if (table.rows.empty()) return out;
  out += "\nNot simulated:\n";
  for (const PresetRow& row : table.rows) {
    if (row.field.empty()) out += fmt::format("  - {}\n    {}\n", row.does, row.source);
  }
  return out + fmt::format(
                   "\nIn a scenario, above its first table:\n  preset = \"{}\"\nThe file, --set and an axis "
                   "override the preset. `psim check FILE` shows the result.\n",
                   table.name);
}

std::string preset_reference() {
  std::string out =
      "\n## Presets\n\nA preset replaces psim's defaults by the defaults of a real system. The file, `--set` "
      "and an axis override the\npreset. psim ignores a preset's default that has no meaning with the other "
      "fields. `filter = []` removes a preset's\nfilters.\n";
  for (const PresetTable& table : all_rows<PresetTable>()) {
    if (table.rows.empty()) continue;
    out +=
        fmt::format("\n### {}: {}\n\n| field | value | what the system does | source |\n|---|---|---|---|\n",
                    table.name, table.doc);
    for (const PresetRow& row : table.rows) {
      const bool simulated = !row.field.empty();
      out +=
          fmt::format("| {} | {} | {} | {} |\n", simulated ? fmt::format("`{}`", row.field) : "not simulated",
                      !simulated                 ? ""
                      : row.value == all_workers ? row.value
                                                 : fmt::format("`{}`", row.value),
                      row.does, row.source);
    }
  }
  return out;
}

}  // namespace psim
