// The words of docs/glossary.md, for `psim explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::cli {

// The meaning of a word, with its names in other languages. `word` may be in any of these languages. Empty if
// the glossary lacks the word or does not exist.
std::string explain_word(std::string_view word);

// The English words, for suggestions.
std::vector<std::string> glossary_words();

}  // namespace psim::cli
