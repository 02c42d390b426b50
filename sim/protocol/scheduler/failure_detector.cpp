#include "sim/protocol/scheduler/failure_detector.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/numerics/functions.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

// The standard deviations from the mean gap to the silence with this phi.
double deviations_at(double threshold) {
  double low = 0, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    const double phi = -numerics::log10(0.5 * numerics::erfc(z / std::sqrt(2.0)));
    (phi < threshold ? low : high) = z;
  }
  return high;
}

}  // namespace

FailureDetector::FailureDetector(DetectorSpec spec)
    : spec_(spec),
      deviations_(spec.kind == DetectorKind::phi_accrual ? deviations_at(spec.threshold) : 0),
      suspect_at_(spec.timeout) {}

void FailureDetector::heard(double now) {
  expects(now >= last_, "time does not run backwards");
  constexpr std::size_t window = 100;  // gaps
  if (last_ > 0) gaps_.push_back(now - last_);
  if (gaps_.size() > window) gaps_.pop_front();
  last_ = now;
  suspect_at_ = now + longest_silence();
}

double FailureDetector::longest_silence() const {
  if (spec_.kind == DetectorKind::timeout || gaps_.size() < 2) return spec_.timeout;
  const auto n = static_cast<double>(gaps_.size());
  const double mean = std::accumulate(gaps_.begin(), gaps_.end(), 0.0) / n;
  double variance = 0;
  for (const double gap : gaps_) variance += (gap - mean) * (gap - mean) / n;
  // Equal gaps would lead to a suspicion at once, so their standard deviation counts as at least a tenth of
  // their mean.
  const double deviation = std::max(std::sqrt(variance), mean / 10);
  return mean + deviations_ * deviation;
}

}  // namespace psim
