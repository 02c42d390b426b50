// The results of a study's runs, one per line. Any number of processes can write at the same time without
// locks, because each appends to its own file. A killed process leaves at most one incomplete line, which
// psim ignores.
//
// A line: {"run":HASH,"build":BUILD,"check":CHECK,"summary":{...}}, where CHECK is the XXH3 of the summary's
// text. HASH identifies the scenario and BUILD the program, so a line stays valid wherever it is copied. An
// explained run has a second line, with "cause" instead of "summary".
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"

namespace psim::study {

class Journal {
 public:
  // Which builds' lines count.
  enum class Builds { own, any };

  // Reads `folder` if it exists. Throws std::filesystem::filesystem_error if it cannot be read.
  explicit Journal(fs::path folder, Builds builds = Builds::own);

  // The summary of a run, as text; null: no such run yet.
  const std::string* find(const std::string& hash) const;

  // What took the time of a run, as text; null: not explained.
  const std::string* cause_of(const std::string& hash) const;

  // Reads the lines that other processes have written meanwhile.
  void read_again();

  // Takes over the lines of another study for the runs with these hashes.
  void adopt(const Journal& other, const std::set<std::string>& hashes);

  // These append a line. They throw std::filesystem::filesystem_error if they cannot write.
  void add(const std::string& hash, const std::string& summary) { add(summaries_, hash, summary); }
  void add_cause(const std::string& hash, const std::string& cause) { add(causes_, hash, cause); }

  // Writes the lines of these runs to `results.jsonl`, in this order, and all other lines to
  // results/earlier.jsonl. Then removes the files that are no longer needed. Files with unknown contents
  // stay.
  void settle(const std::vector<std::string>& hashes);

  // The number of lines of each other build.
  const std::map<std::string, std::size_t>& other_builds() const { return other_builds_; }
  std::size_t damaged() const { return damaged_; }
  // The runs that have two different summaries.
  const std::set<std::string>& contradictory() const { return contradictory_; }

 private:
  Journal() = default;
  void read(const fs::path& file);
  void take(std::string_view line);
  void take_cause(const std::string& hash, std::string_view cause);
  void open_own();
  using Results = std::map<std::string, std::string>;  // by hash
  void add(Results& results, const std::string& hash, const std::string& result);
  std::string lines_of(const std::string& hash) const;

  fs::path folder_;
  Builds builds_ = Builds::own;
  Results summaries_, causes_;
  std::map<std::string, std::size_t> other_builds_;
  std::set<std::string> contradictory_;
  std::size_t damaged_ = 0;
  std::size_t foreign_ = 0;  // lines that psim did not write
  OpenFile file_;            // the file of this process
};

// Files in a study's folder may be damaged or made by hand. These functions check that every value that psim
// reads is present and has the expected type.

// The summary in a line of a journal. Throws DamagedRun, with the mistake.
Json summary_of(const std::string& text, const std::string& run);

// The cause in a line of a journal: what took the time of the run. Throws DamagedRun, with the mistake.
Json cause_from(const std::string& text, const std::string& run);

// Whether `tuning` is the result of [tune] in a manifest.
bool is_tuning(const Json& tuning);

}  // namespace psim::study
