// A file as a stream, decompressed if it is gzip, without a byte-order mark. It holds one piece of the file
// in memory.
//
// As JSON, bare words such as inf and NaN, which programs write and JSON does not know, become 0.
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
  explicit InputStream(const std::filesystem::path& path, bool is_json = false);
  ~InputStream() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace psim::calibrate
