// The transfers of link tests: a table of bytes and seconds, nccl-tests, and iperf3 --json.
#pragma once

#include <string>

#include "analysis/calibrate/lines.hpp"
#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// Whether a file with this beginning, without blanks, is of iperf3 --json or of nccl-tests.
bool is_iperf(std::string_view beginning);
bool is_nccl(std::string_view beginning);

// Each adds the transfers of a file. Throws LogError, also if there are none.
void read_iperf(const std::string& path, ClusterLog& log);
void read_nccl(const std::string& path, ClusterLog& log);
// `lines` has read the header.
void read_transfers(const std::string& path, const Cells& header, char separator, Lines& lines,
                    ClusterLog& log);

}  // namespace psim::calibrate
