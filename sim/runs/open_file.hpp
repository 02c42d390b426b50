// Open files and what the machine says when one cannot be had.
#pragma once

#include <string_view>
#include <utility>

#include "sim/runs/files.hpp"

namespace psim {

// An open file or folder, which is closed with its owner.
class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}  // below 0: nothing is open
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

// Writes all of `text` to it; false: the machine refuses, and errno says why.
bool write_all(const OpenFile& file, std::string_view text);

// Throws std::filesystem::filesystem_error with what errno says of an attempt to `what`, such as "open".
[[noreturn]] void throw_errno(const char* what, const fs::path& path);

}  // namespace psim
