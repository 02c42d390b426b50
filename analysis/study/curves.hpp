// The loss curves of a study, over the seeds of each arm.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/statistics/bands.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

// Of the runs of a cell, or of several that hold the same runs.
struct MeanCurve {
  std::string label;                        // of the arm, or "a or b"
  std::vector<statistics::BandPoint> band;  // empty where the runs have no curves in common
  std::size_t runs = 0;
  std::size_t diverged = 0;  // runs whose loss ceased to be a number
  bool goes_back = false;    // some run does on this axis: updates do where a crash loses some; no band then
};

struct ConditionCurves {
  std::string label;  // "workers = 8"; empty without conditions
  std::vector<MeanCurve> curves;
};

// What a curve shows, and along what: keys of a summary's curve. Points then hold other things than times.
struct CurveAxes {
  const char *along = "sim_time_s", *shows = "loss";
};

// Of one cell.
MeanCurve mean_curve(const Cell& cell, std::size_t points, const CurveAxes& axes);

// By condition. Along simulated time a curve ends where the last of its runs ends, because a run that has
// ended keeps its last value; along another axis where the first one ends. It ends where a run diverges.
std::vector<ConditionCurves> mean_curves(const Study& study, std::size_t points, const CurveAxes& axes = {});

}  // namespace psim::analysis
