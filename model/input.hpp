// Files that somebody else may have made. What is no file is refused before it is opened: a pipe or a device
// may never come to an end. What is larger than its reader takes is refused before it fills the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "model/user_error.hpp"

namespace psim {

// A file that cannot be read, or is not what its reader takes.
struct InputError : UserError {
  InputError(const std::string& name, std::string reason, std::string advice)
      : UserError(name + ": " + reason, std::move(advice)), why(std::move(reason)) {}
  std::string why;  // without the name of the file
};

class InputFile {
 public:
  // Throws InputError for what is no regular file, and for what cannot be opened.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads up to `size` bytes and returns their number, 0 at the end. Throws InputError.
  std::size_t read(char* bytes, std::size_t size);
  // Bytes, as the file system says; files of /proc have none.
  std::uintmax_t size() const { return size_; }

 private:
  std::string name_;
  int file_ = -1;
  std::uintmax_t size_ = 0;
};

// What a text may have that is read whole: 4 GiB, or a quarter of the memory that is available.
std::uintmax_t most_input();

// All bytes of a file. Throws InputError, also where there are more than `most`.
std::string read_input(const std::filesystem::path& path, std::uintmax_t most = most_input());

// The first bytes of a file, as many as there are up to `bytes`. Throws InputError.
std::string beginning_of(const std::filesystem::path& path, std::size_t bytes);

// Takes the next line of a text, without its end. False: the rest is not wanted.
using TakeLine = std::function<bool(std::string_view line)>;

// Cuts a text that comes piece by piece into lines.
class LineCutter {
 public:
  LineCutter(std::string name, TakeLine take) : name_(std::move(name)), take_(std::move(take)) {}

  // False: the rest is not wanted. Throws InputError for a line that no text has.
  bool add(std::string_view piece);
  // Takes the last line, if nothing ends it.
  void finish();

 private:
  std::string name_, begun_;
  TakeLine take_;
  std::size_t lines_ = 0;
};

// The lines of a file of at most `most` bytes. Throws InputError.
void each_input_line(const std::filesystem::path& path, std::uintmax_t most, const TakeLine& take);

}  // namespace psim
