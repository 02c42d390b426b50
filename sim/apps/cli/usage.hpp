// What to say when the command line is wrong.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace psim::cli {

// Parses, or prints what --help asks for. Throws Refused or Invalid when the words are no command line, with
// all that is wrong with them.
void parse(CLI::App& app, std::vector<std::string> words);

}  // namespace psim::cli
