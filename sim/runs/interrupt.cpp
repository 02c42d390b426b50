#include "sim/runs/interrupt.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>

namespace psim {
namespace {

// A batch system may announce the end of a job's time by the last one.
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGUSR1};

constexpr const char* usual_message = "interrupted\n";

// The data of the signal handler, changed only while signals are blocked. It is never destroyed: a signal may
// arrive while the program destroys its objects.
struct Ours {
  pid_t process = 0;
  std::string folder, message = usual_message;
};
Ours& ours = *new Ours;

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : ending_signals) sigaddset(&set, signal);
  return set;
}

void set_handled(const std::string& new_folder, const std::string& new_message) {
  const sigset_t all = interrupts();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &all, &before);
  ours.folder = new_folder;
  ours.message = new_message;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Uses system calls only: a signal may arrive at any point, even during an allocation.
void remove_with_files(const char* path) {
  const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  alignas(dirent64) std::array<char, 4096> entries;
  for (long bytes = 0; (bytes = syscall(SYS_getdents64, directory, entries.data(), entries.size())) > 0;) {
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      unlinkat(directory, entry->d_name, 0);  // refuses "." and ".."
      at += entry->d_reclen;
    }
  }
  close(directory);
  rmdir(path);
}

extern "C" void psim_end_at_interrupt(int signal) {
  if (getpid() != ours.process) _exit(128 + signal);  // a forked copy of this process
  // Only the main thread writes files. The handler runs there, so no thread writes while it removes files.
  if (syscall(SYS_gettid) != ours.process) {
    syscall(SYS_tgkill, ours.process, ours.process, signal);
    return;
  }
  if (!ours.folder.empty()) remove_with_files(ours.folder.c_str());
  if (isatty(STDERR_FILENO) != 0 && write(STDERR_FILENO, "\r\033[K", 4) < 0) _exit(128 + signal);
  if (write(STDERR_FILENO, ours.message.data(), ours.message.size()) < 0) _exit(128 + signal);
  _exit(128 + signal);
}

}  // namespace

void end_at_interrupt() {
  ours.process = getpid();
  struct sigaction action {};
  action.sa_handler = psim_end_at_interrupt;
  action.sa_mask = interrupts();
  for (const int signal : ending_signals) sigaction(signal, &action, nullptr);
  // The parent of psim may ignore SIGCHLD; psim must wait for its children.
  std::signal(SIGCHLD, SIG_DFL);
}

RemovedAtInterrupt::RemovedAtInterrupt(const std::string& folder_to_remove, const std::string& what_to_say) {
  set_handled(folder_to_remove, what_to_say + "\n");
}
RemovedAtInterrupt::~RemovedAtInterrupt() { set_handled({}, usual_message); }

InterruptsHeld::InterruptsHeld() {
  sigset_t held = interrupts();
  sigaddset(&held, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

InterruptsHeld::~InterruptsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int InterruptsHeld::pending() const {
  const sigset_t all = interrupts();
  constexpr timespec at_once{};
  const int signal = sigtimedwait(&all, nullptr, &at_once);
  return signal > 0 ? signal : 0;
}

void InterruptsHeld::wait() const {
  sigset_t held = interrupts();
  sigaddset(&held, SIGCHLD);
  const int signal = sigwaitinfo(&held, nullptr);
  if (std::ranges::find(ending_signals, signal) != ending_signals.end()) raise(signal);  // for `pending`
}

}  // namespace psim
