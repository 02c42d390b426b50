#include "sim/calibrate/search.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <utility>

namespace psim::calibrate {
namespace {

double mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (const double one : errors) sum += one * one;
  return sum / static_cast<double>(errors.size());
}

NetworkValues moved(NetworkValues network, const Parameter& parameter, double by) {
  double& value = network.*parameter.value;
  value = std::clamp(value * std::exp(by * parameter.scale), parameter.low, parameter.high);
  return network;
}

}  // namespace

std::vector<std::vector<double>> Search::errors_of(const std::vector<NetworkValues>& networks) {
  simulated_ += static_cast<int>(networks.size());
  return errors_(networks);
}

double Search::Found::error() const { return std::sqrt(mean_square(errors)); }

Search::Found Search::best(NetworkValues from, std::span<const Parameter> parameters, double finest) {
  constexpr int most_rounds = 40;
  Found best = simulate(from);
  double step = std::log(1.6);
  for (int round = 0; round < most_rounds && step > finest; ++round) {
    std::vector<NetworkValues> around;
    for (const Parameter& parameter : parameters) {
      for (const double by : {step, -step}) around.push_back(moved(best.values, parameter, by));
    }
    const std::vector<std::vector<double>> errors = errors_of(around);
    const auto least = std::ranges::min_element(errors, {}, mean_square);
    if (mean_square(*least) < mean_square(best.errors))
      best = {around[static_cast<std::size_t>(least - errors.begin())], *least};
    else step /= 2;
  }
  return best;
}

std::vector<double> Search::ranges(const Found& at, std::span<const Parameter> parameters) {
  constexpr double by = 0.1, least_error = 0.01;
  std::vector<NetworkValues> around;
  for (const Parameter& parameter : parameters) around.push_back(moved(at.values, parameter, by));
  const std::vector<std::vector<double>> errors = errors_of(around);
  const auto rows = static_cast<Eigen::Index>(at.errors.size()), columns = std::ssize(parameters);
  Eigen::MatrixXd slopes(rows, columns);
  for (Eigen::Index c = 0; c < columns; ++c) {
    const auto index = static_cast<std::size_t>(c);
    const double before = at.values.*parameters[index].value, after = around[index].*parameters[index].value;
    for (Eigen::Index r = 0; r < rows; ++r)
      slopes(r, c) = (errors[index][static_cast<std::size_t>(r)] - at.errors[static_cast<std::size_t>(r)]) /
                     std::log(after / before);
  }
  const double error = std::max(at.error(), least_error);
  const Eigen::MatrixXd inverse = (slopes.transpose() * slopes).inverse();
  std::vector<double> ranges;
  for (Eigen::Index c = 0; c < columns; ++c) {
    const double variance = inverse(c, c);
    ranges.push_back(variance > 0 && std::isfinite(variance) ? 1.96 * error * std::sqrt(variance) : HUGE_VAL);
  }
  return ranges;
}

}  // namespace psim::calibrate
