// A subcommand: its words, its options, and the function that answers it.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

// The help of an option of `command`, from options.txt. Throws std::logic_error if it has none.
std::string option_help(std::string_view command, std::string_view names);

// Adds an option, or a flag if `value` is a bool.
CLI::Option* option(CLI::App* app, const std::string& names, auto& value) {
  if constexpr (std::is_same_v<decltype(value), bool&>)
    return app->add_flag(names, value, option_help(app->get_name(), names));
  else return app->add_option(names, value, option_help(app->get_name(), names));
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

// The text of `psim explain` on a subcommand; empty if none has this name.
std::string about_subcommand(std::string_view name);

// psim's command line with these rooms. A command of no room becomes the program `psim-further` beside this
// one.
int command_line(int argc, char** argv, const std::vector<Room>& rooms);

// Checks of the values of options. Some checks rewrite the value.

// An integer. CLI::Range would accept "1e3" and cut off digits that do not fit.
CLI::Validator whole(std::int64_t least, std::int64_t most);

CLI::Validator duration();   // "10min" becomes its seconds
CLI::Validator date();       // "300ms" and "0.3" become 0.3
CLI::Validator seed_list();  // "1-3,7" becomes "1,2,3,7"
// "5%" and "0.05" become the share. The bounds are shares, too.
CLI::Validator percentage(double least, double most);
// `what`: the kind of thing that the text names, such as "folder".
CLI::Validator existing_file();
CLI::Validator not_empty(const char* what);
CLI::Validator one_of(const std::vector<std::string>& names);

}  // namespace psim::cli
