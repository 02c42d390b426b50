// Parses the command line and describes mistakes in it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace psim::cli {

// Parses the words, or prints the help that they ask for. Throws Refused or Invalid with all mistakes in the
// words.
void parse(CLI::App& app, std::vector<std::string> words);

}  // namespace psim::cli
