#include "sim/runs/process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"

namespace psim {

OpenFile open_for_writing(const fs::path& path) {
  OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw_errno("open", path);
  return file;
}

void end_with_parent(pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);  // the parent has ended already
}

namespace {

// AddressSanitizer maps terabytes at once but does not use them.
#ifdef __SANITIZE_ADDRESS__
constexpr bool maps_all_memory = true;
#else
constexpr bool maps_all_memory = false;
#endif

// Uses system calls only, because it runs between fork and exec.
void limit(__rlimit_resource what, std::uint64_t most, std::uint64_t grace = 0) {
  const rlimit both{.rlim_cur = most, .rlim_max = most + grace};
  if (most > 0) setrlimit(what, &both);
}

}  // namespace

pid_t start_psim(std::vector<std::string> words, const OpenFile& out, const OpenFile& err,
                 const Limits& limits) {
  const std::string program = limits.program.empty() ? "/proc/self/exe" : limits.program;
  words.insert(words.begin(), limits.program.empty() ? "psim" : program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child > 0) return child;
  // Only system calls until exec.
  end_with_parent(parent);
  limit(RLIMIT_CPU, limits.cpu_seconds, 1);
  if (!maps_all_memory) limit(RLIMIT_AS, limits.address_space);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  if (!limits.folder.empty() && chdir(limits.folder.c_str()) != 0) _exit(127);
  dup2(out.number(), STDOUT_FILENO);
  dup2(err.number(), STDERR_FILENO);
  execv(program.c_str(), argv.data());
  _exit(127);
}

Child::Child(std::vector<std::string> words, const fs::path& out, const fs::path& err, const Limits& limits) {
  const OpenFile out_file = open_for_writing(out), err_file = open_for_writing(err);
  process_ = start_psim(std::move(words), out_file, err_file, limits);
  handle_ = OpenFile(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
}

Child::~Child() {
  if (!status_) kill(process_, SIGKILL);
  wait();
}

bool Child::ends_within(std::chrono::milliseconds time) const {
  pollfd end{.fd = handle_.number(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, static_cast<int>(time.count())) == 1;
}

int Child::wait() {
  int status = 0;
  if (!status_) {
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    status_ = status;
  }
  return *status_;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string process_name() { return fmt::format("{}-{}", host_name(), getpid()); }

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string shell_word(const std::string& text) {
  const bool plain =
      !text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=/:+,") ==
          std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string file_word(const fs::path& path) {
  const std::string text = path.string();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

std::string option_words(const std::string& name, const std::string& value) {
  return name + (value.starts_with('-') ? "=" : " ") + shell_word(value);
}

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

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", std::max(0.0, seconds));
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace psim
