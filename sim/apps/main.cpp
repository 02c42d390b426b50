// psim with the commands that a first table needs; the others are in psim-further.
#include "sim/apps/cli/subcommand.hpp"

int main(int argc, char** argv) { return psim::cli::command_line(argc, argv, psim::cli::core_rooms()); }
