// Real systems by name. A preset replaces psim's defaults by the defaults of one system. The file, --set and
// the axes of a comparison override the preset.
//
// The values of a preset are a separate TOML text: a source like the file and every --set. The same code
// reads and checks them, and a diagnostic shows the row of a wrong value. The reader looks into the file
// first, then into the preset.
// - psim ignores a preset's row that has no meaning with the choices of the scenario, from any source.
// - A preset's choice has the place of the preset's name. If the file names the preset, fields of the file
//   that the choice makes meaningless are errors. If --set or an axis names the preset, psim ignores such
//   fields.
// - filter is one value: the file's filters replace all filters of the preset.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/table.hpp"

namespace psim {

struct Document;
class Diagnostics;

// A default of a system: its field, or none if psim does not simulate it.
struct PresetRow {
  std::string field;   // dotted; empty: not simulated
  std::string value;   // TOML, or all_workers
  std::string does;    // what the system does
  std::string source;  // the source: repository and file, or paper
};

// One system (presets.toml).
struct PresetTable {
  std::string name, doc;
  std::string_view aliases = {};     // separated by spaces
  std::vector<PresetRow> rows = {};  // none: psim's own defaults
  double fuzz = 1;                   // how often the fuzzer draws it, beside 1
};
template <>
std::deque<PresetTable> built_in_rows();
using Preset = Chosen<PresetTable>;

// The only value that is not TOML: the value of cluster.workers.
inline constexpr std::string_view all_workers = "the number of workers";

bool sets(Preset preset, std::string_view field);

// Puts the defaults of the preset that `document` names next to the root. They are a separate source, so that
// a diagnostic shows the origin of a value.
void take_preset(Document& document, Diagnostics& diagnostics);

// What `psim explain NAME` prints, and the section of docs/scenario.md.
std::string explain_preset(const PresetTable& table);
std::string preset_reference();

}  // namespace psim
