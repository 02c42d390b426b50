// The transfers of link tests: a table of bytes and seconds, and what the readers of tools' outputs share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/calibrate/lines.hpp"
#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// Why a test tells nothing about a link, and what to do.
struct Reason {
  std::string what, help;
};

// Throws LogError for a transfer without bytes or without time.
void add_transfer(const Transfer& one, const std::string& place, ClusterLog& log);

// Notes why tests of a file do not count. `before`: the number of transfers before the file. If the file has
// added none, throws the first reason, or the usual one, as a LogError.
void check_transfers(const std::string& path, const Reason& usual, const std::vector<Reason>& reasons,
                     std::size_t before, ClusterLog& log);

// Adds the transfers of a table. `lines` has read the header. Throws LogError.
void read_transfers(const std::string& path, const Cells& header, char separator, Lines& lines,
                    ClusterLog& log);

}  // namespace psim::calibrate
