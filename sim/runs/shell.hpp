// Command lines as people type them.
#pragma once

#include <string>

#include "sim/runs/files.hpp"

namespace psim {

// `text` as one word for a shell, in single quotes if needed.
std::string shell_word(const std::string& text);
// The same for a file or folder, so that no program mistakes it for an option.
std::string file_word(const fs::path& path);
// "--baseline bsp", or "--baseline=-x" if the value looks like an option.
std::string option_words(const std::string& name, const std::string& value);

}  // namespace psim
