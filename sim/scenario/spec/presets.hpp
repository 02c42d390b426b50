// Real systems by name. A preset puts the defaults of one of them in the place of psim's own; what the file,
// --set or an axis of a comparison gives goes before it.
//
// A preset's values are a TOML text of their own: a source like the file and every --set. The same code
// reads and checks them, and a diagnostic shows the row that a wrong value is from. The reader looks into
// the file first, then into the preset.
// - A preset's row that has no meaning beside the choices made is left out, whoever made them.
// - A preset's choice counts as made where the preset is named. Named in the file, it makes the file's own
//   fields meaningless, which is an error; named by --set or an axis, it leaves such fields out.
// - filter is one value: a file's filters take the place of all the preset's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.hpp"

namespace psim {

struct Document;
class Diagnostics;

// A default of a system: the field that says it here, or none when psim does not simulate it.
struct PresetRow {
  std::string field;   // dotted; empty: not simulated
  std::string value;   // TOML, or all_workers
  std::string does;    // what the system does
  std::string source;  // where that is written: repository and file, or paper
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

// The one value that is no TOML: what cluster.workers is.
inline constexpr std::string_view all_workers = "the number of workers";

bool sets(Preset preset, std::string_view field);

// Looks which preset `document` names and puts its defaults beside the root. They are a source of their own,
// so that a diagnostic shows where a value is from.
void take_preset(Document& document, Diagnostics& diagnostics);

// What `psim explain NAME` prints, and the section of docs/scenario.md.
std::string explain_preset(const PresetTable& table);
std::string preset_reference();

}  // namespace psim
