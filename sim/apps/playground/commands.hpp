// psim new and psim serve.
#pragma once

#include <cstdint>
#include <string>

#include "sim/apps/playground/sketch.hpp"

namespace psim::cli {

struct NewCommand {
  std::string file;
  Sketch sketch;  // what the options say; nothing: three questions are asked
};
int make_new(const NewCommand& asked);

struct ServeCommand {
  std::string address = "127.0.0.1";
  int port = 0;                    // 0: one that is free
  std::vector<std::string> names;  // under which browsers may ask for it, beside the address
  unsigned jobs = 0;               // runs at once; 0: as many as the machine has cores
  double memory = 2;               // GB of address space of each
  std::uint64_t seconds = 30;      // of a processor's time of each
};
int serve(const ServeCommand& asked);

}  // namespace psim::cli
