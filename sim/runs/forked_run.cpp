#include "sim/runs/forked_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sim/runs/exit_code.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"

namespace psim {

MemoryFile::MemoryFile() : file_(memfd_create("run", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::runtime_error("no memory for what a run says");
}

MemoryFile::~MemoryFile() {
  if (file_ >= 0) close(file_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

std::string MemoryFile::text() const { return read_file(fmt::format("/proc/self/fd/{}", file_)); }

namespace {

void write_all(const std::string& text, int file) {
  for (std::size_t begin = 0; begin < text.size();) {
    const ssize_t written = write(file, text.data() + begin, text.size() - begin);
    if (written < 0 && errno != EINTR) throw std::runtime_error("no memory for what a run says");
    if (written > 0) begin += static_cast<std::size_t>(written);
  }
}

// Never comes back: destructors and buffers are those of the process that this one is a copy of.
[[noreturn]] void be_the_run(const std::function<RunAnswer()>& work, int answer, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);  // it has ended already
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  end_at_interrupt();
  try {
    write_all(to_json(answer_of(work)), answer);
  } catch (...) {  // no memory for the answer: there is none
    _exit(our_fault);
  }
  _exit(done);
}

}  // namespace

ForkedRun::ForkedRun(const std::function<RunAnswer()>& work) {
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) be_the_run(work, answer_.file(), log_.file(), parent);
  if (process_ < 0) throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
}

RunAnswer run_apart(const std::function<RunAnswer()>& work) {
  std::fflush(nullptr);  // else what is not printed yet would be printed by the copy as well
  const ForkedRun run(work);
  int status = 0;
  while (waitpid(run.process(), &status, 0) < 0 && errno == EINTR) continue;
  return run.answer(status);
}

}  // namespace psim
