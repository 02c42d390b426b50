// A scenario file as parsed TOML. Every node still knows which source it came from.
#pragma once

// toml++ 3.3.0 asserts what a broken text can make false, such as `[1, ,`, and then reports it anyway.
#define TOML_ASSERT(expr) static_cast<void>(0)
#include <toml++/toml.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

// Defaults that a preset puts in the place of psim's own.
struct PresetDefaults {
  std::string name;
  toml::table rows;
  std::size_t source = 0;    // that `rows` stand in
  std::size_t given_in = 0;  // source that names the preset
};

struct Document {
  toml::table root;
  std::size_t source = 0;  // of the file; what stands in another one was put in
  bool complete = true;    // false: some lines could not be parsed, so what is absent may stand in them
  std::optional<PresetDefaults> preset = {};  // for what `root` does not have
  std::vector<std::size_t> sets = {};         // sources that --set added
  std::vector<std::string> axes = {};         // what is varied, by path
};

Place place_of(const toml::source_region& region);

// The text of a source as far as it is TOML, and what is wrong with the rest.
struct ParsedText {
  toml::table root;
  std::vector<Diagnostic> problems;
  bool usable = true;  // false: too much is wrong for `root` to mean anything
};
ParsedText parse_text(std::string text, std::size_t source);

}  // namespace psim
