#include "sim/runs/open_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace psim {

OpenFile::~OpenFile() {
  if (number_ >= 0) close(number_);
}

bool write_all(const OpenFile& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file.number(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void throw_errno(const char* what, const fs::path& path) {
  throw fs::filesystem_error(what, path, std::error_code(errno, std::generic_category()));
}

}  // namespace psim
