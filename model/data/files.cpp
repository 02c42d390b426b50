#include "model/data/files.hpp"

#include <zlib.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "model/dataset.hpp"
#include "model/machine_memory.hpp"

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
  std::error_code ignored;  // a folder that may not be read holds no file for us
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

[[noreturn]] void refuse(const std::string& name, int zlib_code, int system_code) {
  switch (zlib_code) {
    case Z_BUF_ERROR: throw DataError(name + ": truncated: the gzip data ends too early");
    case Z_DATA_ERROR: throw DataError(name + ": corrupt gzip data");
    case Z_MEM_ERROR: throw DataError(name + ": not enough memory to decompress it");
    default: throw DataError(name + ": cannot read: " + std::generic_category().message(system_code));
  }
}

struct GzClose {
  void operator()(gzFile file) const { gzclose_r(file); }
};

constexpr unsigned chunk = 1U << 20U;

}  // namespace

std::size_t largest_file() {
  constexpr std::uint64_t always = std::uint64_t{4} << 30U;
  return std::min(always, available_memory() / 4);
}

std::string read_file(const fs::path& path, std::size_t most) {
  errno = 0;
  std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rb"));
  if (!file) refuse(path.string(), errno == 0 ? Z_MEM_ERROR : Z_ERRNO, errno);
  gzbuffer(file.get(), 1U << 18U);

  std::string content;
  int got = 0;
  do {
    const std::size_t old_size = content.size();
    content.resize(old_size + chunk);
    got = gzread(file.get(), content.data() + old_size, chunk);
    const int system_code = errno;
    content.resize(old_size + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0) {
      int code = Z_OK;
      gzerror(file.get(), &code);
      refuse(path.string(), code, system_code);
    }
    if (content.size() > most)
      throw DataError(
          fmt::format("{}: too large: more than {} MB, decompressed", path.string(), most / 1000000),
          "data must fit in memory: take a part of the file");
  } while (got > 0);

  // gzread reports a gzip stream that just stops as an ordinary end; only closing tells.
  const int code = gzclose_r(file.release());
  if (code != Z_OK) refuse(path.string(), code, errno);
  return content;
}

std::string gunzip(std::string_view compressed, const std::string& name) {
  z_stream stream{};
  constexpr int gzip_only = 16 + MAX_WBITS;
  if (inflateInit2(&stream, gzip_only) != Z_OK) refuse(name, Z_MEM_ERROR, 0);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);

  // zlib's interface predates const; it does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string content;
  int code = Z_OK;
  while (code == Z_OK) {
    content.resize(stream.total_out + chunk);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + stream.total_out);
    stream.avail_out = chunk;
    code = inflate(&stream, Z_NO_FLUSH);
  }
  content.resize(stream.total_out);
  if (code != Z_STREAM_END) refuse(name, code == Z_NEED_DICT ? Z_DATA_ERROR : code, 0);
  return content;
}

}  // namespace psim
