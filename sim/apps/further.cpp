// psim with all its commands.
#include "psim/command_line.hpp"

int main(int argc, char** argv) { return psim::command_line(argc, argv); }
