// Every word that psim prints, with the text of its one declaration: columns of tables, names in files and in
// documents of --json, kinds of messages, events and checks, units, words of the glossary, subcommands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::cli {

// What the word means, wherever psim prints it: a text for each place. Empty for other words.
std::vector<std::string> texts_of_word(std::string_view name);

// All of them but units, for what might have been meant.
std::vector<std::string> printed_words();

}  // namespace psim::cli
