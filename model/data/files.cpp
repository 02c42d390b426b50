#include "model/data/files.hpp"

#include <zlib.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "model/base/input.hpp"
#include "model/base/memory.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace fs = std::filesystem;

std::vector<fs::path> candidates(const fs::path& path, const Folders& search) {
  if (path.is_absolute()) return {path};
  std::vector<fs::path> places;
  for (const fs::path& folder : search) places.push_back(folder / path);
  return places;
}

std::optional<fs::path> plain_or_gz(const fs::path& path) {
  fs::path compressed = path;
  compressed += ".gz";
  std::error_code ignored;  // an unreadable folder counts as one without the file
  if (fs::is_regular_file(path, ignored)) return path;
  if (fs::is_regular_file(compressed, ignored)) return compressed;
  return std::nullopt;
}

fs::path find_file(const fs::path& path, const Folders& search) {
  std::string looked_for;
  for (const fs::path& place : candidates(path, search)) {
    if (const std::optional<fs::path> found = plain_or_gz(place)) return *found;
    looked_for += (looked_for.empty() ? "" : ", ") + place.string() + "[.gz]";
  }
  throw DataError("cannot find the data file `" + path.string() + "`; looked for " +
                      (looked_for.empty() ? "it in no folder at all" : looked_for),
                  "a relative path is searched for in `--data-dir DIR` or PSIM_DATA=DIR, among others");
}

namespace {

[[noreturn]] void refuse(const std::string& name, int zlib_code) {
  switch (zlib_code) {
    case Z_BUF_ERROR: throw DataError(name + ": truncated: the gzip data ends too early");
    case Z_MEM_ERROR: throw DataError(name + ": not enough memory to decompress it");
    default: throw DataError(name + ": corrupt gzip data");
  }
}

constexpr unsigned chunk_bytes = 1U << 20U;

[[noreturn]] void too_large(const std::string& name, std::size_t most) {
  throw DataError(fmt::format("{}: too large: more than {} MB, decompressed", name, most / 1000000),
                  "data must fit in memory: take a part of the file");
}

// Decompresses data that come piece by piece: one gzip stream or several in a row, followed by zeros that
// fill a tape's last block (gzip's manual, section 5). zlib's own reader treats any bytes after a stream as
// the end.
class Gunzip {
 public:
  Gunzip(std::string name, TakePiece take) : name_(std::move(name)), take_(std::move(take)) {
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) refuse(name_, Z_MEM_ERROR);
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  void add(std::string_view piece) {
    while (!piece.empty()) {
      if (at_end_ && piece.front() == '\0') {
        padded_ = true;
        piece.remove_prefix(1);
        continue;
      }
      if (at_end_ && (padded_ || piece.front() != '\x1f'))
        throw DataError(name_ + ": something follows the end of the gzip data",
                        "compress it with gzip again, or remove the bytes after the gzip data");
      if (std::exchange(at_end_, false)) inflateReset(&stream_);
      piece = piece.substr(piece.size() - inflated(piece));
    }
  }
  void finish() {
    if (!at_end_) refuse(name_, Z_BUF_ERROR);
  }

 private:
  // The number of remaining bytes: those after the end of a stream.
  std::size_t inflated(std::string_view piece) {
    // zlib's interface predates const; it does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = chunk_bytes;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      at_end_ = code == Z_STREAM_END;
      // After all bytes of a piece are taken, zlib may have nothing to do.
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        refuse(name_, code == Z_NEED_DICT ? Z_DATA_ERROR : code);
      take_(std::string_view(out_).substr(0, chunk_bytes - stream_.avail_out));
    } while (!at_end_ && (stream_.avail_in > 0 || stream_.avail_out == 0));
    return stream_.avail_in;
  }

  std::string name_, out_ = std::string(chunk_bytes, '\0');
  TakePiece take_;
  z_stream stream_{};
  bool at_end_ = false, padded_ = false;  // after a whole stream; after zeros as well
};

}  // namespace

std::size_t largest_file() {
  constexpr std::uint64_t always = std::uint64_t{4} << 30U;
  return std::min(always, available_memory() / 4);
}

void each_piece(const fs::path& path, std::size_t most, const TakePiece& take) try {
  const std::string name = path.string();
  InputFile file(path);
  std::size_t all = 0;
  const auto count = [&](std::string_view got) {
    all += got.size();
    if (all > most) too_large(name, most);
    take(got);
  };
  std::string piece(chunk_bytes, '\0');
  std::optional<Gunzip> gunzip;
  for (bool first = true; true; first = false) {
    const std::size_t bytes = file.read(piece.data(), piece.size());
    if (bytes == 0) break;
    const std::string_view got = std::string_view(piece).substr(0, bytes);
    if (first && got.starts_with("\x1f\x8b")) gunzip.emplace(name, count);
    if (!gunzip && file.size() > most) too_large(name, most);
    if (gunzip) gunzip->add(got);
    else count(got);
  }
  if (gunzip) gunzip->finish();
} catch (const InputError& error) {
  throw DataError(error.what(), error.help);
}

void each_line(const fs::path& path, const std::function<void(std::string_view line)>& take) {
  LineCutter lines(path.string(), [&](std::string_view line) {
    take(line);
    return true;
  });
  each_piece(path, largest_file(), [&](std::string_view piece) { lines.add(piece); });
  lines.finish();
}

void check_values(const std::string& where, std::size_t values) {
  if (values <= most_data_values) return;
  throw DataError(
      fmt::format("{}: too large: more than {} million numbers", where, most_data_values / 1'000'000),
      "data must fit in memory: take a part of the file");
}

std::string gunzip(std::string_view compressed, const std::string& name) {
  std::string content;
  Gunzip all(name, [&](std::string_view piece) { content += piece; });
  all.add(compressed);
  all.finish();
  return content;
}

}  // namespace psim
