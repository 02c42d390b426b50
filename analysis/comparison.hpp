// Many runs put side by side: one group for each combination of the axes, over all seeds. Reads summaries
// only; knows nothing of the simulator.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// One run of a comparison: which values of the axes, which seed, and its summary ("psim.summary/1").
struct ComparedRun {
  std::vector<std::string> point;
  std::int64_t seed = 0;
  Json summary;
};

// Mean and standard deviation (n - 1) over seeds; sd is absent for a single value.
struct Statistic {
  double mean = 0;
  std::optional<double> sd;
  std::size_t count = 0;
};
Statistic statistic(const std::vector<double>& values);

struct Group {
  std::vector<std::string> point;
  std::size_t runs = 0;
  std::size_t reached = 0;            // runs that reached the target
  std::optional<Statistic> time;      // to the target, if all runs reached it; without a target, of the run
  Statistic time_at_least;            // the same, with the whole run's time where it was not reached
  std::optional<Statistic> relative;  // time by that of the first group with the same seed, if all have one
  double staleness_max = 0;
  // Over the runs that have them; by their keys in the document, which has their units.
  std::map<std::string, Statistic, std::less<>> measures;
  // Null when no run has it.
  const Statistic* measure(std::string_view key) const {
    const auto found = measures.find(key);
    return found == measures.end() ? nullptr : &found->second;
  }
};

// A kind of note that some runs have.
struct ComparedNote {
  std::string name, text;          // the text is that of ...
  std::vector<std::string> point;  // ... the first run that has it
  std::int64_t seed = 0;
  std::size_t runs = 1;  // that have it
};

struct Comparison {
  std::vector<std::string> axes;  // without the seed
  bool has_target = false;
  std::vector<ComparedRun> runs;  // in order of points, then seeds
  std::vector<Group> groups;
  std::vector<ComparedNote> notes;
};

Comparison compare(std::vector<std::string> axes, std::vector<ComparedRun> runs);

// What a row is called: its values of the axes.
std::string label_of(const std::vector<std::string>& point);

// The table for people; several below one another where one would be too wide. Columns that are 0 in every
// row are left out, and named below.
std::string table(const Comparison& comparison);

// "psim.compare/1": every run with its axes, and the groups.
Json document(const Comparison& comparison);

}  // namespace psim::analysis
