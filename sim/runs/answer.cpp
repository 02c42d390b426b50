#include "sim/runs/answer.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <new>

#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"

namespace psim {

std::string to_json(const RunAnswer& answer) {
  return Json{{"status", run_status_names[static_cast<std::size_t>(answer.status)]},
              {"why", answer.why},
              {"summary", answer.summary},
              {"cause", answer.cause}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunAnswer answer_of(const std::function<RunAnswer()>& work) {
  try {
    return work();
  } catch (const NoRoom& room) {
    return {.status = RunStatus::no_memory, .why = room.text};
  } catch (const std::bad_alloc&) {
    return {.status = RunStatus::no_memory, .why = told().text};
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    const Told error = told();
    return {.status = error.is_users ? RunStatus::refused : RunStatus::failed, .why = error.text};
  }
}

RunAnswer answer_of(int status, std::string_view text, std::string_view said) {
  const Json document = Json::parse(text, nullptr, false);
  if (WIFEXITED(status) && document.is_object() && document.contains("status")) {
    const auto name = std::ranges::find(run_status_names, document["status"].get<std::string>());
    if (name != run_status_names.end()) {
      RunAnswer answer{.status = static_cast<RunStatus>(name - run_status_names.begin()),
                       .why = document["why"],
                       .summary = document["summary"],
                       .cause = document["cause"]};
      if (answer.status == RunStatus::failed) answer.why.insert(0, said);
      return answer;
    }
  }
  RunAnswer answer{.status = RunStatus::failed,
                   .why = fmt::format("{}the run ended with {}\n", said, how_it_ended(status))};
  if (WIFSIGNALED(status)) {
    answer.status = WTERMSIG(status) == SIGXCPU   ? RunStatus::too_long
                    : WTERMSIG(status) == SIGKILL ? RunStatus::killed
                                                  : RunStatus::crashed;
  }
  return answer;
}

bool misses_target(const Json& summary) {
  const auto misses = [](const Json& what) { return what["target"]["given"] && !what["target"]["reached"]; };
  return summary.contains("groups") ? std::ranges::any_of(summary["groups"], misses) : misses(summary);
}

bool is_yes(const Json& summary) { return !misses_target(summary) && summary["stuck"].empty(); }

namespace fs = std::filesystem;

Told told() {
  try {
    throw;
  } catch (const Invalid& input) {
    return {.text = input.text};
  } catch (const UserError& error) {
    return {.text = refusal_text(error.what(), error.help)};
  } catch (const nlohmann::json::exception& error) {
    std::string_view why = error.what();
    if (why.starts_with('[')) why.remove_prefix(why.find(']') + 1);  // the library's number of the error
    const std::string what = fmt::format("a file of a run or study has unexpected contents:{}", why);
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

std::string refusal_text(std::string_view what, std::string_view help) {
  return fmt::format("error: {}\n  = help: {}\n", what, help);
}

}  // namespace psim
