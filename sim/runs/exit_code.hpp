// Exit codes of psim.
#pragma once

namespace psim {

// `psim --help` lists them. After a signal the code is 128 plus the signal's number.
enum ExitCode : int { done = 0, answer_is_no = 1, bad_input = 2, our_fault = 3 };

}  // namespace psim
