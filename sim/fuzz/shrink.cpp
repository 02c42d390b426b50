#include "sim/fuzz/shrink.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>

#include "model/input.hpp"

namespace psim::fuzz {
namespace {

constexpr auto counts = std::to_array<std::string_view>({"workers", "servers", "steps", "copies"});

bool is_needed(const Table& table) {
  return std::ranges::any_of(table.rows, [](const Row& row) { return row.needed; });
}

// All drafts that are one step smaller than `draft`, the most promising first.
std::vector<Draft> smaller(const Draft& draft) {
  std::vector<Draft> result;
  for (const bool faults : {true, false}) {
    for (std::size_t i = draft.tables.size(); i-- > 0;) {
      if (is_needed(draft.tables[i]) || (draft.tables[i].name == "fault") != faults) continue;
      result.push_back(draft);
      result.back().tables.erase(result.back().tables.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const auto each_row = [&](const auto& look) {
    for (std::size_t i = 0; i < draft.tables.size(); ++i) {
      for (std::size_t j = 0; j < draft.tables[i].rows.size(); ++j) look(i, j, draft.tables[i].rows[j]);
    }
  };
  each_row([&](std::size_t i, std::size_t j, const Row& row) {
    if (row.needed) return;
    std::vector<Row>& less = result.emplace_back(draft).tables[i].rows;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(j));
  });
  each_row([&](std::size_t i, std::size_t j, const Row& row) {
    std::int64_t count = 0;
    std::from_chars(row.value.data(), row.value.data() + row.value.size(), count);
    if (std::ranges::find(counts, row.key) == counts.end() || count < 2) return;
    for (const std::int64_t less : {count / 2, count - 1})
      result.emplace_back(draft).tables[i].rows[j].value = fmt::to_string(less);
  });
  return result;
}

}  // namespace

Draft shrink(Draft draft, const std::function<bool(const Draft&)>& shows) {
  std::set<std::string> asked;
  for (bool found = true; found;) {
    found = false;
    for (Draft& candidate : smaller(draft)) {
      if (!asked.insert(to_toml(candidate)).second || !shows(candidate)) continue;
      draft = std::move(candidate);
      found = true;
      break;
    }
  }
  return draft;
}

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
