// When a node is suspected to be down, given the dates of its messages. Pure.
#pragma once

#include <cstdint>
#include <deque>

namespace psim {

enum class DetectorKind : std::uint8_t { timeout, phi_accrual };

struct DetectorSpec {
  DetectorKind kind = DetectorKind::timeout;
  double timeout = 2;    // timeout: seconds of silence; phi-accrual: for the first gap
  double threshold = 8;  // phi-accrual
};

class FailureDetector {
 public:
  explicit FailureDetector(DetectorSpec spec);
  void heard(double now);
  // The date of the suspicion, if no message comes before it. phi-accrual: the date when the probability of
  // such a long silence of a live node, under a normal distribution of the last gaps, falls below
  // 10^-threshold (Hayashibara et al., SRDS 2004, equations 3 to 5).
  double suspect_at() const { return suspect_at_; }

 private:
  double longest_silence() const;

  DetectorSpec spec_;
  double deviations_;  // phi-accrual
  double last_ = 0;
  double suspect_at_;
  std::deque<double> gaps_;
};

}  // namespace psim
