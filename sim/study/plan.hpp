// The plan of a study: all combinations of the axes' values with all seeds, and their labels in tables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/request.hpp"
#include "sim/scenario/tune.hpp"

namespace psim::study {

// The request for a study.

// A scenario with axes, and options of its runs.
struct Request : RunRequest {
  std::string seeds;  // an axis of seeds, separated by commas; empty: the seeds of the scenario
  unsigned jobs = 0;  // processes at the same time; 0: one per core
};

// The command line that makes the study: "psim compare FILE --seeds 1,2".
std::string compare_line(const Request& request, const std::string& program = "psim compare");

// A run of a study. An axis may have no effect for some value of another axis. Then several runs are the same
// scenario: they have the same hash and are made once.
struct PlannedRun {
  std::string arm;                     // the label of its value on the arms' axis
  std::vector<std::string> condition;  // the labels of its values on the other axes, without the seed
  std::int64_t seed = 0;
  std::string hash;                      // of the scenario (identity.hpp)
  bool by_trace = false;                 // step times come from a file and do not depend on the seed
  std::optional<double> predicts = {};   // as in analysis::StudyRun
  RunRequest request;                    // for this run alone
  double seconds = 0;                    // estimated, on one core
  double bytes = 0;                      // estimated memory of its process
  bool is_explained = false;             // its result says what took the time
  std::optional<LoadedScenario> loaded;  // none: the run has to load it
  bool lacks_data = false;               // `loaded` is without its data: all data take too much memory
};

// A further axis, whose values depend on the cell.
struct Variant {
  std::string label;
  std::vector<std::string> sets;  // KEY=VALUE; applied after the axes
};
struct Variants {
  std::string axis;  // a condition axis after the others; empty: none
  std::function<std::vector<Variant>(const std::string& arm, const std::vector<std::string>& condition)> of;
};

struct Plan {
  std::string name, title;                  // of the scenario
  std::string arm_axis;                     // the axis whose values are compared: "arm", or the first axis
  std::vector<std::string> condition_axes;  // the others
  std::vector<std::string> arms;            // in the order of the axis
  std::string hash;                         // of all runs, their labels and their tuning
  std::string text;                         // the scenario with its axes, as input of psim compare
  std::optional<TuneSpec> tune;             // [tune]
  std::vector<PlannedRun> runs;             // the first axis slowest, seeds fastest
  std::string notes;                        // for people: the parts of the request without effect
};

// The share of the seeds' variance that comes from the fit, if a trace is a sample of a cluster. A mean over
// `clocks` steps of a run, drawn from a sample of N steps, has the variances 1 / clocks and 1 / N of a step.
std::optional<double> share_of_fit(const Scenario& scenario, double clocks);

// 16 hexadecimal digits.
std::string hash_of_text(const std::string& text);

// Checks every run before any run starts. If any is wrong, throws Invalid with all diagnostics, each once.
// `runs`: the runs will be made, so each must fit into this machine's memory.
Plan plan_study(const Request& request, bool runs, const Variants& variants = {});

// A part of a study's runs, for one of several machines. The study alone determines the runs of each slice,
// so the machines need not communicate.
struct Slice {
  std::size_t number = 1;  // from 1
  std::size_t count = 1;
};

// "3/8", or "/8" with the number from SLURM_ARRAY_TASK_ID or PARALLEL_SEQ. If `text` is empty: the slice of a
// Slurm array (SLURM_ARRAY_TASK_ID, _MIN, _COUNT and _STEP), or nothing outside an array. Throws Refused.
std::optional<Slice> slice_of(const std::string& text);

// The runs of a slice, by number. Slices have about the same estimated time: each run, the longest first,
// goes to the slice with the least time so far (Graham, Bounds on multiprocessing timing anomalies, 1969: at
// most 4/3 of the optimum). If several runs are the same scenario, only the first run is in a slice.
std::vector<std::size_t> runs_of(const Slice& slice, const std::vector<PlannedRun>& runs);

}  // namespace psim::study
