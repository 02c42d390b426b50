// The answer of a run in a separate process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/enum_names.hpp"

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

}  // namespace psim
