// Command lines as people type them.
#pragma once

#include <string>

#include "sim/runs/files.hpp"

namespace psim {

// As a shell takes it for one word: in single quotes where it needs them.
std::string shell_word(const std::string& text);
// The same of a file or folder: no program takes it for an option.
std::string file_word(const fs::path& path);
// "--baseline bsp", or "--baseline=-x" where the value would be taken for an option.
std::string option_words(const std::string& name, const std::string& value);

}  // namespace psim
