// A scenario from a few settings: the questions of `psim new` and the sliders of the playground.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace psim::cli {

struct SketchSetting {
  std::string name;                 // "workers"; the option --workers of `psim new`
  std::string label;                // label of the slider
  std::string doc;                  // help text, a sentence
  std::vector<std::string> values;  // the values of the slider, in order
  std::string usual;                // one of them
  std::string only_with, value;     // this setting counts only if the setting `only_with` has this value
};
// The settings of sketch.toml.
std::span<const SketchSetting> settings();

// Values by name. A missing setting has its usual value.
using Sketch = std::map<std::string, std::string>;

// The value of a setting, or its usual value.
std::string setting_of(const Sketch& sketch, const std::string& name);

// The scenario as commented TOML. With consistency = "all" it compares four models, with five seeds each.
std::string scenario_text(const Sketch& sketch);

// The errors of that scenario, for people who only see the sliders: the mistake, with the names of the
// settings instead of a line. Empty: none.
std::string errors_of(const Sketch& sketch);

// A sentence on what happens in the scenario.
std::string title_of(const Sketch& sketch);

}  // namespace psim::cli
