#include "analysis/calibrate/input_stream.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <regex>
#include <span>
#include <string_view>

#include "model/input.hpp"

namespace psim::calibrate {

class InputStream::Buffer : public std::streambuf {
 public:
  Buffer(const std::filesystem::path& path, bool is_json) : name_(path.string()), is_json_(is_json) {
    const InputFile regular(path);  // refuses pipes and folders
    file_ = gzopen(name_.c_str(), "rb");
    if (file_ == nullptr) throw InputError(name_, "cannot be opened", "check its permissions");
  }
  ~Buffer() override { gzclose(file_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  int_type underflow() override {
    std::copy(rest_.begin(), rest_.end(), piece_.begin());
    const std::size_t kept = rest_.size();
    int got = gzread(file_, piece_.data() + kept, static_cast<unsigned>(piece_.size() - kept));
    if (got < 0) throw InputError(name_, "corrupt gzip data", "compress it with gzip again");
    int error = Z_OK;
    gzerror(file_, &error);
    if (error == Z_BUF_ERROR)
      throw InputError(name_, "the gzip data break off",
                       "copy the file again, or use what is there: gzip -dc FILE > PART");
    const bool is_end = got == 0;
    got += static_cast<int>(kept);
    rest_.clear();
    if (is_json_) got = repair({piece_.data(), static_cast<std::size_t>(got)}, is_end);
    if (got == 0) return is_end ? traits_type::eof() : underflow();
    const std::string_view mark = is_first_ ? "\xef\xbb\xbf" : "";  // of UTF-8, as spreadsheets write it
    is_first_ = false;
    const std::string_view piece(piece_.data(), static_cast<std::size_t>(got));
    const std::size_t skipped = piece.starts_with(mark) ? mark.size() : 0;
    if (skipped == piece.size()) return traits_type::eof();
    setg(piece_.data(), piece_.data() + skipped, piece_.data() + got);
    return traits_type::to_int_type(*gptr());
  }

  // Overwrites words that are no JSON. Returns the length without a last word that may go on, and keeps that.
  int repair(std::span<char> piece, bool is_end) {
    constexpr std::string_view punctuation = "{}[]:,\" \t\r\n";
    constexpr std::size_t longest = 64;
    std::size_t word = 0;  // its begin
    for (std::size_t i = 0; i <= piece.size(); ++i) {
      if (i < piece.size() && in_text_) {
        in_text_ = is_escaped_ || piece[i] != '"';
        is_escaped_ = !is_escaped_ && piece[i] == '\\';
        word = i + 1;
      } else if (i == piece.size() || punctuation.find(piece[i]) != std::string_view::npos) {
        if (i == piece.size() && !is_end && i - word < longest) break;
        if (const auto text = piece.subspan(word, i - word); is_no_json({text.data(), text.size()})) {
          std::ranges::fill(text, ' ');
          text.front() = '0';
        }
        in_text_ = i < piece.size() && piece[i] == '"';
        word = i + 1;
      }
    }
    if (word >= piece.size()) return static_cast<int>(piece.size());
    rest_.assign(piece.begin() + static_cast<std::ptrdiff_t>(word), piece.end());
    return static_cast<int>(word);
  }
  static bool is_no_json(std::string_view word) {
    static const std::regex form("[-+]?(inf|nan).*", std::regex::icase);
    return !word.empty() && std::string_view("+-iInN").find(word.front()) != std::string_view::npos &&
           std::regex_match(word.begin(), word.end(), form);
  }

  std::string name_, rest_;  // `rest_`: a word at the end of the last piece
  bool is_json_, in_text_ = false, is_escaped_ = false;
  gzFile file_ = nullptr;
  bool is_first_ = true;
  std::array<char, 1 << 18> piece_{};
};

InputStream::InputStream(const std::filesystem::path& path, bool is_json)
    : std::istream(nullptr), buffer_(std::make_unique<Buffer>(path, is_json)) {
  rdbuf(buffer_.get());
  exceptions(badbit);  // otherwise the stream would hide a read error
}

InputStream::~InputStream() = default;

}  // namespace psim::calibrate
