#include "sim/protocol/staleness_weight.hpp"

#include <algorithm>

#include "model/numerics/functions.hpp"

namespace psim {
namespace {

const Setting exponent{.key = "staleness_exponent",
                       .doc = "a in (1 + staleness)^-a.",
                       .value = 0.5,
                       .min = 0,
                       .max = 100,
                       .draws = {"0.5", "1.0"}};
const Setting slope{.key = "staleness_slope",
                    .doc = "a in 1 / (a (staleness - b) + 1).",
                    .value = 10.0,
                    .min = 0,
                    .max = 1e6,
                    .draws = {"0.5", "10.0"}};
const Setting knee{
    .key = "staleness_knee",
    .doc = "b in 1 / (a (staleness - b) + 1): a push that is at most b updates old counts in full.",
    .value = std::int64_t{4},
    .min = 0,
    .max = 1e9,
    .draws = {"1", "4"}};

double inverse(const Settings&, double staleness) { return staleness > 1 ? staleness : 1; }
double polynomial(const Settings& settings, double staleness) {
  return numerics::pow(1 + staleness, settings.of(exponent));
}
double hinge(const Settings& settings, double staleness) {
  return 1 + settings.of(slope) * std::max(0.0, staleness - settings.of(knee));
}

}  // namespace

template <>
std::deque<StalenessWeightRow> built_in_rows() {
  return {{.name = "inverse",
           .doc = "1 / staleness, and 1 for a push that is at most one update old (Zhang et al., IJCAI 2016)",
           .divisor = inverse},
          {.name = "polynomial",
           .doc = "(1 + staleness)^-`staleness_exponent` (FedAsync: Xie et al. 2019)",
           .settings = {&exponent},
           .divisor = polynomial},
          {.name = "hinge",
           .doc = "1 up to `staleness_knee` updates, then 1 / (`staleness_slope` (staleness - "
                  "`staleness_knee`) + 1) (FedAsync: Xie et al. 2019)",
           .settings = {&slope, &knee},
           .divisor = hinge}};
}

bool StalenessRule::is_beyond(std::int64_t staleness) const { return limit && staleness > *limit; }

double StalenessRule::divisor(std::int64_t staleness) const {
  const auto age = static_cast<double>(staleness);
  const double divisor = function ? (*function)->divisor(settings, age) : 1;
  const bool is_damped = beyond == TooStale::damp && is_beyond(staleness);
  return is_damped ? divisor * (1 + age - static_cast<double>(*limit)) : divisor;
}

}  // namespace psim
