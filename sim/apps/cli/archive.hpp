// psim archive: a complete study as one file, ready to be published.
#pragma once

#include <string>
#include <vector>

#include "sim/study/publish/papers.hpp"

namespace psim::cli {

struct ArchiveCommand : study::Publication {
  std::string study;  // a name, a path or `latest`
  std::string out;    // empty: NAME.tar.gz
  std::vector<std::string> data_dirs;
};

int archive(const ArchiveCommand& asked);

}  // namespace psim::cli
