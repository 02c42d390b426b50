// Reads files that psim wrote earlier. They may come from another person, so depth and size are limited.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// A discarded value if the text is no JSON, or exceeds the limits of psim (model/base/unicode.hpp).
Json json_in(std::string_view text);
// The same for a file. Throws InputError if the file cannot be read.
Json json_file(const std::filesystem::path& path);

// The text of a scenario file. Throws InputError if the file cannot be read or is too large.
std::string scenario_text(const std::filesystem::path& path);
// The same, parsed. Throws InputError also if the text is not TOML or nests too deeply.
toml::table toml_file(const std::filesystem::path& path);

}  // namespace psim::analysis
