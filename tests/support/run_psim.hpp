// Runs the shipped binary, as a user would, in a process of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace psim::test {

using Json = nlohmann::ordered_json;

struct Outcome {
  int code = -1;    // exit code; 128 + signal when it was killed
  std::string out;  // stdout
  std::string err;  // stderr
};

// psim ARGUMENTS, with `folder` as working directory; `environment` entries are added ("NO_COLOR=1"). It is
// killed after `limit_s` seconds.
Outcome psim(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".",
             const std::vector<std::string>& environment = {}, unsigned limit_s = 120);

// The same with a terminal for stdout and another one for stderr, of type "xterm-256color" and unknown width.
Outcome psim_in_terminal(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                         const std::vector<std::string>& environment = {});

// The same for any program, found in PATH.
Outcome process(const std::vector<std::string>& words, const std::filesystem::path& folder = ".",
                const std::vector<std::string>& environment = {}, unsigned limit_s = 120);

// Writes `toml` to a temporary file, runs `psim run FILE --json ARGUMENTS` and returns its document.
// Fails the test when the exit code is neither 0 nor 1.
Json run_toml(const std::string& toml, const std::vector<std::string>& arguments = {});

// All bytes of a file; none if it cannot be read.
std::string content(const std::filesystem::path& path);

// The project's folder, and the binary under test.
std::filesystem::path source_folder();
std::filesystem::path binary();
// Whether that program has AddressSanitizer (tests/builds/sanitized.sh).
bool is_sanitized();

// SimGrid's contexts that this build can run with: AddressSanitizer knows no stacks but threads' own.
const std::vector<std::string>& contexts();

// A fresh folder, removed at the end of its life.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace psim::test
