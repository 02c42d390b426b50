// The loss curves of a study, over the seeds of each arm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/render/svg_chart.hpp"
#include "analysis/statistics/sample.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

// The mean curve of a cell, or of several cells with the same runs.
struct MeanCurve {
  std::string label;                        // the arm, or "a or b"
  std::vector<statistics::BandPoint> band;  // empty if the curves of the runs do not overlap
  std::size_t runs = 0;
  std::size_t diverged = 0;  // number of runs whose loss became no number
  bool goes_back = false;  // some run goes back on this axis (updates do if a crash loses some); then no band
};

struct ConditionCurves {
  std::string label;  // "workers = 8"; empty without conditions
  std::vector<MeanCurve> curves;
};

// The two axes of a curve: keys of `curve` in a summary. `time_s` of a point then holds the value of `along`.
struct CurveAxes {
  const char *along = "sim_time_s", *shows = "loss";
};

// The curve of one cell.
MeanCurve mean_curve(const Cell& cell, std::size_t points, const CurveAxes& axes);

// The curves by condition. Along simulated time a curve ends with the last of its runs, because a finished
// run keeps its last value; along another axis it ends with the first. A curve also ends where a run
// diverges.
std::vector<ConditionCurves> mean_curves(const Study& study, std::size_t points, const CurveAxes& axes = {});

// The curves that have a band, over simulated time. `shows`: loss or accuracy.
Plot plot_of(const Study& study, const ConditionCurves& condition, std::string_view shows);

}  // namespace psim::analysis
