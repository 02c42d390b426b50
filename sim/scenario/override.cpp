#include "sim/scenario/override.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/scenario/toml_scan.hpp"
#include "sim/scenario/toml_text.hpp"

namespace psim {
namespace {

toml::source_region region_of(const Place& place) {
  return {{place.line, place.column},
          {place.end_line, place.end_column},
          std::make_shared<const std::string>(std::to_string(place.source))};
}

// One part of a dotted key, and where it stands.
struct Part {
  std::string name;
  Place place;
};

// "a.b.0.c" -> "a", "b", "0", "c". A place of several lines is not split.
std::vector<Part> split_path(std::string_view key, const Place& place, std::uint32_t offset) {
  std::vector<Part> parts;
  std::uint32_t column = place.column + offset;
  for (;;) {
    const std::size_t dot = key.find('.');
    const std::string_view name = key.substr(0, dot);
    Place here = place;
    here.column = column;
    here.end_column = column + code_points(name);
    column = here.end_column + 1;
    parts.push_back({std::string(name), here});
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
  }
}

std::optional<std::size_t> index_of(const std::string& text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// Why `part` cannot be entered from `parent`, which is no table; empty when it can.
std::string no_way(const toml::node& parent, const std::string& path, const std::string& part) {
  const toml::array* array = parent.as_array();
  if (array == nullptr) return fmt::format("`{}` is no table", path);
  const std::optional<std::size_t> index = index_of(part);
  if (index && *index < array->size()) return "";
  if (array->empty()) return fmt::format("`{}` has no elements", path);
  if (array->size() == 1) return fmt::format("there is only `{}.0`", path);
  return fmt::format("there are `{0}.0` to `{0}.{1}`", path, array->size() - 1);
}

// A table is merged into the one that is there, field by field; everything else takes the old value's place.
void assign(toml::table& into, const toml::key& name, toml::node& value) {
  toml::table* there = into.get_as<toml::table>(name.str());
  toml::table* given = value.as_table();
  if (there == nullptr || given == nullptr) {
    value.visit([&](auto& concrete) { into.insert_or_assign(name, std::move(concrete)); });
    return;
  }
  for (auto&& [key, node] : *given) assign(*there, key, node);
}

}  // namespace

void put(Document& document, std::string_view key, Place place, toml::node& value, const std::string& code,
         Diagnostics& diagnostics) {
  const bool quoted = place.end_line == place.line && place.end_column - place.column == code_points(key) + 2;
  const std::vector<Part> parts = split_path(key, place, quoted ? 1 : 0);
  toml::node* parent = &document.root;
  std::string path;
  const auto refuse = [&](const Place& where, std::string label, std::string help) {
    diagnostics.add({code, where, fmt::format("`{}` leads nowhere", key), std::move(label), std::move(help)});
  };
  if (parts.size() > most_parts)
    return refuse(place, fmt::format("it has {} parts; a field has at most a few", parts.size()),
                  "a path is written table.key, such as cluster.workers");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [part, where] = parts[i];
    if (part.empty())
      return refuse(place, "a part between dots is empty",
                    "a path is written table.key, such as cluster.workers");
    const bool last = i + 1 == parts.size();
    if (toml::table* table = parent->as_table()) {
      const toml::key name(part, region_of(where));
      if (last) {
        return assign(*table, name, value);
      }
      parent = table->get(part);
      if (parent == nullptr && index_of(parts[i + 1].name))
        return refuse(where, fmt::format("`{}` has no elements", path.empty() ? part : path + "." + part),
                      "");
      if (parent == nullptr) parent = &table->insert_or_assign(name, toml::table{}).first->second;
    } else {
      if (const std::string why = no_way(*parent, path, part); !why.empty()) return refuse(where, why, "");
      parent = parent->as_array()->get(*index_of(part));
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
  // What does not open a TOML string, list or table may be a bare word, which then stands for a string.
  const std::size_t first = value.find_first_not_of(" \t");
  const bool may_be_word =
      first == std::string::npos || std::string_view("\"'[{").find(value[first]) == std::string_view::npos;
  // So that the value's lines and columns are those of `text`.
  const std::string before = std::string(line - 1, '\n') + "v" +
                             std::string(std::max(code_points(text.substr(0, equals)), 1U) - 1, ' ') + "=";
  ParsedText parsed = parse_text(before + value, source);
  if (may_be_word && (!parsed.problems.empty() || parsed.root.size() != 1)) {
    const std::size_t blanks = width < equals && first != std::string::npos ? first : 0;
    parsed = parse_text(before + std::string(blanks, ' ') + toml_string(value.substr(blanks)), source);
  }
  for (Diagnostic& problem : parsed.problems) {
    problem.code = code;
    diagnostics.add(std::move(problem));
  }
  if (!parsed.problems.empty()) return;
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

void apply_override(Document& document, const Override& change, Diagnostics& diagnostics) {
  const std::string text = change.key + "=" + change.value;
  const std::size_t source = diagnostics.add_source({"--set", text});
  apply_assignment(document, text, source, 1, "set", diagnostics);
}

}  // namespace psim
