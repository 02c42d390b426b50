// Input files of unknown origin. psim refuses anything that is not a file before it opens it: a pipe or a
// device may never end. It refuses a file that is too large for its reader before the file fills the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "model/base/user_error.hpp"

namespace psim {

// A file that cannot be read, or does not suit its reader.
struct InputError : UserError {
  InputError(const std::string& name, std::string reason, std::string advice)
      : UserError(name + ": " + reason, std::move(advice)), why(std::move(reason)) {}
  std::string why;  // without the name of the file
};

class InputFile {
 public:
  // Throws InputError if `path` is no regular file, or cannot be opened.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads up to `size` bytes and returns their number, 0 at the end. Throws InputError.
  std::size_t read(char* bytes, std::size_t size);
  // The size in bytes, as the file system reports it; 0 for files of /proc.
  std::uintmax_t size() const { return size_; }

 private:
  std::string name_;
  int file_ = -1;
  std::uintmax_t size_ = 0;
};

// The largest text that is read whole: 4 GiB, or a quarter of the available memory.
std::uintmax_t most_input();

// All bytes of a file. Throws InputError, also for more than `most` bytes.
std::string read_input(const std::filesystem::path& path, std::uintmax_t most = most_input());

// The first `bytes` bytes of a file, or all bytes of a shorter file. Throws InputError.
std::string beginning_of(const std::filesystem::path& path, std::size_t bytes);

// Takes the next line of a text, without its end. Returns false to skip the remaining lines.
using TakeLine = std::function<bool(std::string_view line)>;

// Cuts a text that comes piece by piece into lines.
class LineCutter {
 public:
  LineCutter(std::string name, TakeLine take) : name_(std::move(name)), take_(std::move(take)) {}

  // Returns false if the rest is not wanted. Throws InputError for a line that is too long for a text.
  bool add(std::string_view piece);
  // Takes the last line, if it has no line end.
  void finish();

 private:
  std::string name_, begun_;
  TakeLine take_;
  std::size_t lines_ = 0;
};

// The lines of a file of at most `most` bytes. Throws InputError.
void each_input_line(const std::filesystem::path& path, std::uintmax_t most, const TakeLine& take);

}  // namespace psim
