#include "sim/apps/cli/console.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "analysis/render/svg_chart.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

void paint(std::string& line, std::size_t begin, std::size_t end, std::string_view code) {
  line.replace(begin, end - begin, painted(line.substr(begin, end - begin), code));
}

void paint_error(std::string& line) {
  const std::size_t mark = line.find_first_not_of(' ');
  if (line.starts_with("error[") || line.starts_with("error:")) return paint(line, 0, 5, red);
  if (mark == std::string::npos) return;
  if (line.compare(mark, 7, "= help:") == 0) paint(line, mark + 2, mark + 6, green);
  const std::size_t caret = line.find_first_not_of("| \t", mark);
  if (line[mark] == '|' && caret != std::string::npos && line[caret] == '^')
    paint(line, caret, line.size(), red);
}

// A label is a word after two blanks, with two blanks behind it. A line without blanks before it is a title.
void paint_summary(std::string& line) {
  if (!line.empty() && line[0] != ' ') return paint(line, 0, line.size(), bold);
  const std::size_t end = line.find(' ', 2);
  if (end == std::string::npos || end == 2 || line.compare(end, 2, "  ") != 0) return;
  const std::string label = line.substr(2, end - 2);
  for (const Use use : {Use::compute, Use::wait, Use::network}) {
    const std::size_t begin = line.find(name_of(use));
    if ((label == "workers" || label == "worker" || label == "group") && begin != std::string::npos)
      paint(line, begin, std::min(line.find("  ", begin), line.size()), analysis::terminal_colour(use));
  }
  paint(line, 2, end, bold);
}

std::string by_line(std::string_view text, void (*paint_line)(std::string& line)) {
  std::string out;
  while (!text.empty()) {
    const bool has_end = text.find('\n') != std::string_view::npos;
    std::string line(take_until(text, "\n"));
    paint_line(line);
    out += line + (has_end ? "\n" : "");
  }
  return out;
}

}  // namespace

std::string painted(std::string_view text, std::string_view code) {
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

void print_summary(std::string_view text) {
  if (!may_colour()) return fmt::print("{}", text);
  fmt::print("{}\n", take_until(text, "\n"));  // the command
  fmt::print("{}", by_line(text, paint_summary));
}

void say_text(std::string_view text) {
  std::string colours;
  if (may_colour(STDERR_FILENO)) text = colours = by_line(text, paint_error);
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

bool may_colour(int stream) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  return isatty(stream) != 0 && value("NO_COLOR").empty() && !value("TERM").empty() &&
         value("TERM") != "dumb";
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
