// Starts psim in separate processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"

namespace psim {

// An empty file for the output of one process. Other processes do not inherit it. Throws
// std::filesystem::filesystem_error.
OpenFile open_for_writing(const fs::path& path);

// Call it in a new child of `parent`. The child then ends when its parent ends, and unblocks all signals.
// Uses system calls only.
void end_with_parent(pid_t parent);

// Limits of a process, and what it is. 0: the limit of this process.
struct Limits {
  std::uint64_t cpu_seconds = 0;    // of processor time; then SIGXCPU
  std::uint64_t address_space = 0;  // bytes; then allocations fail
  std::uint64_t file_bytes = 0;     // bytes of each file; then SIGXFSZ
  std::string folder = {};          // its working directory; empty: the current one
  std::string program = {};         // the file of another program than psim
};

// Starts `psim WORDS...`, or `limits.program` with these words, with `out` and `err` as its stdout and
// stderr. The process ends when the thread that started it ends, even by a kill.
pid_t start_psim(std::vector<std::string> words, const OpenFile& out, const OpenFile& err,
                 const Limits& limits = {});

// A separate psim. The destructor ends it.
class Child {
 public:
  // stdout and stderr go to new files. Throws std::filesystem::filesystem_error if these cannot be written,
  // and the exceptions of start_psim.
  Child(std::vector<std::string> words, const fs::path& out, const fs::path& err, const Limits& limits = {});
  ~Child();
  Child(Child&&) = delete;

  bool ends_within(std::chrono::milliseconds time) const;
  int wait();  // its status, as from waitpid

 private:
  pid_t process_ = 0;
  OpenFile handle_;
  std::optional<int> status_;
};

std::string host_name();

// The names of the machine and of this process. No other running process that sees the same files has this
// name.
std::string process_name();

// "exit code 3", "signal 9 (Killed)": from a status of waitpid.
std::string how_it_ended(int status);

// Command lines as people type them.

// `text` as one word for a shell, in single quotes if needed.
std::string shell_word(const std::string& text);
// The same for a file or folder, so that no program mistakes it for an option.
std::string file_word(const fs::path& path);
// "--baseline bsp", or "--baseline=-x" if the value looks like an option.
std::string option_words(const std::string& name, const std::string& value);

// A run in a copy of this process. The copy has all loaded data without loading it again.

// A file in memory: one process writes it, another process reads it.
class MemoryFile {
 public:
  MemoryFile();
  const OpenFile& file() const { return file_; }
  std::string text() const;

 private:
  OpenFile file_;
};

class ForkedRun {
 public:
  // Does `work` in the copy. The copy ends when this process ends. Call it while this process has no other
  // threads and has not used SimGrid. Throws std::runtime_error.
  explicit ForkedRun(const std::function<RunAnswer()>& work);
  pid_t process() const { return process_; }
  // The answer, after the copy has ended with `status` (from waitpid).
  RunAnswer answer(int status) const { return answer_of(status, answer_.text(), log_.text()); }

 private:
  MemoryFile answer_ = {}, log_ = {};
  pid_t process_ = 0;
};

// Does `work` in a copy of this process, and waits for its answer.
RunAnswer run_apart(const std::function<RunAnswer()>& work);

// The only use of real time in psim. Simulations do not see it.

// Seconds of the machine's steady clock.
double host_seconds();

// "50 s", "12 min", "3.5 h": rounded, because times are estimates.
std::string time_text(double seconds);

}  // namespace psim
