// What becomes of an error that no command has answered.
#pragma once

#include <functional>

namespace psim::cli {

// The exit code of `action`, or of what it throws, which is said on stderr.
int guarded(const std::function<int()>& action);

}  // namespace psim::cli
