// The name of this machine, as psim has it in the names of files that a process writes.
#pragma once

#include <unistd.h>

#include <string>

namespace psim::test {

inline std::string this_host() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

}  // namespace psim::test
