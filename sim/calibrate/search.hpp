// Searches for the network with which simulations agree with what was measured. Calibration by simulation
// follows McDonald et al. (IPDPS Workshops 2024). The search is deterministic.
//
// It takes Gauss-Newton steps to the most probable values. Errors have Huber's loss ("Robust estimation of a
// location parameter", Annals of Mathematical Statistics 1964), so a run that psim's model does not fit has a
// bounded pull. A value that the runs hardly tell stays near its usual value.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

// A value that the search changes. All of them are positive, and the search works with their logarithms.
struct Parameter {
  double NetworkValues::*value;
  double low, high;
  double step = 0.1;  // of the differences that give slopes
  double spread = 0;  // standard deviation around its usual value; 0: every value is as likely
  double usual = 1;
};

class Search {
 public:
  // The relative errors of each network, as logarithms of simulated over measured.
  using Errors = std::function<std::vector<std::vector<double>>(const std::vector<NetworkValues>&)>;
  // `usual`: the standard deviation of each error that psim's model leaves. Larger errors count less.
  Search(Errors errors, std::vector<double> usual, std::vector<Parameter> parameters)
      : errors_(std::move(errors)), usual_(std::move(usual)), parameters_(std::move(parameters)) {}

  struct Found {
    NetworkValues values = {};
    std::vector<double> errors = {};
    double error() const;  // root mean square
  };

  // The most probable network. The search begins with `best` and takes at most 12 rounds. A round simulates
  // three networks more than there are parameters.
  Found best(Found best);

  // For each parameter, half the width of the 95 % interval of its logarithm, from the errors that remain and
  // from how they change with all parameters. Infinite: the errors hardly tell it.
  std::vector<double> ranges(const Found& at);

  // The network with the least error of some.
  Found best_of(const std::vector<NetworkValues>& networks);

  int simulated() const { return simulated_; }  // networks

 private:
  struct Slopes;
  std::vector<Found> simulate(const std::vector<NetworkValues>& networks);
  double loss(const Found& found) const;
  Slopes slopes(const Found& at);
  NetworkValues moved(NetworkValues network, std::size_t parameter, double by) const;
  double distance(const NetworkValues& network, std::size_t parameter) const;

  Errors errors_;
  std::vector<double> usual_;
  std::vector<Parameter> parameters_;
  int simulated_ = 0;
};

}  // namespace psim::calibrate
