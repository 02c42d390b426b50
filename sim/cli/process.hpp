// Runs of psim in processes of their own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace psim::cli {

// An empty file for what a process prints, closed in every other one. Throws
// std::filesystem::filesystem_error.
int open_for_writing(const std::filesystem::path& path);

// Starts `psim WORDS...`, with `out` and `err` as its stdout and stderr. It ends when the thread ends that
// started it, even if that is killed.
pid_t start_psim(std::vector<std::string> words, int out, int err);

// The machine and this process' number in it: no other process that sees the same files has this name now.
std::string process_name();

// "exit code 3", "signal 9 (Killed)": from the status of waitpid.
std::string how_it_ended(int status);

}  // namespace psim::cli
