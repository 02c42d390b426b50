// A scenario file as parsed TOML. Every node knows its source.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// toml++ 3.3.0 has assertions that a broken text such as `[1, ,` violates. It also reports these errors.
#define TOML_ASSERT(expr) static_cast<void>(0)
#include <toml++/toml.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

// Defaults of a preset, which replace psim's defaults.
struct PresetDefaults {
  std::string name;
  toml::table rows;
  std::size_t source = 0;    // of `rows`
  std::size_t given_in = 0;  // source that names the preset
};

struct Document {
  toml::table root;
  std::size_t source = 0;                     // of the file; values from other sources were put in
  bool complete = true;                       // false: an axis may give a field that is absent here
  std::optional<PresetDefaults> preset = {};  // for fields that `root` does not have
  std::vector<std::size_t> sets = {};         // sources that --set added
  std::vector<std::string> axes = {};         // the varied fields, by path
};

Place place_of(const toml::source_region& region);

// The TOML of a source, or its first syntax error.
struct ParsedText {
  toml::table root;
  std::optional<Diagnostic> problem = {};
};
ParsedText parse_text(std::string_view text, std::size_t source);

// Scans TOML text before parsing, or without parsing.
bool blank(char c);

// The open brackets and the open quote at the end of `text`, outermost first.
std::vector<std::size_t> open_in(std::string_view text);

// `text` with a question mark instead of each non-ASCII character outside texts and comments. TOML does not
// allow these characters there, and the white-space test of toml++ 3.3.0 fails on most of them. A word that
// begins like a number ends at its last character, even with quotes in it.
std::string in_ascii(std::string_view text);

}  // namespace psim
