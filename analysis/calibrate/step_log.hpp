// What a real cluster has logged: the durations of its steps, and transfers of a link test. Readers fill it;
// everything that a log lacks or gets wrong is counted, so that no reader of a report has to guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/user_error.hpp"

namespace psim::calibrate {

// A table of whole runs: the mean time of a step of several configurations of one cluster.

struct LoggedRun {
  std::vector<std::pair<std::string, std::string>> fields;  // of the scenario; bare words are texts
  double step = 0;   // mean seconds from a step of a worker to its next
  std::string name;  // "workers 4, servers 2, consistency asp"

  // The value of its first field about consistency; null: it has none.
  const std::string* consistency() const;
};

// Each column is a field of the scenario, or a short name for one.
class RunTable {
 public:
  // Whether the header is that of a table of runs: it has `workers` and a time of a step.
  static bool is(const std::vector<std::string_view>& header);

  // Throws LogError for a column that is no field.
  RunTable(const std::string& path, const std::vector<std::string_view>& header);

  // Adds the run of a line. Throws LogError for a wrong value.
  void add(const std::vector<std::string_view>& cells, const std::string& place);

  // All runs, with their names.
  std::vector<LoggedRun> runs() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> lines_;
  std::vector<LoggedRun> runs_;
};

// A log that cannot be used. `what`: the file and the reason; `help`: what to do.
struct LogError : UserError {
  using UserError::UserError;
};

// The durations of one step of one worker, in seconds. NaN: not logged.
struct LoggedStep {
  double compute = 0;
  double push = unknown, pull = unknown;  // from the first message to the last, waiting included
  double server = unknown;                // a server's work on the worker's push
  double bytes = unknown;                 // sizes of the push and of the pull, each

  static const double unknown;
};

class StepLog {
 public:
  // Keeps the step. Counts a step that it has already, and a step with an impossible duration, and leaves it
  // out.
  void add(std::int64_t worker, std::int64_t step, const LoggedStep& durations);

  // By worker and step.
  const std::map<std::int64_t, std::map<std::int64_t, LoggedStep>>& workers() const { return workers_; }
  bool is_empty() const { return workers_.empty(); }

  struct Counts {
    std::size_t steps = 0;       // that were kept
    std::size_t repeated = 0;    // a second line for a step of a worker
    std::size_t impossible = 0;  // a duration below 0, above 30 years, or not a number
    std::size_t zero = 0;        // a computation of 0 s
    std::size_t beyond = 0;      // after the log was full
  };
  const Counts& counts() const { return counts_; }

  static constexpr std::size_t most_steps = 4'000'000;  // of all workers: about 600 MB with the fit

 private:
  std::map<std::int64_t, std::map<std::int64_t, LoggedStep>> workers_;
  Counts counts_;
};

// A transfer of a link test.
struct Transfer {
  enum class Kind : std::uint8_t {
    message,     // of one size from one node to another: its time contains the latency once
    collective,  // of several nodes: its time without bytes is not the latency of a link
    span,        // of a stream that runs: its length was chosen, and it contains no latency
  };
  double bytes = 0, seconds = 0;
  Kind kind = Kind::message;
};

// The content of the files of one cluster.
struct ClusterLog {
  StepLog steps;
  bool has_whole_steps = false;  // the computations of the steps contain their communication
  std::vector<Transfer> transfers;
  std::vector<LoggedRun> runs;     // whole runs of several configurations
  std::vector<std::string> notes;  // sentences about what was found and left out

  // Notes a sentence about a file. Files with the same sentence share one note. "{}" in it is the sum of
  // their counts.
  void note(const std::string& path, const std::string& sentence, std::size_t count = 0);

  // The worker of a file that is one worker's: `rank` if it is known, otherwise the number in a name such as
  // `rank3.json`. Files whose names differ only by the date of tensorboard_trace_handler are of one worker.
  // Of any other file it is `number`.
  std::int64_t worker_of(const std::string& path, std::optional<std::int64_t> rank, std::int64_t number);

  struct FileNote {
    std::string path, sentence;
    std::size_t files = 0, count = 0, place = 0;  // in `notes`
  };
  std::vector<FileNote> of_files = {};
  std::map<std::string, std::int64_t> workers_of_names = {};
};

// How a reader finds computations in a trace of events.
struct EventNames {
  std::string compute;   // a regular expression; empty: the names that known tools use
  std::string step_arg;  // the argument with the number of the step; empty: "step"
};

// Adds the content of a file: CSV of steps, of runs, or of `bytes,seconds`, the output of nccl-tests or
// iperf3, the log of Megatron-LM or DeepSpeed, or Chrome JSON. `number`: of the file, the worker of a trace
// that names none. Throws LogError, and InputError.
void read_log(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log);

// A file as a stream, decompressed if it is gzip, without a byte-order mark. It holds one piece of the file
// in memory.
//
// As JSON, bare words such as inf and NaN, which programs write and JSON does not know, become 0.
class InputStream : public std::istream {
 public:
  // Throws InputError if `path` is no regular file, or cannot be opened.
  explicit InputStream(const std::filesystem::path& path, bool is_json = false);
  ~InputStream() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace psim::calibrate
