// psim new and psim serve.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace psim::cli {

// A scenario from a few settings: the questions of `psim new` and the sliders of the playground.
struct SketchSetting {
  std::string name;                 // "workers"; the option --workers of `psim new`
  std::string label;                // label of the slider
  std::string doc;                  // help text, a sentence
  std::vector<std::string> values;  // the values of the slider, in order
  std::string usual;                // one of them
  std::string only_with, value;     // this setting counts only if the setting `only_with` has this value
  bool rare = false;                // the playground shows its slider behind "more"
};
// The settings of sketch.toml.
std::span<const SketchSetting> settings();

// The challenges of sketch.toml as a list in JSON, without their solutions.
nlohmann::ordered_json challenges();

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
std::string sketch_title_of(const Sketch& sketch);

struct NewCommand {
  std::string file;
  Sketch sketch;       // from the options; empty: psim asks three questions
  std::string method;  // of a paper; empty: none
};
int make_new(const NewCommand& asked);

struct ServeCommand {
  std::string address = "127.0.0.1";
  int port = 0;                    // 0: any free port
  std::vector<std::string> names;  // host names that browsers may use, besides the address
  unsigned jobs = 0;               // runs at the same time; 0: one per core
  double memory = 2;               // GB of address space of each run
  std::uint64_t seconds = 30;      // of processor time of each run
  std::string lab;                 // a class predicts this lab; empty: the playground
  std::string course;              // the folder of the lab; empty: psim's labs
};
int serve(const ServeCommand& asked);
// With a page for the teacher's projector, and one for the phones of students.
int serve_class(const ServeCommand& asked);

}  // namespace psim::cli
