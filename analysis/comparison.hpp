// Many runs put side by side: one group for each combination of the axes, over all seeds. Reads summaries
// only; knows nothing of the simulator.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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
  Statistic updates, per_update, staleness, bytes;  // per_update: simulated seconds
  Statistic compute, wait, network, absent;         // percent of the workers' time
  std::optional<Statistic> loss, accuracy;
  std::optional<Statistic> latency, served_staleness, served_accuracy;  // of an inference group's answers
  // Where nodes may fail: bytes of copies and of whole shards, nodes that were suspected, those of them that
  // were alive, and seconds from a server's crash until its shards were as far again.
  std::optional<Statistic> copied, suspicions, false_suspicions, recovery;
  double staleness_max = 0;
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
