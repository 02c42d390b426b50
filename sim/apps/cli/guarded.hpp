// Prints errors that no command has handled.
#pragma once

#include <functional>

namespace psim::cli {

// The exit code of `action`. If it throws, prints the error to stderr and returns the error's exit code.
int guarded(const std::function<int()>& action);

}  // namespace psim::cli
