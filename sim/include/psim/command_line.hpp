// psim's command line, for a program that adds its own rows (policies.hpp).
#pragma once

namespace psim {

// Runs `psim` with the arguments of main(). Returns the exit code.
int command_line(int argc, char** argv);

}  // namespace psim
