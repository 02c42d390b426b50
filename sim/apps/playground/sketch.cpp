#include "sim/apps/playground/sketch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <regex>
#include <sstream>
#include <string_view>

#include "sim/scenario/load.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

std::string counted(const std::string& number, const char* one) {
  return fmt::format("{} {}{}", number, one, number == "1" ? "" : "s");
}

constexpr std::string_view sketch_toml =
#include "sim/apps/playground/sketch.toml.inc"
    ;

const toml::table& file() {
  static const toml::table parsed = toml::parse(sketch_toml);
  return parsed;
}

// A field, with its comment in a second column.
std::string aligned(const std::string& line) {
  const std::size_t mark = line.find(" # ");
  return mark == std::string::npos ? line : fmt::format("{:<25}{}", line.substr(0, mark), line.substr(mark));
}

// The last node of a role.
std::string last_of(const Sketch& sketch, const char* nodes) {
  const std::int64_t number = number_in<std::int64_t>(setting_of(sketch, nodes)).value_or(1);
  return fmt::to_string(std::max<std::int64_t>(0, number - 1));
}

std::string value_of(const Sketch& sketch, const std::string& name) {
  if (name == "title") return title_of(sketch);
  if (name == "last_worker") return last_of(sketch, "workers");
  if (name == "last_server") return last_of(sketch, "servers");
  if (name != "slowdown_real") return setting_of(sketch, name);
  const std::string slowdown = setting_of(sketch, "slowdown");
  return slowdown.find_first_of(".e") == std::string::npos ? slowdown + ".0" : slowdown;
}

bool fits(const toml::table& part, const Sketch& sketch) {
  const toml::table* when = part["when"].as_table();
  return when == nullptr || std::ranges::all_of(*when, [&](const auto& one) {
           const std::string& wanted = one.second.template ref<std::string>();
           const std::string now = setting_of(sketch, std::string(one.first.str()));
           return wanted.starts_with('!') ? now != wanted.substr(1) : now == wanted;
         });
}

}  // namespace

std::span<const SketchSetting> settings() {
  static const std::vector<SketchSetting> all = [] {
    std::vector<SketchSetting> read;
    for (const toml::node& node : *file()["setting"].as_array()) {
      const toml::table& one = *node.as_table();
      SketchSetting& setting = read.emplace_back();
      setting.name = one["name"].ref<std::string>();
      setting.label = one["label"].ref<std::string>();
      setting.doc = one["doc"].ref<std::string>();
      setting.usual = one["usual"].ref<std::string>();
      for (const toml::node& value : *one["values"].as_array())
        setting.values.push_back(value.ref<std::string>());
      if (const toml::array* other = one["only_with"].as_array()) {
        setting.only_with = other->at(0).ref<std::string>();
        setting.value = other->at(1).ref<std::string>();
      }
    }
    return read;
  }();
  return all;
}

std::string setting_of(const Sketch& sketch, const std::string& name) {
  if (const auto found = sketch.find(name); found != sketch.end()) return found->second;
  return std::ranges::find(settings(), name, &SketchSetting::name)->usual;
}

std::string title_of(const Sketch& sketch) {
  const auto get = [&](const char* name) { return setting_of(sketch, name); };
  std::string title = fmt::format("{} and {} learn to read digits", counted(get("workers"), "worker"),
                                  counted(get("servers"), "server"));
  std::vector<std::string> trouble;
  if (get("slowdown") != "1") trouble.push_back(fmt::format("worker 0 is {} times slower", get("slowdown")));
  if (get("crash") != "nothing") trouble.push_back(fmt::format("a {} crashes", get("crash")));
  if (!trouble.empty()) title += fmt::format("; {}", fmt::join(trouble, ", "));
  if (get("consistency") == "all") return title + ": which consistency model learns fastest?";
  return title + fmt::format(", under {}", get("consistency"));
}

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The settings that affect this line of the scenario, as "staleness bound = 3".
std::vector<std::string> settings_of_line(const Sketch& sketch, const std::string& line) {
  std::vector<std::string> labels;
  for (const SketchSetting& one : settings()) {
    const std::string now = setting_of(sketch, one.name);
    const auto changes_it = [&](const std::string& value) {
      Sketch other = sketch;
      other[one.name] = value;
      const std::vector<std::string> lines = lines_of(scenario_text(other));
      return value != now && std::ranges::find(lines, line) == lines.end();
    };
    if (std::ranges::any_of(one.values, changes_it)) labels.push_back(fmt::format("{} = {}", one.label, now));
  }
  return labels;
}

}  // namespace

std::string errors_of(const Sketch& sketch) {
  const std::string scenario = scenario_text(sketch);
  Diagnostics diagnostics;
  const std::string file = "scenario.toml";
  load_scenario({.path = file,
                 .text = scenario,
                 .overrides = {},
                 .data_dirs = {},
                 .without_data = true,
                 .without_files = true},
                diagnostics);
  const std::vector<std::string> lines = lines_of(scenario);
  std::string out;
  for (const Diagnostic& one : diagnostics.list()) {
    const bool has_line = diagnostics.sources()[one.place.source].name == file && one.place.line > 0 &&
                          one.place.line <= lines.size();
    const std::vector<std::string> labels =
        has_line ? settings_of_line(sketch, lines[one.place.line - 1]) : std::vector<std::string>();
    const std::string about = labels.empty() ? "" : fmt::format(" ({})", fmt::join(labels, ", "));
    out += fmt::format("{}{}\n", one.message, about);
    if (!one.help.empty()) out += fmt::format("  {}\n", one.help);
  }
  return out;
}

std::string scenario_text(const Sketch& sketch) {
  static const std::regex name("\\{([a-z_]+)\\}");
  std::string scenario;
  for (const toml::node& node : *file()["part"].as_array()) {
    const toml::table& part = *node.as_table();
    if (!fits(part, sketch)) continue;
    for (std::string line : lines_of(part["text"].ref<std::string>())) {
      for (std::smatch found; std::regex_search(line, found, name);)
        line = found.prefix().str() + value_of(sketch, found[1]) + found.suffix().str();
      scenario += aligned(line) + "\n";
    }
  }
  return scenario;
}

}  // namespace psim::cli
