#include "analysis/calibrate/input_stream.hpp"

#include <zlib.h>

#include <array>
#include <string_view>

#include "model/input.hpp"

namespace psim::calibrate {

class InputStream::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::filesystem::path& path) : name_(path.string()) {
    const InputFile regular(path);  // refuses pipes and folders
    file_ = gzopen(name_.c_str(), "rb");
    if (file_ == nullptr) throw InputError(name_, "cannot be opened", "check its permissions");
  }
  ~Buffer() override { gzclose(file_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  int_type underflow() override {
    const int got = gzread(file_, piece_.data(), static_cast<unsigned>(piece_.size()));
    if (got < 0) throw InputError(name_, "corrupt gzip data", "compress it with gzip again");
    int error = Z_OK;
    gzerror(file_, &error);
    if (error == Z_BUF_ERROR)
      throw InputError(name_, "the gzip data break off",
                       "copy the file again, or use what is there: gzip -dc FILE > PART");
    if (got == 0) return traits_type::eof();
    const std::string_view mark = is_first_ ? "\xef\xbb\xbf" : "";  // of UTF-8, as spreadsheets write it
    is_first_ = false;
    const std::string_view piece(piece_.data(), static_cast<std::size_t>(got));
    const std::size_t skipped = piece.starts_with(mark) ? mark.size() : 0;
    if (skipped == piece.size()) return traits_type::eof();
    setg(piece_.data(), piece_.data() + skipped, piece_.data() + got);
    return traits_type::to_int_type(*gptr());
  }

  std::string name_;
  gzFile file_ = nullptr;
  bool is_first_ = true;
  std::array<char, 1 << 18> piece_{};
};

InputStream::InputStream(const std::filesystem::path& path)
    : std::istream(nullptr), buffer_(std::make_unique<Buffer>(path)) {
  rdbuf(buffer_.get());
  exceptions(badbit);  // otherwise the stream would hide a read error
}

InputStream::~InputStream() = default;

}  // namespace psim::calibrate
