// A table of whole runs: the mean time of a step of several configurations of one cluster.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace psim::calibrate {

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

}  // namespace psim::calibrate
