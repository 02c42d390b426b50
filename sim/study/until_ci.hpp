// psim compare --until-ci: chooses the number of seeds.
#pragma once

#include <functional>

#include "analysis/study/study.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// The seeds that the study needs so that the interval of every arm's ratio to the baseline has at most this
// half-width, as a share of the ratio. Ten seeds decide once (statistics/sample_size.hpp): a check after
// every seed would stop at an interval that is narrow by chance.
//
// `make` makes all runs of a plan and returns their results. Throws Refused if no feasible number of seeds is
// enough.
struct EnoughSeeds {
  Request request;  // with the seeds that it needs
  Json record;      // the requested width and the decision, for the manifest
};
EnoughSeeds with_enough_seeds(const Request& request, double half_width, const Variants& variants,
                              const std::function<analysis::Study(Plan&)>& make);

}  // namespace psim::study
