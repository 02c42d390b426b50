// What to say when the command line is wrong.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace psim::cli {

// Parses and runs, or prints what --help asks for. Throws Refused when the words are no command line.
void parse(CLI::App& app, std::vector<std::string> words);

}  // namespace psim::cli
