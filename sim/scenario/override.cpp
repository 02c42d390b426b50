#include "sim/scenario/override.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/unicode.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {
namespace {

toml::source_region region_of(const Place& place) {
  return {{place.line, place.column},
          {place.end_line, place.end_column},
          std::make_shared<const std::string>(std::to_string(place.source))};
}

// One part of a dotted key, and its place.
struct NamePart {
  std::string name;
  Place place;
};

// "a.b.0.c" -> "a", "b", "0", "c". A place outside the key stays whole.
std::vector<NamePart> split_path(std::string_view key, const Place& place, std::uint32_t offset) {
  std::vector<NamePart> parts;
  std::uint32_t column = place.column + offset;
  const bool splits = place.end_line == place.line && place.end_column - column == code_points(key) + offset;
  for (;;) {
    const std::size_t dot = key.find('.');
    const std::string_view name = key.substr(0, dot);
    Place here = place;
    if (splits) {
      here.column = column;
      here.end_column = column + code_points(name);
      column = here.end_column + 1;
    }
    parts.push_back({std::string(name), here});
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
  }
}

// Why `part` does not exist in `parent`, which is not a table; empty if it exists.
std::string no_way(const toml::node& parent, const std::string& path, const std::string& part) {
  const toml::array* array = parent.as_array();
  if (array == nullptr) return fmt::format("`{}` is not a table", path);
  const std::optional<std::size_t> index = number_in<std::size_t>(part);
  if (index && *index < array->size()) return "";
  if (array->empty()) return fmt::format("`{}` has no elements", path);
  if (array->size() == 1) return fmt::format("there is only `{}.0`", path);
  return fmt::format("there are `{0}.0` to `{0}.{1}`", path, array->size() - 1);
}

// The hint for an unknown `path` that should make one worker slow.
std::string help_for(std::string_view path) {
  const bool slow = path.starts_with("straggler") || path.starts_with("cluster.worker.speed");
  return slow ? "to make one worker slow: --set 'straggler=[{workers=[3], slowdown=4.0}]'" : "";
}

// "ssp 2": the model, its number if given, and the name of the number's field.
struct NamedModel {
  std::string model;
  std::optional<std::size_t> number;  // where it begins
  std::string_view field = {};
};

NamedModel split_model(const std::string& text) {
  const std::size_t blank = text.find_last_of(" \t");
  const std::size_t name_end = text.find_last_not_of(" \t", std::min(blank, text.size() - 1));
  const std::optional<std::size_t> number =
      blank == std::string::npos ? std::nullopt : number_in<std::size_t>(text.substr(blank + 1));
  if (!number || name_end == std::string::npos) return {text, std::nullopt};
  NamedModel result{text.substr(0, name_end + 1), blank + 1};
  result.field = number_field(result.model);
  return result;
}

// The table for a text that replaces [consistency].
toml::table consistency_table(toml::value<std::string>& text) {
  const Place place = place_of(text.source());
  const std::string given = *text;
  const NamedModel named = split_model(given);
  toml::table table;
  if (named.number) {
    const std::string digits = given.substr(*named.number);
    Place where = place;
    if (place.end_column - place.column == code_points(given) + 2 && place.end_line == place.line)
      where.column = place.column + 1 + static_cast<std::uint32_t>(*named.number);
    // A copy has no place.
    const std::string blanks = std::string(std::max(where.line, 1U) - 1, '\n') + "v=";
    const std::string shift(where.column > 3 ? where.column - 3 : 0, ' ');
    ParsedText number = parse_text(blanks + shift + digits, place.source);
    if (toml::node* value = number.root.get("v"))
      value->visit([&](auto& concrete) {
        table.insert_or_assign(toml::key(named.field, region_of(place)), std::move(concrete));
      });
    *text = named.model;
  }
  table.insert_or_assign(toml::key("model", region_of(place)), std::move(text));
  return table;
}

// Merges a table into the existing table, field by field. Any other value replaces the old value.
void assign(toml::table& into, const toml::key& name, toml::node& value) {
  toml::table* there = into.get_as<toml::table>(name.str());
  toml::table* given = value.as_table();
  if (there == nullptr || given == nullptr) {
    value.visit([&](auto& concrete) { into.insert_or_assign(name, std::move(concrete)); });
    return;
  }
  for (auto&& [key, node] : *given) assign(*there, key, node);
}

// [bsp, "ssp 2"] -> ["bsp", "ssp 2"]; texts in quotes, and everything that is not a word, stay unchanged.
std::string with_quotes(const std::string& list) {
  std::string out;
  std::size_t at = 0;
  while (at < list.size()) {
    const char c = list[at];
    if (c == '"' || c == '\'') {
      const std::size_t end = std::min(list.find(c, at + 1), list.size() - 1);
      out += list.substr(at, end + 1 - at);
      at = end + 1;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      const std::size_t end = std::min(list.find_first_of(",[]{}\"'", at), list.size());
      const std::size_t last = list.find_last_not_of(" \t", end - 1);
      const std::string word = list.substr(at, last + 1 - at);
      out += word == "true" || word == "false" ? word : toml_string(word);
      at = last + 1;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

}  // namespace

void expand_consistency(toml::table& root) {
  if (auto* text = root.get_as<std::string>("consistency")) {
    toml::table table = consistency_table(*text);
    root.insert_or_assign(root.find("consistency")->first, std::move(table));
  }
}

void put(Document& document, std::string_view key, Place place, toml::node& value, const std::string& code,
         Diagnostics& diagnostics) {
  const bool quoted = place.end_line == place.line && place.end_column - place.column == code_points(key) + 2;
  const std::vector<NamePart> parts = split_path(key, place, quoted ? 1 : 0);
  toml::node* parent = &document.root;
  std::string path;
  const auto refuse = [&](const Place& where, std::string label, std::string help) {
    diagnostics.add(
        {code, where, fmt::format("`{}` does not exist", key), std::move(label), std::move(help)});
  };
  if (parts.size() > most_parts)
    return refuse(place, fmt::format("it has {} parts; fields have only a few", parts.size()),
                  "a path is written table.key, such as cluster.workers");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [part, where] = parts[i];
    if (part.empty())
      return refuse(place, "a part between dots is empty",
                    "a path is written table.key, such as cluster.workers");
    const bool last = i + 1 == parts.size();
    if (toml::table* table = parent->as_table()) {
      const toml::key name(part, region_of(where));
      if (last && path.empty() && part == "consistency" && value.is_string()) {
        toml::table model = consistency_table(*value.as_string());
        return assign(*table, name, model);
      }
      if (last) return assign(*table, name, value);
      parent = table->get(part);
      if (parent == nullptr && number_in<std::size_t>(parts[i + 1].name))
        return refuse(where, fmt::format("`{}` has no elements", path.empty() ? part : path + "." + part),
                      help_for(key));
      if (parent == nullptr) parent = &table->insert_or_assign(name, toml::table{}).first->second;
    } else {
      if (const std::string why = no_way(*parent, path, part); !why.empty())
        return refuse(where, why, parent->is_array() ? "" : help_for(key));
      parent = parent->as_array()->get(*number_in<std::size_t>(part));
      if (last)
        return refuse(where, "only a field of a table can be replaced",
                      fmt::format("give `{}` as a whole", path));
    }
    path += (path.empty() ? "" : ".") + part;
  }
}

void apply_assignment(Document& document, const std::string& text, std::size_t source, std::uint32_t line,
                      const std::string& code, Diagnostics& diagnostics) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string key = text.substr(0, text.find_last_not_of(" \t", equals == 0 ? 0 : equals - 1) + 1);
  const std::string value = equals < text.size() ? text.substr(equals + 1) : "";
  const std::uint32_t width = code_points(key);
  // A value that does not begin with a TOML string, list or table may be a bare word, which means a string.
  const std::size_t first = value.find_first_not_of(" \t");
  const bool may_be_word =
      first == std::string::npos || std::string_view("\"'[{").find(value[first]) == std::string_view::npos;
  // Gives the value the same lines and columns as in `text`.
  const std::string before = std::string(line - 1, '\n') + "v" +
                             std::string(std::max(code_points(text.substr(0, equals)), 1U) - 1, ' ') + "=";
  ParsedText parsed = parse_text(before + value, source);
  if (may_be_word && (parsed.problem || parsed.root.size() != 1)) {
    const std::size_t blanks = width < equals && first != std::string::npos ? first : 0;
    const std::string word = value.substr(blanks);
    const auto number = number_in<double>(word);  // .5 and 5., which TOML does not know
    const bool is_number = number && (word.front() == '.' || word.back() == '.');
    parsed = parse_text(
        before + std::string(blanks, ' ') + (is_number ? fmt::format("{}", *number) : toml_string(word)),
        source);
  }
  if (!may_be_word && parsed.problem) {
    ParsedText quoted = parse_text(before + with_quotes(value), source);
    if (!quoted.problem && quoted.root.size() == 1) parsed = std::move(quoted);
  }
  if (parsed.problem) {
    parsed.problem->code = code;
    return diagnostics.add(std::move(*parsed.problem));
  }
  if (parsed.root.size() != 1) {
    return diagnostics.add(
        {code,
         {.source = source, .line = line + 1, .column = 1, .end_line = line + 1, .end_column = 2},
         "more than one value",
         "nothing may follow the value",
         code == "set" ? "repeat --set for another field" : "give another text for another field"});
  }
  put(document, key, {.source = source, .line = line, .column = 1, .end_line = line, .end_column = width + 1},
      *parsed.root.get("v"), code, diagnostics);
}

Diagnostic given_twice(const std::string& key, const Place& place, const Source& other) {
  const bool is_seed = key == "seed" || key == "seeds", is_set = other.name == "--set";
  return {"set", place, is_seed ? "the seed is given twice" : fmt::format("`{}` is given twice", key),
          is_set ? fmt::format("and by --set {}", other.text) : "and by " + other.name, "remove one of them"};
}

void apply_axis(Document& document, const Override& axis, Diagnostics& diagnostics) {
  const std::string text = axis.key + "=" + axis.value;
  const std::size_t source = diagnostics.add_source({axis.key == "seeds" ? "--seeds" : "--set", text});
  Document lists;
  const std::string flat = std::string(code_points(axis.key), 'v');  // one key, even with dots
  apply_assignment(lists, flat + "=" + axis.value, source, 1, "set", diagnostics);
  toml::node* value = lists.root.get(flat);
  if (value == nullptr) return;
  toml::node* compare = document.root.get("compare");
  if (compare == nullptr) compare = &document.root.insert_or_assign("compare", toml::table{}).first->second;
  if (!compare->is_table()) return;  // reported with the axes
  const Place place{
      .source = source, .line = 1, .column = 1, .end_line = 1, .end_column = code_points(axis.key) + 1};
  std::vector<std::string> same;  // axes that set this field or a part of this table
  const auto name_of = [](std::string_view key) { return std::string(key == "seed" ? "seeds" : key); };
  const std::string name = name_of(axis.key);
  for (auto&& [key, node] : *compare->as_table()) {
    const std::string other = name_of(key.str()) + ".", here = name + ".";
    if (!other.starts_with(here) && !here.starts_with(other)) continue;
    same.emplace_back(key.str());
    if (const std::size_t before = place_of(node.source()).source; before != document.source)
      diagnostics.add(given_twice(axis.key, place, diagnostics.sources()[before]));
  }
  for (const std::string& key : same) compare->as_table()->erase(key);
  value->visit([&](auto& concrete) {
    compare->as_table()->insert_or_assign(toml::key(name, region_of(place)), std::move(concrete));
  });
}

void apply_override(Document& document, const Override& change, Diagnostics& diagnostics) {
  const std::string text = change.key + "=" + change.value;
  const std::size_t source =
      diagnostics.add_source({change.source, text, change.line.value_or(1), !change.line});
  document.sets.push_back(source);
  apply_assignment(document, text, source, 1, "set", diagnostics);
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
void add_table(std::string& out, const toml::table& table, const std::string& path) {
  for (auto&& [key, value] : table) {
    if (!has_header(value)) out += fmt::format("{} = {}\n", key_text(key.str()), toml_of(value));
  }
  for (auto&& [key, value] : table) {
    if (!has_header(value)) continue;
    const std::string inner = path + (path.empty() ? "" : ".") + key_text(key.str());
    const auto add = [&](const char* begin, const toml::table& one, const char* end) {
      out += fmt::format("{}{}{}{}\n", out.empty() ? "" : "\n", begin, inner, end);
      add_table(out, one, inner);
    };
    if (const toml::table* one = value.as_table()) add("[", *one, "]");
    else
      for (const toml::node& each : *value.as_array()) add("[[", *each.as_table(), "]]");
  }
}

}  // namespace

std::string toml_document(const toml::table& root) {
  std::string out;
  add_table(out, root, "");
  return out;
}

std::string label_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<double>()) return shortest(*number);
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
