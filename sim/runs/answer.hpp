// How a run ended: its answer to another process, exit codes, refusals, and the texts of errors.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/base/enum_names.hpp"
#include "model/base/user_error.hpp"

namespace psim {

enum class RunStatus : std::uint8_t {
  done,
  refused,    // the scenario has mistakes, or psim refuses to run it
  no_memory,  // the run needs more memory than the machine has or the limit allows
  too_long,   // the run used up its limit of processor time
  failed,     // because of psim or the machine
  killed,     // by SIGKILL: the kernel does this when memory is short
  crashed,    // another signal ended it
};
inline constexpr auto run_status_names = enum_names<RunStatus>();

struct RunAnswer {
  RunStatus status = RunStatus::done;
  std::string why = {};      // unless `done`: the lines for people that psim prints
  std::string summary = {};  // if `done`: JSON in one line, without a newline
  std::string cause = {};    // what took the time of the run, in JSON; empty: not requested, or unknown
};

// One line of JSON.
std::string to_json(const RunAnswer& answer);

// Does `work` and returns its answer. An exception of the standard library or of psim becomes an answer, too.
RunAnswer answer_of(const std::function<RunAnswer()>& work);

// The answer of a process that ended with `status` (from waitpid). `text`: its answer, written by to_json.
// `said`: its stderr.
RunAnswer answer_of(int status, std::string_view text, std::string_view said);

// Exit codes of psim. `psim --help` lists them. After a signal the code is 128 plus the signal's number.
enum ExitCode : int { done = 0, answer_is_no = 1, bad_input = 2, our_fault = 3 };

using Json = nlohmann::ordered_json;

// Whether the run, or any of its groups, missed its target.
bool misses_target(const Json& summary);

// Whether the run reached its end, and its target if it has one.
bool is_yes(const Json& summary);

// The message for an exception that no command has handled.
struct Told {
  bool is_users = true;  // the user's mistake; otherwise the fault of psim or the machine
  std::string text = {};
};

// The message for the current exception.
Told told();

// Whether the machine causes the error, for example a full or broken disk, and not the name of the file.
bool is_machines(const std::error_code& error);

// The hint for a file or folder that cannot be written.
std::string help_of(const std::error_code& error, const std::filesystem::path& path);

// The reason why psim refuses a request.
struct Refused : UserError {
  using UserError::UserError;
};

// The same, with the full text for the user.
struct Invalid {
  std::string text;
};

// The same: the run needs more memory than the machine has or the limit allows.
struct NoRoom : Invalid {};

std::string refusal_text(std::string_view what, std::string_view help);

// Collects all mistakes in a request before psim makes or writes anything.
class Refusals {
 public:
  // Makes a check, and keeps the exception that refuses the request.
  template <class Check>
  void check(Check&& check) {
    try {
      std::forward<Check>(check)();
    } catch (const UserError& refusal) {
      add(refusal.what(), refusal.help);
    } catch (const Invalid& invalid) {
      add(invalid.text);
    }
  }
  // Throws Invalid with all mistakes, if any.
  void throw_if_any() const {
    if (!text_.empty()) throw Invalid{text_};
  }

 private:
  void add(const std::string& what, const std::string& help) { add(refusal_text(what, help)); }
  void add(const std::string& text) {
    if (text_.find(text) == std::string::npos) text_ += text;
  }
  std::string text_;
};

}  // namespace psim
