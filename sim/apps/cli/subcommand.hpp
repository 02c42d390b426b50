// A subcommand: its words, its options, and the function that answers it.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace psim::cli {

// The code of a command. `begin` adds its options to the app, and returns what answers once they are read.
struct Subcommand {
  std::string_view name;  // of its words in commands.txt
  std::function<std::function<int()>(CLI::App*)> begin;
};

template <class Options>
Subcommand command(std::string_view name, void (*add_options)(CLI::App*, Options&),
                   int (*answer)(const Options&)) {
  return {name, [=](CLI::App* app) {
            const auto options = std::make_shared<Options>();
            add_options(app, *options);
            return [=] { return answer(*options); };
          }};
}

// The commands of a room, which a program has or has not.
using Room = std::span<const Subcommand>;
std::vector<Room> core_rooms();
std::vector<Room> further_rooms();
// The rooms' parts.
Room understand_subcommands();
Room new_subcommands();
Room calibrate_subcommands();
Room lab_subcommands();

// The words of every command, whether this program has its code or not, in the order of `psim --help`.
struct CommandWords {
  std::string name, group, description, examples;
  // What the command misses without arguments, and an example of it.
  std::string needs = "a scenario file", example = "scenarios/quickstart.toml";
};
const std::vector<CommandWords>& command_words();

// The text of `psim explain` on a subcommand; empty if none has this name.
std::string about_subcommand(std::string_view name);

// psim's command line with these rooms. A command of no room becomes the program `psim-further` beside this
// one.
int command_line(int argc, char** argv, const std::vector<Room>& rooms);

}  // namespace psim::cli
