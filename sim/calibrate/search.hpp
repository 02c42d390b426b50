// Searches for the network with which simulations agree with what was measured. Calibration by simulation
// follows McDonald et al. (IPDPS Workshops 2024); the search is deterministic.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

// A value that the search changes, by factors.
struct Parameter {
  double NetworkValues::*value;
  double low, high;
  double scale = 1;  // the first and the last step, in powers of those of a parameter with scale 1
};

class Search {
 public:
  // The relative errors of each network, as logarithms of simulated over measured.
  using Errors = std::function<std::vector<std::vector<double>>(const std::vector<NetworkValues>&)>;
  explicit Search(Errors errors) : errors_(std::move(errors)) {}

  struct Found {
    NetworkValues values = {};
    std::vector<double> errors = {};
    double error() const;  // root mean square
  };

  // Compass search: tries a step in both directions of each parameter, and halves the steps when none is
  // better, until they are below `finest`. Ends after 40 rounds at the latest.
  Found best(NetworkValues from, std::span<const Parameter> parameters, double finest = 0.004);

  // For each parameter, half the width of the 95 % interval of its logarithm, from the errors that remain and
  // from how they change with all parameters. Infinite: the errors do not tell it.
  std::vector<double> ranges(const Found& at, std::span<const Parameter> parameters);

  // A network without a search.
  Found simulate(const NetworkValues& network) { return {network, errors_of({network}).front()}; }

  int simulated() const { return simulated_; }  // networks

 private:
  std::vector<std::vector<double>> errors_of(const std::vector<NetworkValues>& networks);

  Errors errors_;
  int simulated_ = 0;
};

}  // namespace psim::calibrate
