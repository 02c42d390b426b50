#include "sim/runs/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "model/input.hpp"
#include "model/unicode.hpp"

namespace psim {

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw fs::filesystem_error("write", path,
                               std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
}

std::string read_file(const fs::path& path) { return read_input(path); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_code_point(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 200;  // bytes; file systems allow 255, and psim appends to names
  const bool is_control = std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return !text.empty() && text.size() <= longest && text.find('/') == std::string_view::npos && text != "." &&
         text != ".." && !is_control && is_utf8(text);
}

}  // namespace psim
