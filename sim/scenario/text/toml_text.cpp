#include "sim/scenario/text/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + "\"";
}

namespace {

std::string key_text(std::string_view key) {
  constexpr std::string_view bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !key.empty() && key.find_first_not_of(bare) == std::string_view::npos ? std::string(key)
                                                                               : toml_string(key);
}

bool has_header(const toml::node& node) {
  const toml::array* list = node.as_array();
  return node.is_table() || (list != nullptr && !list->empty() && node.is_array_of_tables());
}

// Values come before tables, because values after a table belong to the table.
void add_table(TomlText& out, const toml::table& table, const std::string& path) {
  for (auto&& [key, value] : table) {
    if (!has_header(value)) out.add(key_text(key.str()), toml_of(value));
  }
  for (auto&& [key, value] : table) {
    if (!has_header(value)) continue;
    const std::string inner = path + (path.empty() ? "" : ".") + key_text(key.str());
    const auto add = [&](const toml::table& one) {
      out.begin(inner, value.is_array());
      add_table(out, one, inner);
    };
    if (const toml::table* one = value.as_table()) add(*one);
    else
      for (const toml::node& each : *value.as_array()) add(*each.as_table());
  }
}

}  // namespace

void TomlText::put(std::string_view field, std::string_view value, std::string_view comment) {
  const std::size_t dot = field.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? "" : field.substr(0, dot);
  const std::string key(field.substr(dot + 1));
  auto table = std::ranges::find(tables_, name, &Table::name);
  if (table == tables_.end()) table = tables_.insert(tables_.end(), {std::string(name), false, {}});
  auto line = std::ranges::find(table->lines, key, &Line::key);
  if (line == table->lines.end()) line = table->lines.emplace(line);
  *line = {key, std::string(value), std::string(comment)};
}

std::string TomlText::text() const {
  std::string out;
  for (const Table& table : tables_) {
    if (!table.name.empty())
      out += fmt::format(fmt::runtime(table.is_element ? "{}[[{}]]\n" : "{}[{}]\n"), out.empty() ? "" : "\n",
                         table.name);
    for (const auto& [key, value, comment] : table.lines) {
      const std::string line = fmt::format("{} = {}", key, value);
      out += comment.empty() ? line + "\n" : fmt::format("{:<34}  # {}\n", line, comment);
    }
  }
  return out;
}

std::string toml_document(const toml::table& root) {
  TomlText out;
  add_table(out, root, "");
  return out.text();
}

std::string label_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<double>()) {
    char digits[32];  // the fewest of this number
    return {digits, std::to_chars(digits, std::end(digits), *number).ptr};
  }
  std::ostringstream out;
  if (const toml::array* list = node.as_array(); list != nullptr && list->empty()) return "none";
  if (node.is_array_of_tables()) {
    std::string label;
    for (const toml::node& element : *node.as_array())
      label += (label.empty() ? "" : " + ") + label_of(element);
    return label;
  }
  if (const toml::array* list = node.as_array(); list != nullptr && list->is_homogeneous<std::string>()) {
    std::string label;
    for (const toml::node& text : *list) label += (label.empty() ? "" : ", ") + label_of(text);
    return label;
  }
  if (const toml::table* table = node.as_table()) {
    if (table->empty()) return "as in the file";
    const std::string_view name = table->contains("kind") ? "kind" : "model";
    std::string label;
    if (const toml::node* model = table->get(name)) label = label_of(*model);
    for (auto&& [key, value] : *table) {
      if (key.str() == name) continue;
      const bool obvious = table->contains("model") && value.is_integer();
      label += fmt::format("{}{}{}", label.empty() ? "" : " ", obvious ? "" : std::string(key.str()) + "=",
                           label_of(value));
    }
    return label;
  }
  node.visit([&](const auto& concrete) { out << concrete; });
  return out.str();
}

std::string toml_of(const toml::node& node) {
  std::ostringstream out;
  if (const toml::table* table = node.as_table()) {  // inline, on one line
    out << "{";
    bool first = true;
    for (auto&& [key, value] : *table)
      out << (std::exchange(first, false) ? " " : ", ") << toml_string(key.str()) << " = " << toml_of(value);
    out << " }";
  } else if (const toml::array* array = node.as_array()) {
    out << "[";
    bool first = true;
    for (const toml::node& value : *array) out << (std::exchange(first, false) ? "" : ", ") << toml_of(value);
    out << "]";
  } else if (const auto text = node.value_exact<std::string>()) {
    return toml_string(*text);
  } else if (const auto number = node.value_exact<double>(); number && std::isfinite(*number)) {
    const std::string digits = fmt::format("{}", *number);  // the fewest digits of this number
    return digits + (digits.find_first_of(".e") == std::string::npos ? ".0" : "");
  } else {
    node.visit([&](const auto& concrete) { out << concrete; });
  }
  return out.str();
}

}  // namespace psim
