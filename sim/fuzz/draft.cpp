#include "sim/fuzz/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace psim::fuzz {

const std::string* Table::find(std::string_view key) const {
  const auto row = std::ranges::find(rows, key, &Row::key);
  return row == rows.end() ? nullptr : &row->value;
}

Table& Draft::operator[](std::string_view name) {
  const auto table = std::ranges::find(tables, name, &Table::name);
  if (table != tables.end()) return *table;
  tables.push_back({.name = std::string(name), .rows = {}});
  return tables.back();
}

const std::string* Draft::find(std::string_view name, std::string_view key) const {
  const auto table = std::ranges::find(tables, name, &Table::name);
  return table == tables.end() ? nullptr : table->find(key);
}

std::string to_toml(const Draft& draft) {
  std::string text;
  for (const Table& table : draft.tables) {
    if (!table.name.empty())
      text += fmt::format("{}{}{}{}\n", text.empty() ? "" : "\n", table.many ? "[[" : "[", table.name,
                          table.many ? "]]" : "]");
    for (const Row& row : table.rows) text += fmt::format("{} = {}\n", row.key, row.value);
  }
  return text;
}

std::set<std::string> features(const Draft& draft) {
  std::set<std::string> found;
  for (const Table& table : draft.tables) {
    for (const Row& row : table.rows) {
      const std::string field = table.name + (table.name.empty() ? "" : ".") + row.key;
      std::string word = row.value;
      std::erase(word, '"');
      const bool is_word = word != row.value && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
                           word.find(' ') == std::string::npos;
      if (is_word) found.insert(fmt::format("{} {}", field, word));
      else if (!row.needed) found.insert(field);
    }
  }
  return found;
}

}  // namespace psim::fuzz
