#include "sim/scenario/document.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace psim {
namespace {

constexpr std::uintmax_t largest_file = 4U << 20U;

Diagnostic about(std::size_t source, std::string message, std::string help) {
  return {.code = "file", .place = {.source = source}, .message = std::move(message), .label = {}, .help = std::move(help)};
}

// The file's text, or a diagnostic that says why it cannot be read.
std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string help) -> std::optional<std::string> {
    diagnostics.add(about(diagnostics.add_source({path, ""}), std::move(message), std::move(help)));
    return std::nullopt;
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return refuse("this is a directory, not a scenario file", "name a .toml file; `psim list` shows those that come with psim");
  }
  if (!std::filesystem::exists(path, error)) {
    return refuse("there is no such file", "`psim list` shows the scenarios that come with psim");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > largest_file) {
    return refuse(fmt::format("the file has {} bytes, too many for a scenario", size),
                  fmt::format("a scenario has at most {} bytes; is this really one?", largest_file));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)), "check the file's permissions");
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refuse("the file is empty", "start from a copy of scenarios/quickstart.toml");
  }
  return text;
}

void blank_line(std::string& text, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line && begin != std::string::npos; ++i) begin = text.find('\n', begin) + 1;
  for (std::size_t i = begin; i < text.size() && text[i] != '\n'; ++i) text[i] = ' ';
}

bool opens_table(std::string_view text, std::uint32_t line) {
  for (std::uint32_t i = 1; i < line; ++i) text.remove_prefix(text.find('\n') + 1);
  const std::size_t first = text.find_first_not_of(" \t");
  return first != std::string_view::npos && text[first] == '[';
}

// toml++ stops at the first syntax error. To find more, the line is blanked and the rest read again.
ParsedDocument parse_text(std::string text, std::size_t source, Diagnostics& diagnostics) {
  ParsedDocument result;
  result.usable = true;
  std::uint32_t last_line = 0;
  for (int errors = 0; errors < 20; ++errors) {
    try {
      result.document.root = toml::parse(text, std::to_string(source));
      return result;
    } catch (const toml::parse_error& error) {
      Place place = result.document.place(error.source());
      place.source = source;
      place.end_column = place.column;
      if (place.line <= last_line) break;
      diagnostics.add({.code = "syntax", .place = place, .message = "not valid TOML", .label = std::string(error.description()), .help = {}});
      last_line = place.line;
      result.usable = result.usable && !opens_table(text, place.line);
      blank_line(text, place.line);
    }
  }
  result.usable = false;
  return result;
}

// "a.b.0.c" -> {"a", "b", "0", "c"}
std::vector<std::string> split_path(std::string_view key) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t dot = key.find('.');
    parts.emplace_back(key.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
  }
}

// The node that `part` names inside `parent`, made (as a table) when it is missing from a table.
toml::node* step_into(toml::node& parent, const std::string& part, const toml::source_region& region) {
  if (toml::array* array = parent.as_array()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error != std::errc{} || end != part.data() + part.size() || index >= array->size()) return nullptr;
    return array->get(index);
  }
  toml::table* table = parent.as_table();
  if (table == nullptr) return nullptr;
  if (toml::node* child = table->get(part)) return child;
  return &table->insert_or_assign(toml::key(part, region), toml::table{}).first->second;
}

std::optional<toml::table> parse_value(const std::string& value, std::size_t source) {
  for (const std::string& text : {"v = " + value, fmt::format("v = \"{}\"", value)}) {
    try {
      return toml::parse(text, std::to_string(source));
    } catch (const toml::parse_error&) {
    }
  }
  return std::nullopt;
}

void apply_override(Document& document, const Override& change, Diagnostics& diagnostics) {
  const std::size_t source = diagnostics.add_source({"--set", change.key + "=" + change.value});
  document.column_shift.resize(source + 1, 0);
  document.column_shift[source] = static_cast<std::uint32_t>(change.key.size() + 2) - 5;  // parsed as "v = value"
  const auto width = static_cast<std::uint32_t>(change.key.size()) + 1;
  const Place key_place{.source = source, .line = 1, .column = 1, .end_line = 1, .end_column = width};
  const auto refuse = [&](std::string message, std::string label) {
    diagnostics.add({.code = "set", .place = key_place, .message = std::move(message), .label = std::move(label), .help = {}});
  };
  std::optional<toml::table> parsed = parse_value(change.value, source);
  if (!parsed) return refuse("the value is not valid TOML", "after the first `=` stands a TOML value or a bare word");

  const toml::source_region key_region{{1, 5 - std::min(5U, width)}, {1, 5}, std::make_shared<const std::string>(std::to_string(source))};
  const std::vector<std::string> path = split_path(change.key);
  toml::node* parent = &document.root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    parent = step_into(*parent, path[i], key_region);
    if (parent == nullptr) return refuse(fmt::format("`{}` leads nowhere", change.key), fmt::format("`{}` cannot be entered here", path[i]));
  }
  toml::node& value = *parsed->get("v");
  if (toml::table* table = parent->as_table()) {
    value.visit([&](auto& concrete) { table->insert_or_assign(toml::key(path.back(), key_region), std::move(concrete)); });
  } else {
    refuse(fmt::format("`{}` leads nowhere", change.key), "only a key of a table can be set");
  }
}

}  // namespace

Place Document::place(const toml::source_region& region) const {
  Place place{.line = region.begin.line, .column = region.begin.column, .end_line = region.end.line,
              .end_column = region.end.column};
  if (region.path) std::from_chars(region.path->data(), region.path->data() + region.path->size(), place.source);
  if (place.source < column_shift.size()) {
    place.column += column_shift[place.source];
    place.end_column += column_shift[place.source];
  }
  return place;
}

ParsedDocument read_document(const std::string& path, const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_text(path, diagnostics);
  if (!text) return {};
  const std::size_t source = diagnostics.add_source({path, *text});
  ParsedDocument parsed = parse_text(*text, source, diagnostics);
  parsed.document.column_shift.resize(source + 1, 0);
  for (const Override& change : overrides) apply_override(parsed.document, change, diagnostics);
  return parsed;
}

}  // namespace psim
