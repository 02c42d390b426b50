// psim compare --until-ci: as many seeds as it takes.
#pragma once

#include <functional>

#include "analysis/study/study.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// The seeds that the study needs so that the interval of every arm's ratio to the baseline has at most this
// half-width, as a share of the ratio. Ten seeds decide, once (statistics/sample_size.hpp): who looked after
// every seed would stop at an interval that is narrow by chance.
//
// `make` makes all runs of a plan and returns what they gave. Throws Refused where no number of seeds that is
// feasible would do.
struct EnoughSeeds {
  Request request;  // with the seeds that it takes
  Json record;      // what was asked for and decided, for the manifest
};
EnoughSeeds with_enough_seeds(const Request& request, double half_width, const Variants& variants,
                              const std::function<analysis::Study(Plan&)>& make);

}  // namespace psim::study
