// What the benchmarks share: measuring in a process of its own, repeating in alternation, and the table's
// line.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim::bench {

using Json = nlohmann::ordered_json;

struct Settings {
  bool quick = false;  // the smallest sizes, once: only to see that everything runs
  int repeats = 9;
  double patience = 60;  // seconds, for each group of lines
};

enum class Bound { none, at_least, at_most };

// One line of the table: a ratio and what it has to keep to.
struct Line {
  std::string name;
  std::optional<double> ratio;  // none: not measured, `detail` says why
  Bound bound = Bound::none;
  double limit = 0;
  std::string detail;
  bool disturbed = false;  // other processes took what the ratio needs: a miss says nothing

  bool holds() const {
    if (!ratio || bound == Bound::none) return true;
    return bound == Bound::at_least ? *ratio >= limit : *ratio <= limit;
  }
};

// What a process cost, seen from outside.
struct Usage {
  double wall = 0;        // seconds
  double cpu = 0;         // seconds, user and system, all threads
  double peak_bytes = 0;  // the most memory that it held at once
  double faults = 0;      // page faults: pages that the kernel had to map, and often to fill with zeros
  Json result;            // what it answered
};

// Runs `work` in a child process and returns its answer. One simulation per process: SimGrid's clock cannot
// be set back. The parent stays small, for a child's peak memory starts with its parent's.
Usage in_child(const std::function<Json()>& work);

// The shipped binary: psim WORDS --json; the answer is its document.
Usage run_psim(std::vector<std::string> words);

// Seconds that `work` takes by the steady clock, and by the processor time of this process.
struct Elapsed {
  double wall = 0;
  double cpu = 0;
};
Elapsed timed(const std::function<void()>& work);

// Runs the candidates in turn, `repeats` times, and keeps what each one measured: whatever disturbs the
// machine for a while disturbs all of them. Before each it waits until nothing else keeps the cores busy, for
// at most `patience` seconds in all; 0 does not wait.
std::vector<std::vector<double>> alternate(int repeats, double patience,
                                           const std::vector<std::function<double()>>& candidates);

// How many times faster two threads get done what one does, right now: two, unless other processes run.
double capacity_of_two_threads();

double median(std::vector<double> values);
double least(const std::vector<double>& values);
// Least of `a` over least of `b`: interference only ever adds time, so the least is nearest to the
// undisturbed value.
double ratio_of_least(const std::vector<double>& a, const std::vector<double>& b);
// "median 1.02, 0.98 to 1.10": of the ratios of single repeats.
std::string spread(const std::vector<double>& a, const std::vector<double>& b);

// A scenario written as TOML, read the way psim reads it. Throws when there is anything wrong with it.
LoadedScenario scenario_of(const std::string& toml);

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Facts about machine and build that a ratio may depend on.
Json machine_facts();

// The benchmarks, in the order of the table.
std::vector<Line> gradient_against_product(const Settings& settings);
std::vector<Line> run_against_loop(const Settings& settings);
std::vector<Line> fashion_against_plain(const Settings& settings);
std::vector<Line> transport_against_loop(const Settings& settings);
std::vector<Line> peak_memory(const Settings& settings);
std::vector<Line> study_against_runs(const Settings& settings);
std::vector<Line> thousands_of_nodes(const Settings& settings);
std::vector<Line> recording(const Settings& settings);

}  // namespace psim::bench
