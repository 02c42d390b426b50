// The answer to an error that no command has answered.
#pragma once

#include <functional>

namespace psim::cli {

// The exit code of `action`. If it throws, the error is said on stderr, and its exit code returned.
int guarded(const std::function<int()>& action);

}  // namespace psim::cli
