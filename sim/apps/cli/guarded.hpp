// The answer to an error that no command has answered.
#pragma once

#include <functional>

#include "sim/runs/answer.hpp"

namespace psim::cli {

// The exit code of `action`. If it throws, the error is said on stderr, and its exit code returned.
int guarded(const std::function<int()>& action);

// The same for programs: the error is part of the answer.
RunAnswer guarded_answer(const std::function<RunAnswer()>& work);

}  // namespace psim::cli
