// Runs of psim in processes of their own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/runs/open_file.hpp"

namespace psim {

// An empty file for what a process prints, closed in every other one. Throws
// std::filesystem::filesystem_error.
OpenFile open_for_writing(const fs::path& path);

// For a process that `parent` has just made: it ends when its parent does, and no signal is blocked. Makes
// system calls only.
void end_with_parent(pid_t parent);

// What a process may use at most. 0: no less than this one.
struct Limits {
  std::uint64_t cpu_seconds = 0;    // of a processor's time; then SIGXCPU
  std::uint64_t address_space = 0;  // bytes; then it gets no more memory
  std::uint64_t file_bytes = 0;     // of each file; then SIGXFSZ
  std::string folder = {};          // that it works in; empty: this one
};

// Starts `psim WORDS...`, with `out` and `err` as its stdout and stderr. It ends when the thread ends that
// started it, even if that is killed.
pid_t start_psim(std::vector<std::string> words, const OpenFile& out, const OpenFile& err,
                 const Limits& limits = {});

// A psim of its own, which ends with its owner.
class Child {
 public:
  // stdout and stderr go to files, made anew. Throws std::filesystem::filesystem_error where they cannot be
  // written, and as start_psim does.
  Child(std::vector<std::string> words, const fs::path& out, const fs::path& err, const Limits& limits = {});
  ~Child();
  Child(Child&&) = delete;

  bool ends_within(std::chrono::milliseconds time) const;
  int wait();  // its status, as of waitpid

 private:
  pid_t process_ = 0;
  OpenFile handle_;
  std::optional<int> status_;
};

std::string host_name();

// The machine and this process' number in it: no other process that sees the same files has this name now.
std::string process_name();

// "exit code 3", "signal 9 (Killed)": from the status of waitpid.
std::string how_it_ended(int status);

}  // namespace psim
