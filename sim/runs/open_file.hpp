// Open files, and errors of the operating system.
#pragma once

#include <string_view>
#include <utility>

#include "sim/runs/files.hpp"

namespace psim {

// An open file or folder. The destructor closes it.
class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}  // negative: not open
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// Writes all of `text` to the file. false: this failed, and errno says why.
bool write_all(const OpenFile& file, std::string_view text);

// Throws std::filesystem::filesystem_error with errno. `what`: the failed operation, such as "open".
[[noreturn]] void throw_errno(const char* what, const fs::path& path);

}  // namespace psim
