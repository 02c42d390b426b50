// A scenario sketched by a few settings: what `psim new` asks for, and what the playground has sliders for.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace psim::cli {

struct SketchSetting {
  std::string name;                 // "workers"; of `psim new` the option --workers
  std::string label;                // of its slider
  std::string doc;                  // a sentence
  std::vector<std::string> values;  // that a slider goes through, in their order
  std::string usual;                // one of them
  std::string only_with, value;     // another setting, and what it must be for this one to count
};
// Those of sketch.toml.
std::span<const SketchSetting> settings();

// By name; what is not there is as usual.
using Sketch = std::map<std::string, std::string>;

// The value of a setting, or the usual one.
std::string setting_of(const Sketch& sketch, const std::string& name);

// The scenario as commented TOML. With consistency = "all" it compares four models, with five seeds each.
std::string scenario_text(const Sketch& sketch);

// The errors of that scenario in words for people who have moved sliders and never seen a line of it: what is
// wrong, with the settings that it is about in the place of the line. Empty: there are none.
std::string errors_of(const Sketch& sketch);

// What happens in it, in a sentence.
std::string title_of(const Sketch& sketch);

}  // namespace psim::cli
