// A part of a study's runs, for one of several machines. The study alone determines the runs of each slice,
// so the machines need not communicate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/study/plan.hpp"

namespace psim::study {

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
