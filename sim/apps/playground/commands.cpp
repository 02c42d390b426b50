#include "sim/apps/playground/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <regex>
#include <sstream>
#include <string_view>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/toml_text.hpp"
#include "sim/study/plan.hpp"

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
  if (name == "title") return sketch_title_of(sketch);
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
      setting.rare = one["rare"].value_or(false);
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

Json challenges() {
  std::ostringstream text;
  text << toml::json_formatter{*file()["challenge"].as_array()};
  Json all = Json::parse(text.str());
  for (Json& one : all) one.erase("solution");
  return all;
}

std::string setting_of(const Sketch& sketch, const std::string& name) {
  if (const auto found = sketch.find(name); found != sketch.end()) return found->second;
  return std::ranges::find(settings(), name, &SketchSetting::name)->usual;
}

std::string sketch_title_of(const Sketch& sketch) {
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

// psim new: writes a commented scenario from three questions or from options.

namespace {

struct Answer {
  const char *word, *doc;
  Sketch sets;
};
struct SketchQuestion {
  const char* text;
  std::vector<Answer>
      answers;  // an empty line means the first answer; no answers: asks for a number of workers
};

std::vector<SketchQuestion> questions() {
  return {{"How many workers?", {}},
          {"What goes wrong?",
           {{"nothing", "no fault", {}},
            {"slow", "one worker is four times slower", {{"slowdown", "4"}}},
            {"worker", "a worker crashes after half a second", {{"crash", "worker"}}},
            {"server", "a server crashes after half a second", {{"crash", "server"}}},
            {"network", "the links are slow, 20 Mb/s", {{"bandwidth", "20Mbps"}}}}},
          {"When may a worker start its next step?",
           {{"all", "compare the four models below", {{"consistency", "all"}}},
            {"bsp", "when all workers have pushed", {{"consistency", "bsp"}}},
            {"ssp", "if it is not too far ahead of the slowest worker", {{"consistency", "ssp"}}},
            {"asp", "at once", {{"consistency", "asp"}}},
            {"backup-workers",
             "when all but the slowest worker have pushed",
             {{"consistency", "backup-workers"}}}}}};
}

bool is_count(const std::string& word) {
  return !word.empty() && word.size() <= 4 && word.front() != '0' &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

// An empty line or the end of the input means the first answer.
void ask(const SketchQuestion& question, Sketch& sketch) {
  say("{}\n", question.text);
  for (const Answer& one : question.answers) say("  {:<16}{}\n", one.word, one.doc);
  const std::string usual = question.answers.empty() ? "8" : question.answers.front().word;
  while (true) {
    say("[{}] ", usual);
    std::string word;
    if (!std::getline(std::cin, word) || word.empty()) word = usual;
    if (question.answers.empty() && is_count(word)) {
      sketch["workers"] = word;
      return;
    }
    const auto found = std::ranges::find(question.answers, word, &Answer::word);
    if (found != question.answers.end()) {
      for (const auto& [name, value] : found->sets) sketch[name] = value;
      return;
    }
    say("{}\n",
        question.answers.empty() ? "please give a number from 1 to 9999" : "please give one of these words");
  }
}

// Throws Invalid with the mistakes in the scenario, or in a run of its [compare].
void check_all(const fs::path& file, bool compares) {
  Diagnostics diagnostics;
  if (!load_scenario({.path = file.string(), .overrides = {}, .data_dirs = {}}, diagnostics))
    throw Invalid{diagnostics.render()};
  study::Request request;
  request.scenario = file.string();
  if (compares) study::plan_study(request, false);
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Topic& method : methods()) {
    if (method.text.find("\n  ") != method.text.npos || method.text.starts_with("  "))
      names.emplace_back(method.name);
  }
  return names;
}

// The lines of a method, completed to a scenario; its other sentences are comments.
std::string method_text(const Topic& method, const Sketch& sketch) {
  std::string head = fmt::format("# {}: {}\n", method.name, method.title),
              lines = fmt::format("seed = {}\n", setting_of(sketch, "seed"));
  std::istringstream text{std::string(method.text)};
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("  ")) lines += line.substr(2) + "\n";
    else if (!line.empty()) head += "# " + line + "\n";
  }
  lines += fmt::format("[cluster]\nworkers = {}\nservers = {}\n[cluster.network]\nbandwidth = \"{}\"\n",
                       setting_of(sketch, "workers"), setting_of(sketch, "servers"),
                       setting_of(sketch, "bandwidth"));
  toml::table root = toml::parse(lines);
  root.insert("title", std::string(method.title));
  if (!root["training"].is_table()) root.insert("training", toml::table{});
  root["training"].as_table()->insert("epochs", 10);
  return head + "# Try next: --set training.epochs=40, --set data.partition=by-label\n" + toml_document(root);
}

