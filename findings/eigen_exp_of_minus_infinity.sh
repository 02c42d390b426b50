#!/bin/sh
# Eigen 3.4.0: exp of an array of doubles depends on an entry's place. Entries that fill whole vectors of the processor
# are clamped: exp(-inf) and exp(-1000) are 5.6e-309, not 0. The entries left over at the end are computed by the C
# library, and are 0. Between -5 and 5 about every eighth value differs in its last bit for the same reason. A softmax
# with masked entries (-inf) so gives them a probability, and a sum of equal entries depends on their number.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libeigen3-dev=3.4.0-4
program places -I"$folder/usr/include/eigen3" <<'CPP'
#include <Eigen/Dense>
#include <cstdio>
#include <limits>
int main() {
  for (double x : {-std::numeric_limits<double>::infinity(), -1000., 1.}) {
    Eigen::ArrayXd y = Eigen::ArrayXd::Constant(3, x).exp();  // two doubles fill a vector of SSE2
    std::printf("exp(%g): %.3g %.3g %.3g\n", x, y[0], y[1], y[2]);
  }
  int differ = 0;
  for (int i = 0; i < 100000; ++i) {
    Eigen::ArrayXd y = Eigen::ArrayXd::Constant(3, -5 + i * 1e-4).exp();
    differ += y[0] != y[2];
  }
  std::printf("%s\n", differ > 1000 ? "thousands of 100000 equal inputs have different outputs" : "equal");
}
CPP
expect "$folder/places" <<'OUT'
exp(-inf): 5.56e-309 5.56e-309 0
exp(-1000): 5.56e-309 5.56e-309 0
exp(1): 2.72 2.72 2.72
thousands of 100000 equal inputs have different outputs
OUT
