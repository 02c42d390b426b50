// What the runs of a study gave, line by line, in files that any number of processes append to at once: each
// has a file of its own, so nothing needs a lock, and what a killed process leaves is at most a line that is
// not whole, which is not read.
//
// A line: {"run":HASH,"build":BUILD,"check":CHECK,"summary":{...}}, where CHECK is the XXH3 of the summary's
// text. HASH says which scenario it is and BUILD which program made it: a line is true for ever, wherever it
// is copied to. A run that was explained has a second line, with "cause" in place of "summary".
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/runs/open_file.hpp"

namespace psim::study {

class Journal {
 public:
  // How the name of a results.jsonl begins that is being written.
  static constexpr const char* unsettled = ".results.jsonl-";

  // Whose lines count.
  enum class Builds { own, any };

  // Reads what is in `folder`, if there is one. Throws std::filesystem::filesystem_error when it cannot be
  // read.
  explicit Journal(fs::path folder, Builds builds = Builds::own);

  // The summary of a run, as text; null: it has not been made.
  const std::string* find(const std::string& hash) const;

  // Why the run took as long as it did, as text; null: it has not been explained.
  const std::string* cause_of(const std::string& hash) const;

  // Takes in what other processes have written meanwhile.
  void read_again();

  // Takes in the lines of another study for the runs that are asked for.
  void adopt(const Journal& other, const std::set<std::string>& hashes);

  // Append a line. Throw std::filesystem::filesystem_error when the disk refuses.
  void add(const std::string& hash, const std::string& summary) { add(summaries_, hash, summary); }
  void add_cause(const std::string& hash, const std::string& cause) { add(causes_, hash, cause); }

  // Makes `results.jsonl` of the lines of these runs, in this order, keeps the others' in
  // results/earlier.jsonl, and removes the files that have no more to say. What is not understood stays.
  void settle(const std::vector<std::string>& hashes);

  // By build, how many lines others than this one made.
  const std::map<std::string, std::size_t>& other_builds() const { return other_builds_; }
  std::size_t damaged() const { return damaged_; }
  // The runs of which there are two different summaries.
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
  OpenFile file_;            // this process' own
};

}  // namespace psim::study
