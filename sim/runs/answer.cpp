#include "sim/runs/answer.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <nlohmann/json.hpp>

#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/told.hpp"

namespace psim {

using Json = nlohmann::ordered_json;

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

}  // namespace psim
