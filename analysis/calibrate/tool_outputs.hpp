// Outputs and logs of tools: nccl-tests, iperf3, Megatron-LM and DeepSpeed. Other programs may print lines
// between theirs. Each function adds what a file has and returns whether it has something of the tool. Throws
// LogError if that tells nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The lines of a log that is a text, the numbers in them, and what psim says about its columns.

using Cells = std::vector<std::string_view>;

// The number that the whole cell is.
std::optional<double> number_in(std::string_view cell);

// "`compute_s`, `loss`"
std::string listed(const Cells& names);

// Two columns of a table for one thing.
LogError two_columns(const std::string& path, std::string_view one, std::string_view other);

// Notes the columns that psim does not use.
void note_ignored(const std::string& path, const Cells& columns, ClusterLog& log);

// The lines of a file with content.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path) {}

  // The next line that is no comment.
  bool next();
  // The next line, comments included.
  bool next_of_any_kind();

  bool is_comment() const { return text_.front() == '#'; }
  std::string_view text() const { return text_; }
  std::string place() const;

 private:
  std::string path_, line_;
  InputStream in_;
  std::string_view text_;
  std::size_t number_ = 0;
};

// The transfers of link tests: a table of bytes and seconds, and what the readers of tools' outputs share.

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
