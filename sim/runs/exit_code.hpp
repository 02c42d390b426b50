// How processes of psim end.
#pragma once

namespace psim {

// As `psim --help` lists them. After a signal it is 128 and the signal's number.
enum ExitCode : int { done = 0, answer_is_no = 1, bad_input = 2, our_fault = 3 };

}  // namespace psim
