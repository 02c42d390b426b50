#include "sim/runs/forked_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "sim/runs/exit_code.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"

namespace psim {

MemoryFile::MemoryFile() : file_(memfd_create("run", MFD_CLOEXEC)) {
  if (!file_) throw std::runtime_error("no memory for the output of a run");
}

std::string MemoryFile::text() const { return read_file(fmt::format("/proc/self/fd/{}", file_.number())); }

namespace {

// Never returns, because destructors and buffers belong to the original process.
[[noreturn]] void be_the_run(const std::function<RunAnswer()>& work, const OpenFile& answer,
                             const OpenFile& log, pid_t parent) {
  end_with_parent(parent);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(log.number(), STDERR_FILENO);
  end_at_interrupt();
  try {
    _exit(write_all(answer, to_json(answer_of(work))) ? done : our_fault);
  } catch (...) {  // no memory for the answer: send none
    _exit(our_fault);
  }
}

}  // namespace

ForkedRun::ForkedRun(const std::function<RunAnswer()>& work) {
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) be_the_run(work, answer_.file(), log_.file(), parent);
  if (process_ < 0) throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
}

RunAnswer run_apart(const std::function<RunAnswer()>& work) {
  std::fflush(nullptr);  // otherwise the copy would print the buffered text, too
  const ForkedRun run(work);
  int status = 0;
  while (waitpid(run.process(), &status, 0) < 0 && errno == EINTR) continue;
  return run.answer(status);
}

}  // namespace psim
