#include "sim/cli/see/target.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "model/mutant.hpp"
#include "sim/cli/process.hpp"
#include "sim/cli/study/shelf.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

std::string_view kind_of(const fs::file_status& status) {
  switch (status.type()) {
    case fs::file_type::directory: return "a folder";
    case fs::file_type::character:
    case fs::file_type::block: return "a device";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::socket: return "a socket";
    default: return "no file";
  }
}

// Other programs have a manifest.json too.
bool is_psims_manifest(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  std::string begin(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find("\"psim.") != std::string::npos;
}

}  // namespace

void check_is_file(const fs::path& path) {
  if (mutant("devices-are-files")) return;
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) throw Refused(fmt::format("{} is a folder", path.string()), "name a file");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Refused(fmt::format("{} is {}", path.string(), kind_of(status)),
                  "name a file: psim replaces nothing else");
  if (!fs::exists(status) && fs::is_symlink(fs::symlink_status(path, none)))
    throw Refused(
        fmt::format("{} is a link, to {}, where nothing is", path.string(), fs::read_symlink(path).string()),
        "name the file itself, or remove the link");
}

fs::path owner_of(const fs::path& path) {
  std::error_code none;
  const fs::path real = fs::weakly_canonical(fs::absolute(path), none);
  for (fs::path folder = real; folder.has_relative_path(); folder = folder.parent_path()) {
    if (runs_shelf().holds(folder) || is_psims_manifest(folder / "manifest.json")) return folder;
  }
  return {};
}

void check_outside(const fs::path& path, std::string_view example) {
  const fs::path owner = owner_of(path);
  if (!owner.empty() && !mutant("exports-go-into-runs"))
    throw Refused(fmt::format("{} would be among the files of a run or study, {}", path.string(),
                              owner.filename().string()),
                  fmt::format("write it elsewhere, such as {}", example));
}

std::string help_of(const std::error_code& error, const fs::path& path) {
  if (error == std::errc::no_space_on_device || error.value() == EDQUOT)
    return "make room on that disk, or name a file on another one";
  if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
      error == std::errc::read_only_file_system)
    return "name a file in a folder that you may write to";
  if (error == std::errc::no_such_file_or_directory)
    return fmt::format("there is no folder {}: make it first, or name another", path.parent_path().string());
  return "name another file";
}

void put_file(const fs::path& path, const std::string& text) {
  check_is_file(path);
  std::error_code none;
  const fs::path target = fs::is_symlink(fs::symlink_status(path, none)) ? fs::canonical(path) : path;
  const fs::path fresh = fmt::format("{}.new-{}", target.string(), process_name());
  try {
    write_file(fresh, text);
    fs::rename(fresh, target);
  } catch (const fs::filesystem_error& error) {
    fs::remove(fresh, none);
    throw Refused(fmt::format("{} cannot be written: {}", path.string(), error.code().message()),
                  help_of(error.code(), path));
  }
}

}  // namespace psim::cli
