#include "sim/cli/talk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace psim::cli {

void say_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::clearerr(stderr);
}

void keep_standard_streams() {
  constexpr int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one: those below are open.
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", modes[stream]) != stream)
      throw std::runtime_error("/dev/null cannot be opened");
  }
}

}  // namespace psim::cli
