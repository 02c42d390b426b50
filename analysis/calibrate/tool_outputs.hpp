// Outputs and logs of tools: nccl-tests, iperf3, Megatron-LM and DeepSpeed. Other programs may print lines
// between theirs. Each function adds what a file has and returns whether it has something of the tool. Throws
// LogError if that tells nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// The tables of nccl-tests and rccl-tests, in all dialects. psim takes the out-of-place operation of each
// row.
bool read_nccl(const std::string& path, ClusterLog& log);

bool read_iperf_text(const std::string& path, ClusterLog& log);

// Documents of --json and --json-stream. `beginning`: of a file, without blanks.
bool is_iperf_json(std::string_view beginning);
void read_iperf_json(const std::string& path, ClusterLog& log);

// The first of these that a file has counts:
// - DeepSpeed's `rank=0 time (ms) | forward: 27.5 | backward: 73.6 | backward_allreduce: 22.5 | step: 72.6`:
//   all but the all-reduce is the computation;
// - Megatron-LM's `iteration 10/ 100 | ... | elapsed time per iteration (ms): 123.4 |`: whole steps;
// - DeepSpeed's `[2024-05-01 10:00:00,000] ... global_step=10, RunningAvgSamplesPerSec=...`: whole steps,
// from
//   the dates.
// `number`: of the file.
bool read_training_log(const std::string& path, std::int64_t number, ClusterLog& log);

}  // namespace psim::calibrate
