#include "sim/apps/cli/study_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/apps/cli/console.hpp"

namespace psim::cli {

StudyProgress::StudyProgress() : is_terminal_(isatty(STDERR_FILENO) != 0), last_(host_seconds()) {}

void StudyProgress::note(const std::string& text) { say_text(text); }

void StudyProgress::on_progress(std::size_t runs, std::size_t of, double seconds_to_go) {
  constexpr double between_drawings = 0.1, between_lines = 60;  // seconds
  const double now = host_seconds();
  if (now - last_ < (is_terminal_ ? between_drawings : between_lines)) return;
  last_ = now;
  std::string line = fmt::format("{}/{} runs", runs, of);
  if (seconds_to_go > 0) line += ", " + time_text(seconds_to_go) + " to go";
  if (is_terminal_) say("\r\033[K{}", line);
  else say("{}\n", line);
}

void StudyProgress::on_end() {
  if (is_terminal_) say("\r\033[K");
}

}  // namespace psim::cli
