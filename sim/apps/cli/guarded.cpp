#include "sim/apps/cli/guarded.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/told.hpp"

namespace psim::cli {
namespace {

// The message if writing the answer to stdout fails.
std::string lost_answer(int error) {
  return error == EBADF ? "cannot write the answer: stdout is closed"
                        : fmt::format("cannot write the answer to stdout: {}", std::strerror(error));
}

int answer_with(const Told& error) {
  say_text(error.text);
  return error.is_users ? bad_input : our_fault;
}

}  // namespace

int guarded(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error(lost_answer(errno));
    return code;
  } catch (const Interrupted& interrupt) {
    say("{}{}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", interrupt.message);
    return 128 + interrupt.signal;
  } catch (const std::system_error& error) {
    const bool of_stdout = std::string_view(error.what()).starts_with("cannot write to file");  // fmt::print
    return answer_with(of_stdout ? Told{false, fmt::format("error: {}\n", lost_answer(error.code().value()))}
                                 : told());
  } catch (...) {
    return answer_with(told());
  }
}

}  // namespace psim::cli
