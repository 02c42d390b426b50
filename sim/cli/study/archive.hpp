// psim archive: a complete study as one file, fit to be published.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.hpp"

namespace psim::cli {

struct ArchiveCommand {
  std::string study;                 // a name, a path or `latest`
  std::string out;                   // empty: NAME.tar.gz
  std::vector<std::string> authors;  // "Family, Given", or a name
  std::string license;               // SPDX, of the results; empty: their makers have not said
  std::vector<std::string> data_dirs;
};

int archive(const ArchiveCommand& asked);

}  // namespace psim::cli
