// Every word that psim prints, with the text of its declaration: columns of tables, names in files and in
// --json, kinds of messages, events and checks, units, words of the glossary, subcommands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::cli {

// The meanings of the word: a text for each place where psim prints it. Empty for other words.
std::vector<std::string> texts_of_word(std::string_view name);

// All these words except units, for suggestions.
std::vector<std::string> printed_words();

}  // namespace psim::cli
