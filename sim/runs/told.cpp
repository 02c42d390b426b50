#include "sim/runs/told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "sim/runs/refused.hpp"

namespace psim {

namespace fs = std::filesystem;

Told told() {
  try {
    throw;
  } catch (const Invalid& input) {
    return {.text = input.text};
  } catch (const UserError& error) {
    return {.text = refusal_text(error.what(), error.help)};
  } catch (const nlohmann::json::exception& error) {
    const std::string what =
        fmt::format("a file of a run or study has unexpected contents: {}", error.what());
    const std::string_view help = "it is damaged, or another program wrote it: make the run or study again";
    return {.text = refusal_text(what, help)};
  } catch (const fs::filesystem_error& error) {
    const std::string what = fmt::format("{}: {}", error.path1().string(), error.code().message());
    return {.is_users = !is_machines(error.code()),
            .text = refusal_text(what, help_of(error.code(), error.path1()))};
  } catch (const std::bad_alloc&) {
    return {.is_users = false, .text = "error: out of memory\n"};
  } catch (const std::exception& error) {
    return {.is_users = false, .text = fmt::format("error: {}\n", error.what())};
  }
}

std::string help_of(const std::error_code& error, const fs::path& path) {
  if (is_machines(error)) return "free some space on that disk, or write to another disk";
  if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
      error == std::errc::read_only_file_system)
    return "name a file in a folder that you may write to";
  if (error == std::errc::no_such_file_or_directory && path.has_parent_path())
    return fmt::format("the folder {} does not exist: make it first, or name another folder",
                       path.parent_path().string());
  if (error == std::errc::not_a_directory)
    return fmt::format("{} is not a folder: name another one", path.parent_path().string());
  return "name another place";
}

bool is_machines(const std::error_code& error) {
  constexpr int causes[] = {ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM, EMFILE, ENFILE};
  return std::ranges::count(causes, error.value()) > 0;
}

}  // namespace psim
