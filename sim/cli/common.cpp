#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "model/input.hpp"
#include "model/unicode.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/talk.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_code_point(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::vector<fs::path> scenarios_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;  // there is none
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

LoadRequest load_request(const Command& command, Diagnostics& diagnostics) {
  LoadRequest request{.path = command.scenario,
                      .overrides = {},
                      .data_dirs = data_folders(command),
                      .without_files = command.no_files};
  const auto reject = [&diagnostics](const char* code, Source source, const char* message, const char* label,
                                     const char* help) {
    const auto end = static_cast<std::uint32_t>(source.text.size() + 1);
    Place place{.source = diagnostics.add_source(std::move(source))};
    if (*label != '\0') place = {place.source, 1, 1, 1, end};
    diagnostics.add({.code = code, .place = place, .message = message, .label = label, .help = help});
  };
  if (!is_utf8(scenario_name(command.scenario)))
    reject("file", {command.scenario, ""}, "the name of this file is not UTF-8", "",
           "rename it: a run has the name of its scenario");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(scenario_name(command.scenario), is_control))
    reject("file", {command.scenario, ""}, "the name of this file has a control character", "",
           "rename it: a run has the name of its scenario");
  for (const std::string& set : command.sets) {
    const std::optional<Override> one = override_of(set);
    if (!one)
      reject("set", {"--set", set}, "an override needs a key and a value", "expected key=value",
             "for example --set cluster.workers=16");
    else if (request.overrides.push_back(*one); command.seed && one->key == "seed")
      reject("set", {"--set", set}, "the seed is given twice", "and by --seed", "leave out one of them");
  }
  if (command.seed) request.overrides.push_back({"seed", std::to_string(*command.seed)});
  for (const std::string& dir : command.data_dirs) {
    std::error_code error;
    if (!fs::is_directory(dir, error))
      reject("data", {"--data-dir " + dir, ""}, "there is no such folder", "",
             "name the folder that holds the data files");
  }
  return request;
}

Command without_seed(Command command) {
  command.seed.reset();
  std::erase_if(command.sets, [](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    return one && one->key == "seed";
  });
  return command;
}

std::vector<fs::path> data_folders(const Command& command) {
  std::vector<fs::path> folders(command.data_dirs.begin(), command.data_dirs.end());
  if (const char* dir = std::getenv("PSIM_DATA"); dir != nullptr && *dir != '\0') folders.emplace_back(dir);
  return folders;
}

std::optional<Override> override_of(const std::string& set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return Override{set.substr(0, equals), set.substr(equals + 1)};
}

RunIdentity identity_of(const LoadedScenario& loaded, std::string name) {
  return {.name = std::move(name),
          .title = loaded.scenario.title,
          .seed = loaded.scenario.seed,
          .scenario_hash = scenario_hash(loaded)};
}

unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

fs::path scenario_folder() {
  for (fs::path dir = fs::read_symlink("/proc/self/exe").parent_path(); dir != dir.root_path();
       dir = dir.parent_path()) {
    for (const char* place : {"scenarios", "share/psim/scenarios"}) {  // of a checkout; where it is installed
      if (fs::exists(dir / place / "quickstart.toml")) return dir / place;
    }
  }
  return "scenarios";
}

std::vector<fs::path> scenarios() { return scenarios_in(scenario_folder()); }

std::string find_scenario(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  const std::string file = name.ends_with(".toml") ? name : name + ".toml";
  std::vector<fs::path> places{file};
  if (name.find('/') == std::string::npos)
    places.insert(places.end(), {"scenarios" / fs::path(file), scenario_folder() / file});
  const auto found =
      std::ranges::find_if(places, [&](const fs::path& path) { return fs::is_regular_file(path, error); });
  if (found != places.end()) return found->string();
  if (name.find('/') != std::string::npos) return name;
  std::vector<std::string> names;
  for (const fs::path& folder : {fs::path("."), scenario_folder()}) {
    for (const fs::path& one : scenarios_in(folder)) names.push_back(one.stem().string());
  }
  const std::string near = nearest(fs::path(file).stem().string(), names);
  throw Refused(fmt::format("there is no scenario `{}`", name),
                near.empty() ? "`psim list` shows the scenarios that come with psim; a file may be named too"
                             : fmt::format("did you mean `{}`?", near));
}

std::string scenario_name(const std::string& path) { return fs::path(path).stem().string(); }

fs::path run_directory(const std::string& name, const std::string& hash) {
  return fs::path("runs") / fmt::format("{}-{}", name, hash.substr(0, 8));
}

bool misses_target(const Json& summary) {
  const auto misses = [](const Json& what) { return what["target"]["given"] && !what["target"]["reached"]; };
  return summary.contains("groups") ? std::ranges::any_of(summary["groups"], misses) : misses(summary);
}

bool is_yes(const Json& summary) { return !misses_target(summary) && summary["stuck"].empty(); }

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw fs::filesystem_error("write", path,
                               std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
}

std::string read_file(const fs::path& path) { return read_input(path); }

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 200;  // bytes; file systems take 255, and psim adds to it
  const bool is_control = std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return !text.empty() && text.size() <= longest && text.find('/') == std::string_view::npos && text != "." &&
         text != ".." && !is_control && is_utf8(text);
}

std::string shell_word(const std::string& text) {
  const bool plain =
      !text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=/:+,") ==
          std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string file_word(const fs::path& path) {
  const std::string text = path.string();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

std::string option_words(const std::string& name, const std::string& value) {
  return name + (value.starts_with('-') ? "=" : " ") + shell_word(value);
}

std::string replay_line(const Command& command) {
  std::string line = "psim run " + file_word(command.scenario);
  if (command.seed) line += fmt::format(" --seed {}", *command.seed);
  for (const std::string& set : command.sets) line += " --set " + shell_word(set);
  if (!command.seeds.empty()) line += " " + option_words("--seeds", command.seeds);
  for (const std::string& dir : command.data_dirs) line += " --data-dir " + file_word(dir);
  return line;
}

}  // namespace psim::cli
