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

double Search::error_of(const NetworkValues& network) {
  return std::sqrt(mean_square(errors_of({network}).front()));
}

NetworkValues Search::best(NetworkValues at, std::span<const Parameter> parameters, double finest) {
  constexpr int most_rounds = 40;
  double best = mean_square(errors_of({at}).front()), step = std::log(1.6);
  for (int round = 0; round < most_rounds && step > finest; ++round) {
    std::vector<NetworkValues> around;
    for (const Parameter& parameter : parameters) {
      for (const double by : {step, -step}) around.push_back(moved(at, parameter, by));
    }
    const std::vector<std::vector<double>> errors = errors_of(around);
    std::size_t found = around.size();
    for (std::size_t i = 0; i < around.size(); ++i) {
      if (mean_square(errors[i]) < best) best = mean_square(errors[i]), found = i;
    }
    if (found < around.size()) at = around[found];
    else step /= 2;
  }
  return at;
}

std::vector<double> Search::ranges(const NetworkValues& at, std::span<const Parameter> parameters) {
  constexpr double by = 0.1, least_error = 0.01;
  std::vector<NetworkValues> around{at};
  for (const Parameter& parameter : parameters) around.push_back(moved(at, parameter, by));
  const std::vector<std::vector<double>> errors = errors_of(around);
  const auto rows = static_cast<Eigen::Index>(errors[0].size()), columns = std::ssize(parameters);
  Eigen::MatrixXd slopes(rows, columns);
  for (Eigen::Index c = 0; c < columns; ++c) {
    const auto index = static_cast<std::size_t>(c);
    const double before = at.*parameters[index].value, after = around[index + 1].*parameters[index].value;
    for (Eigen::Index r = 0; r < rows; ++r)
      slopes(r, c) =
          (errors[index + 1][static_cast<std::size_t>(r)] - errors[0][static_cast<std::size_t>(r)]) /
          std::log(after / before);
  }
  const double error = std::max(std::sqrt(mean_square(errors[0])), least_error);
  const Eigen::MatrixXd inverse = (slopes.transpose() * slopes).inverse();
  std::vector<double> ranges;
  for (Eigen::Index c = 0; c < columns; ++c) {
    const double variance = inverse(c, c);
    ranges.push_back(variance > 0 && std::isfinite(variance) ? 1.96 * error * std::sqrt(variance) : HUGE_VAL);
  }
  return ranges;
}

}  // namespace psim::calibrate
