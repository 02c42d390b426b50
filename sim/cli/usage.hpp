// How psim is called: examples for every command, and what to say when the command line is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace psim::cli {

// To be shown by --help, each command's own.
void add_examples(CLI::App& app);

// Parses and runs. The exit code when that did not come to a command: after --help, or an error.
std::optional<int> parse(CLI::App& app, std::vector<std::string> words);

}  // namespace psim::cli
