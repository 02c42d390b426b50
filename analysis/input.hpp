// What psim reads back of its own files, which somebody else may have sent: bounded in depth and in size.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// Discarded where the text is no JSON, or more than psim writes (model/nesting.hpp).
Json json_in(std::string_view text);
// The same of a file. Throws InputError where it cannot be read.
Json json_file(const std::filesystem::path& path);

// The text of a scenario file. Throws InputError where it cannot be read, also where it is too large for one.
std::string scenario_text(const std::filesystem::path& path);
// The same, parsed. Throws InputError where it cannot be read, also where it is not TOML or nests too deeply.
toml::table toml_file(const std::filesystem::path& path);

}  // namespace psim::analysis