void check_options_of_method(const Sketch& sketch) {
  for (const auto& [name, value] : sketch) {
    const auto with = {"workers", "servers", "bandwidth", "seed"};
    if (std::ranges::find(with, name) == with.end())
      throw Refused(fmt::format("--{} does not go with --method", name),
                    "change the new file, or leave one of them out");
  }
}

}  // namespace

int make_new(const NewCommand& asked) {
  const fs::path file = asked.file.ends_with(".toml") ? asked.file : asked.file + ".toml";
  if (fs::exists(fs::symlink_status(file)))
    throw Refused(fmt::format("{} exists already", file.string()),
                  "name another file; psim new does not replace files");
  if (const fs::path folder = file.parent_path(); !folder.empty() && !fs::is_directory(folder))
    throw Refused(fmt::format("the folder {} does not exist", folder.string()),
                  "make it first: mkdir -p " + file_word(folder));
  check_is_file(file);
  Sketch sketch = asked.sketch;
  const std::string model = setting_of(sketch, "consistency");
  if (sketch.contains("staleness") && model != "ssp" && model != "all")
    throw Refused(fmt::format("--staleness is a bound of ssp, but the model is {}", model),
                  "add --consistency ssp");
  const auto is_asked = [&](const Topic& one) { return one.name == asked.method; };
  const auto method = std::ranges::find_if(methods(), is_asked);
  if (!asked.method.empty()) check_options_of_method(sketch);
  else if (sketch.empty()) {
    for (const SketchQuestion& question : questions()) ask(question, sketch);
    say("\n");
  }
  const bool compares = asked.method.empty() && setting_of(sketch, "consistency") == "all";
  write_file(file, asked.method.empty() ? scenario_text(sketch) : method_text(*method, sketch));
  try {
    check_all(file, compares);
  } catch (const Invalid&) {
    fs::remove(file);  // so that another try can use its name
    throw;
  }
  const std::string word = file_word(file);
  fmt::print("wrote {}: {}\nnext: psim {} {}\n", file.string(),
             asked.method.empty() ? sketch_title_of(sketch) : std::string(method->title),
             compares ? "compare" : "run", word);
  return done;
}

// The command line of `psim new` and `psim serve`.

namespace {

// A number, rewritten as TOML needs it: "007" becomes 7, ".5" becomes 0.5.
CLI::Validator number_from(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const auto number = number_in<double>(text);
        if (!number || !(*number >= least && *number <= most))
          return fmt::format("{} is not a number from {} to {}", text, least, most);
        text = fmt::format("{}", *number);
        return "";
      },
      "NUMBER");
}

CLI::Validator bandwidth() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        static const std::regex form("[0-9]+(\\.[0-9]+)?[kMGT]?(bps|Bps)");
        return std::regex_match(text, form) ? "" : text + " is not a bandwidth such as 100Mbps";
      },
      "BANDWIDTH");
}

void add_settings(CLI::App* app, Sketch& sketch) {
  for (const SketchSetting& one : settings()) {
    const std::string name = one.name;
    std::vector<std::string> words = one.values;
    if (name == "consistency") words.emplace_back("all");
    CLI::Option* option = app->add_option_function<std::string>(
        "--" + name, [&sketch, name](const std::string& value) { sketch[name] = value; },
        fmt::format("{} Default: {}.", one.doc, one.usual));
    if (name == "consistency" || name == "crash") option->check(one_of(words));
    else if (name == "bandwidth") option->check(bandwidth());
    else if (name == "slowdown") option->transform(number_from(1, 1e6));
    else if (name == "rate") option->transform(number_from(1e-9, 1e9));
    else
      option->check(whole(name == "workers" || name == "servers" ? 1 : 0, 10'000))
          ->transform(number_from(0, 1e9));
  }
}

const Subcommand new_table[] = {
    command<NewCommand>(
        "new",
        [](CLI::App* app, NewCommand& a) {
          option(app, "file", a.file)->required()->check(not_empty("file"));
          option(app, "--method", a.method)->check(one_of(method_names()));
          add_settings(app, a.sketch);
        },
        make_new),
};

}  // namespace

Room new_subcommands() { return new_table; }

}  // namespace psim::cli
