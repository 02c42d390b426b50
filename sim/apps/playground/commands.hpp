// psim new and psim serve.
#pragma once

#include <cstdint>
#include <string>

#include "sim/apps/playground/sketch.hpp"

namespace psim::cli {

struct NewCommand {
  std::string file;
  Sketch sketch;  // from the options; empty: psim asks three questions
};
int make_new(const NewCommand& asked);

struct ServeCommand {
  std::string address = "127.0.0.1";
  int port = 0;                    // 0: any free port
  std::vector<std::string> names;  // host names that browsers may use, besides the address
  unsigned jobs = 0;               // runs at the same time; 0: one per core
  double memory = 2;               // GB of address space of each run
  std::uint64_t seconds = 30;      // of processor time of each run
};
int serve(const ServeCommand& asked);

}  // namespace psim::cli
