#include "model/base/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "model/base/memory.hpp"

namespace psim {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20U;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_kind(const std::string& name, mode_t mode) {
  throw InputError(name, fmt::format("cannot be read: it is {}", kind_of(mode)), "name a file");
}

[[noreturn]] void refuse_size(const std::string& name, std::uintmax_t most) {
  throw InputError(name,
                   fmt::format("too large: it has more than {:.3g} MB", static_cast<double>(most) / 1e6),
                   "it is not the file that psim expects here");
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  struct stat facts {};
  const auto fail = [this] {
    const int error = errno;
    throw InputError(name_, fmt::format("cannot be read: {}", std::strerror(error)),
                     error == ENOENT ? "there is no such file" : "check its permissions");
  };
  // Opening a device can change it, so the path is checked before it is opened. It is checked again
  // afterwards, because another file may have replaced it.
  if (stat(path.c_str(), &facts) != 0) fail();
  if (!S_ISREG(facts.st_mode)) refuse_kind(name_, facts.st_mode);
  file_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file_ < 0 || fstat(file_, &facts) != 0) fail();
  if (!S_ISREG(facts.st_mode)) {
    close(std::exchange(file_, -1));
    refuse_kind(name_, facts.st_mode);
  }
  size_ = static_cast<std::uintmax_t>(facts.st_size);
}

InputFile::~InputFile() {
  if (file_ >= 0) close(file_);
}

std::size_t InputFile::read(char* bytes, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file_, bytes, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR)
      throw InputError(name_, fmt::format("cannot be read: {}", std::strerror(errno)),
                       "check the disk that it is on");
  }
}

std::uintmax_t most_input() {
  constexpr std::uintmax_t always = std::uintmax_t{4} << 30U;
  return std::min<std::uintmax_t>(always, available_memory() / 4);
}

std::string read_input(const std::filesystem::path& path, std::uintmax_t most) {
  InputFile file(path);
  if (file.size() > most) refuse_size(path.string(), most);
  std::string text;
  // An attempt to read one byte more than the reported size shows whether the file has more.
  for (std::size_t room = static_cast<std::size_t>(file.size()) + 1;;
       room = std::min(chunk, text.size() + 1)) {
    const std::size_t before = text.size();
    text.resize(before + room);
    const std::size_t got = file.read(text.data() + before, room);
    text.resize(before + got);
    if (got == 0) return text;
    if (text.size() > most) refuse_size(path.string(), most);
  }
}

std::string beginning_of(const std::filesystem::path& path, std::size_t bytes) {
  InputFile file(path);
  std::string text, piece(std::min(bytes, chunk / 16), '\0');
  while (text.size() < bytes) {
    const std::size_t got = file.read(piece.data(), std::min(piece.size(), bytes - text.size()));
    if (got == 0) break;
    text.append(piece, 0, got);
  }
  return text;
}

bool LineCutter::add(std::string_view piece) {
  constexpr std::size_t most = std::size_t{64} << 20U;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      begun_ += piece;
      if (begun_.size() > most)
        throw InputError(fmt::format("{}:{}", name_, lines_ + 1),
                         fmt::format("the line has more than {} MB", most >> 20U),
                         "it is not a text of numbers");
      return true;
    }
    ++lines_;
    std::string_view line = piece.substr(0, end);
    piece.remove_prefix(end + 1);
    std::string whole = std::exchange(begun_, {});
    if (!whole.empty()) line = whole += line;
    if (!take_(line)) return false;
  }
  return true;
}

void LineCutter::finish() {
  if (!begun_.empty()) take_(std::exchange(begun_, {}));
}

void each_input_line(const std::filesystem::path& path, std::uintmax_t most, const TakeLine& take) {
  InputFile file(path);
  if (file.size() > most) refuse_size(path.string(), most);
  LineCutter lines(path.string(), take);
  std::string piece(chunk, '\0');
  std::uintmax_t all = 0;
  for (std::size_t got = 0; (got = file.read(piece.data(), piece.size())) > 0;) {
    all += got;
    if (all > most) refuse_size(path.string(), most);
    if (!lines.add(std::string_view(piece).substr(0, got))) return;
  }
  lines.finish();
}

}  // namespace psim
