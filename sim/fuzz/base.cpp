#include "sim/fuzz/base.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

#include "model/input.hpp"

namespace psim::fuzz {

std::optional<Table> consistency_of(const std::filesystem::path& file) {
  toml::table root = toml::parse(read_input(file), file.string());
  const toml::table* given = root.get_as<toml::table>("consistency");
  if (given == nullptr) return std::nullopt;
  Table table{.name = "consistency", .rows = {}};
  for (const auto& [key, value] : *given) {
    std::ostringstream text;
    value.visit([&text](const auto& node) {
      if constexpr (toml::is_value<decltype(node)> || toml::is_array<decltype(node)>) text << node;
      else text << toml::toml_formatter(node);
    });
    std::string line = text.str();
    std::ranges::replace(line, '\n', ' ');
    table.rows.push_back({std::string(key.str()), std::move(line), true});
  }
  return table;
}

Draft with_consistency(Draft draft, const Table& consistency) {
  std::erase_if(draft.tables, [](const Table& table) { return table.name.starts_with("consistency."); });
  draft["consistency"] = consistency;
  return draft;
}

}  // namespace psim::fuzz
