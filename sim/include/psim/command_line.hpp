// psim's command line for a program that adds rows of its own (policies.hpp).
#pragma once

namespace psim {

// All of `psim`, as main() is called. Returns the exit code.
int command_line(int argc, char** argv);

}  // namespace psim
