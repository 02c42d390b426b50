// The words of docs/glossary.md, for `psim explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::cli {

// What a word means, with its names in other languages; it may be asked for in any of them. Empty where the
// glossary has no such word, or is not there.
std::string explain_word(std::string_view word);

// The English words, for what might have been meant.
std::vector<std::string> glossary_words();

}  // namespace psim::cli
