// The answer of a run that was made in a process of its own, as values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/enum_names.hpp"

namespace psim {

enum class RunStatus : std::uint8_t {
  done,
  refused,    // the scenario is not right, or psim will not run it
  no_memory,  // it needs more memory than the machine has, or than the limit allows
  too_long,   // it took all the processor time that it may have
  failed,     // psim's fault or the machine's
  killed,     // by SIGKILL, as the kernel does when memory is short
  crashed,    // another signal ended it
};
inline constexpr auto run_status_names = enum_names<RunStatus>();

struct RunAnswer {
  RunStatus status = RunStatus::done;
  std::string why = {};      // of all but `done`: lines for people, as psim prints them
  std::string summary = {};  // of `done`: JSON without an end of a line
  std::string cause =
      {};  // why the run took as long as it did, in JSON; empty: nobody asked, or it cannot be told
};

// One line of JSON.
std::string to_json(const RunAnswer& answer);

// Does `work`, and returns its answer, also if it throws an exception of the standard library or of psim.
RunAnswer answer_of(const std::function<RunAnswer()>& work);

// The answer of a process that has ended with `status` (waitpid) and has written `text`, by to_json, and
// `said`, on stderr.
RunAnswer answer_of(int status, std::string_view text, std::string_view said);

}  // namespace psim
