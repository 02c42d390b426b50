#include "sim/apps/cli/console.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

void say_text(std::string_view text) {
  // If the reader has closed the pipe, SIGPIPE arrives. It is blocked and removed before it can end the
  // process.
  sigset_t broken_pipe, before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  if (std::ferror(stderr) != 0) {
    constexpr timespec at_once{};
    sigtimedwait(&broken_pipe, nullptr, &at_once);
  }
  std::clearerr(stderr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::optional<int> terminal_width() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const std::optional<int> width = number_in<int>(columns);
    if (width && *width > 0) return width;
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return std::nullopt;
}

bool may_colour() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

void keep_standard_streams() {
  constexpr int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // `stream` is the lowest free number, because the lower numbers are open.
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", modes[stream]) != stream)
      throw std::runtime_error("cannot open /dev/null");
  }
}

}  // namespace psim::cli
