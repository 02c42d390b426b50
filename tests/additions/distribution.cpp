// A distribution of step times: Weibull, whose tail is between an exponential's and a constant's.
#include <cmath>

#include "sim/scenario/spec/distributions.hpp"

namespace {

const psim::Setting shape{.key = "shape",
                          .doc = "Weibull's shape; 1 is exponential, more varies less.",
                          .value = 2.0,
                          .min = 0.1,
                          .max = 100,
                          .draws = {"1.5", "4.0"}};

const psim::Addition<psim::DistributionRow> weibull{{.name = "weibull",
                                                     .doc = "Weibull with exponent `shape` (Weibull 1951)",
                                                     .settings = {&shape},
                                                     .draw = [](psim::StepDraw& d) {
                                                       return std::pow(d.stream.exponential(), 1 / d(shape)) /
                                                              std::tgamma(1 + 1 / d(shape));
                                                     }}};

}  // namespace
