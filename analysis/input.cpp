#include "analysis/input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/base/input.hpp"
#include "model/base/unicode.hpp"

namespace psim::analysis {

Json json_in(std::string_view text) {
  if (!too_much_json(text).empty()) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

Json json_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t most = std::uintmax_t{256} << 20U;
  return json_in(read_input(path, std::min(most, most_input())));
}

std::string scenario_text(const std::filesystem::path& path) {
  constexpr std::uintmax_t most = std::uintmax_t{64} << 20U;
  return read_input(path, most);
}

toml::table toml_file(const std::filesystem::path& path) {
  const std::string text = scenario_text(path);
  if (const auto deep = first_too_deep(text))
    throw InputError(path.string(), deep->key ? "a key has too many parts" : "brackets are nested too deeply",
                     "no scenario of psim has this");
  try {
    return toml::parse(text, path.string());
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}", path.string(), error.source().begin.line),
                     std::string(error.description()), "it is TOML");
  }
}

}  // namespace psim::analysis
