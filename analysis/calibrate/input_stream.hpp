// A file as a stream, decompressed if it is gzip, without a byte-order mark. It holds one piece of the file
// in memory.
#pragma once

#include <filesystem>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace psim::calibrate {

class InputStream : public std::istream {
 public:
  // Throws InputError if `path` is no regular file, or cannot be opened.
  explicit InputStream(const std::filesystem::path& path);
  ~InputStream() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace psim::calibrate
