#include "sim/scenario/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/unicode.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace psim {

ParsedText parse_value(const std::string& text, std::size_t source, std::uint32_t line,
                       std::uint32_t column) {
  const std::string blanks(std::max(column, 3U) - 3, ' ');
  return parse_text(std::string(std::max(line, 1U) - 1, '\n') + "v" + blanks + "=" + text, source);
}

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

// "a.b.0.c" -> "a", "b", "0", "c". A part in quotes keeps its dots. A place outside the key stays whole.
std::vector<NamePart> split_path(std::string_view key, const Place& place, std::uint32_t offset) {
  std::vector<NamePart> parts;
  std::uint32_t column = place.column + offset;
  const bool splits = place.end_line == place.line && place.end_column - column == code_points(key) + offset;
  for (;;) {
    const std::size_t quote = key.starts_with('"') ? key.find('"', 1) : key.npos;
    const std::size_t dot = key.find('.', quote == key.npos ? 0 : quote);
    const std::string_view name = key.substr(0, dot);
    Place here = place;
    if (splits) {
      here.column = column;
      here.end_column = column + code_points(name);
      column = here.end_column + 1;
    }
    const bool in_quotes = quote != key.npos && quote + 1 == name.size();
    parts.push_back({std::string(in_quotes ? name.substr(1, quote - 1) : name), here});
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

bool has_value(const ParsedText& parsed) { return !parsed.problem && parsed.root.size() == 1; }

// The table for a text that replaces [consistency]: a model, and its number if one is given.
toml::table consistency_table(toml::value<std::string>& text) {
  const Place place = place_of(text.source());
  const std::string given = *text;
  const std::size_t blank = given.find_last_of(" \t");
  const std::size_t name_end = given.find_last_not_of(" \t", blank);
  toml::table table;
  if (blank != std::string::npos && name_end != std::string::npos &&
      number_in<std::size_t>(given.substr(blank + 1))) {
    const bool in_quotes = place.end_column - place.column == code_points(given) + 2;
    const bool is_plain = in_quotes && place.end_line == place.line;
    const std::uint32_t column = place.column + (is_plain ? 1 + static_cast<std::uint32_t>(blank + 1) : 0);
    *text = given.substr(0, name_end + 1);
    // A copy has no place.
    ParsedText number = parse_value(given.substr(blank + 1), place.source, place.line, column);
    if (toml::node* value = number.root.get("v"))
      value->visit([&](auto& concrete) {
        table.insert_or_assign(toml::key(number_field(*text), region_of(place)), std::move(concrete));
      });
  }
  table.insert_or_assign(toml::key("model", region_of(place)), std::move(text));
  return table;
}

// Merges a table into the existing table, field by field. Any other value replaces the old value.
void merge(toml::table& into, const toml::key& name, toml::node& value) {
  toml::table* there = into.get_as<toml::table>(name.str());
  toml::table* given = value.as_table();
  if (there == nullptr || given == nullptr) {
    value.visit([&](auto& concrete) { into.insert_or_assign(name, std::move(concrete)); });
    return;
  }
  for (auto&& [key, node] : *given) merge(*there, key, node);
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
    } else if (std::string_view(",[]{} \t").find(c) == std::string_view::npos) {
      const std::size_t end = std::min(list.find_first_of(",[]{}\"'", at), list.size());
      const std::size_t last = list.find_last_not_of(" \t", end - 1);
      const std::string word = list.substr(at, last + 1 - at);
      out += has_value(parse_value(word, 0, 1, 1)) ? word : toml_string(word);
      at = last + 1;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

void put(Document& document, const Assignment& one, const std::string& code, Diagnostics& diagnostics) {
  const auto& [key, place, given] = one;
  toml::node& value = *given;
  const bool quoted = place.end_line == place.line && place.end_column - place.column == code_points(key) + 2;
  const std::vector<NamePart> parts = split_path(key, place, quoted ? 1 : 0);
  toml::node* parent = &document.root;
  std::string path;
  const auto refuse = [&](const Place& where, std::string label, std::string help) {
    diagnostics.add(
        {code, where, fmt::format("`{}` does not exist", one.key), std::move(label), std::move(help)});
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
        return merge(*table, name, model);
      }
      if (last) return merge(*table, name, value);
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

// A value that is not TOML, as its user means it: a bare word is a text, also in a list, and .5 and 5. are
// numbers. `is_spaced`: blanks may surround the equals sign.
std::string as_meant(const std::string& value, bool is_spaced) {
  const std::size_t first = value.find_first_not_of(" \t");
  const bool is_word = first == std::string::npos || std::string("\"'[{").find(value[first]) > 3;
  if (!is_word) return with_quotes(value);
  const std::size_t blanks = is_spaced && first != std::string::npos ? first : 0;
  const std::string word = value.substr(blanks);
  const auto number = number_in<double>(word);
  const bool is_number = number && (word.front() == '.' || word.back() == '.');
  return std::string(blanks, ' ') + (is_number ? fmt::format("{}", *number) : toml_string(word));
}

}  // namespace

std::string as_toml(const std::string& value) {
  return has_value(parse_value(value, 0, 1, 1)) ? value : as_meant(value, true);
}

void assign(Document& document, const Assignments& all, const std::string& code, Diagnostics& diagnostics) {
  for (const Assignment& one : all) put(document, one, code, diagnostics);
}

std::string key_in(const std::string& text) {
  const std::string key = text.substr(0, text.find('='));
  return key.substr(0, key.find_last_not_of(" \t") + 1);
}

void assign_text(Document& document, const std::string& text, std::size_t source, std::uint32_t line,
                 const std::string& code, Diagnostics& diagnostics) {
  const std::size_t equals = text.find('=');
  const std::string key = key_in(text), value = text.substr(equals + 1);
  const std::uint32_t column = code_points(text.substr(0, equals)) + 2, width = code_points(key);
  ParsedText parsed = parse_value(value, source, line, column);
  if (!has_value(parsed)) {
    ParsedText meant = parse_value(as_meant(value, key.size() < equals), source, line, column);
    if (has_value(meant)) parsed = std::move(meant);
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
  const Place place{.source = source, .line = line, .column = 1, .end_line = line, .end_column = width + 1};
  put(document, {key, place, parsed.root.get("v")}, code, diagnostics);
}

void expand_consistency(toml::table& root) {
  if (auto* text = root.get_as<std::string>("consistency")) {
    toml::table table = consistency_table(*text);
    root.insert_or_assign(root.find("consistency")->first, std::move(table));
  }
}

void each_field(const std::string& key, const toml::node& value, const UseField& use) {
  const toml::table* table = value.as_table();
  if (table == nullptr || table->empty()) return use(key, value);
  for (auto&& [name, inner] : *table) each_field(fmt::format("{}.{}", key, name.str()), inner, use);
}

void each_expanded_field(const std::string& key, const toml::node& value, const UseField& use) {
  toml::table root;
  root.insert(key, value);
  expand_consistency(root);
  each_field(key, *root.get(key), [&](const std::string& field, const toml::node& inner) {
    if (!inner.is_table()) use(field, inner);
  });
}

std::set<std::string> fields_of(const Assignments& all) {
  std::set<std::string> fields;
  for (const Assignment& one : all)
    each_expanded_field(one.key, *one.value,
                        [&](const std::string& field, const toml::node&) { fields.insert(field); });
  return fields;
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
  assign_text(lists, flat + "=" + axis.value, source, 1, "set", diagnostics);
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
    if (!overlap(name_of(key.str()), name)) continue;
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
  assign_text(document, text, source, 1, "set", diagnostics);
}

}  // namespace psim
