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

// Huber's loss of an error, in standard deviations.
double huber(double error) {
  const double size = std::abs(error);
  return size <= 1 ? size * size / 2 : size - 0.5;
}

}  // namespace

// The normal equations of a step: matrix * step = direction.
struct Search::Slopes {
  Eigen::MatrixXd of_errors, of_usual;  // of_usual: what the usual values add
  Eigen::VectorXd direction;
};

double Search::Found::error() const { return std::sqrt(mean_square(errors)); }

std::vector<Search::Found> Search::simulate(const std::vector<NetworkValues>& networks) {
  simulated_ += static_cast<int>(networks.size());
  std::vector<std::vector<double>> errors = errors_(networks);
  std::vector<Found> found;
  for (std::size_t i = 0; i < networks.size(); ++i) found.push_back({networks[i], std::move(errors[i])});
  return found;
}

Search::Found Search::best_of(const std::vector<NetworkValues>& networks) {
  const std::vector<Found> all = simulate(networks);
  return *std::ranges::min_element(all, {}, &Found::error);
}

NetworkValues Search::moved(NetworkValues network, std::size_t parameter, double by) const {
  const Parameter& one = parameters_[parameter];
  double& value = network.*one.value;
  value = std::clamp(value * std::exp(by), one.low, one.high);
  return network;
}

// From the usual value, in standard deviations.
double Search::distance(const NetworkValues& network, std::size_t parameter) const {
  const Parameter& one = parameters_[parameter];
  return one.spread == 0 ? 0 : std::log(network.*one.value / one.usual) / one.spread;
}

double Search::loss(const Found& found) const {
  double sum = 0;
  for (std::size_t i = 0; i < usual_.size(); ++i) sum += huber(found.errors[i] / usual_[i]);
  for (std::size_t i = 0; i < parameters_.size(); ++i) sum += std::pow(distance(found.values, i), 2) / 2;
  return sum;
}

Search::Slopes Search::slopes(const Found& at) {
  std::vector<NetworkValues> around;
  const std::size_t count = parameters_.size();
  for (std::size_t i = 0; i < count; ++i) {
    NetworkValues other = moved(at.values, i, parameters_[i].step);
    if (other.*parameters_[i].value == at.values.*parameters_[i].value)
      other = moved(at.values, i, -parameters_[i].step);  // at its highest value
    around.push_back(other);
  }
  const std::vector<Found> changed = simulate(around);
  const auto size = static_cast<Eigen::Index>(count);
  Slopes result{.of_errors = Eigen::MatrixXd::Zero(size, size),
                .of_usual = Eigen::MatrixXd::Zero(size, size),
                .direction = Eigen::VectorXd::Zero(size)};
  for (std::size_t row = 0; row < usual_.size(); ++row) {
    const double error = at.errors[row];
    const double weight = 1 / (usual_[row] * std::max(usual_[row], std::abs(error)));
    Eigen::VectorXd slope(size);
    for (std::size_t i = 0; i < count; ++i) {
      const double by = std::log(around[i].*parameters_[i].value / at.values.*parameters_[i].value);
      slope[static_cast<Eigen::Index>(i)] = (changed[i].errors[row] - error) / by;
    }
    result.of_errors += weight * slope * slope.transpose();
    result.direction -= weight * error * slope;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (parameters_[i].spread == 0) continue;
    const auto index = static_cast<Eigen::Index>(i);
    result.of_usual(index, index) = 1 / std::pow(parameters_[i].spread, 2);
    result.direction[index] -= distance(at.values, i) / parameters_[i].spread;
  }
  return result;
}

Search::Found Search::best(Found best) {
  constexpr int most_rounds = 12;
  constexpr double enough = 0.05;  // of loss
  const auto size = static_cast<Eigen::Index>(parameters_.size());
  for (int round = 0; round < most_rounds; ++round) {
    const Slopes here = slopes(best);
    // The longer the step, the less the slopes hold: three lengths are tried.
    std::vector<NetworkValues> tries;
    for (const double damping : {0.001, 0.3, 3.0}) {
      Eigen::MatrixXd matrix = here.of_errors + here.of_usual;
      matrix.diagonal() += damping * (matrix.diagonal() + Eigen::VectorXd::Constant(size, 1e-9));
      const Eigen::VectorXd step = matrix.ldlt().solve(here.direction);
      NetworkValues next = best.values;
      constexpr double longest = 3;
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        next = moved(next, i, std::clamp(step[static_cast<Eigen::Index>(i)], -longest, longest));
      tries.push_back(next);
    }
    std::vector<Found> found = simulate(tries);
    const auto loss_of = [this](const Found& one) { return loss(one); };
    const auto least = std::ranges::min_element(found, {}, loss_of);
    const double gain = loss(best) - loss(*least);
    if (gain > 0) best = std::move(*least);
    if (gain < enough) break;
  }
  return best;
}

std::vector<double> Search::ranges(const Found& at) {
  constexpr double told = 0.8;  // less than this share of the usual spread is left
  const Slopes here = slopes(at);
  std::vector<double> deviations;
  for (std::size_t i = 0; i < usual_.size(); ++i) deviations.push_back(at.errors[i] / usual_[i]);
  const double scale = std::max(std::sqrt(mean_square(deviations)), 1.0);
  const Eigen::MatrixXd inverse = (here.of_errors / (scale * scale) + here.of_usual).inverse();
  std::vector<double> ranges;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto index = static_cast<Eigen::Index>(i);
    const double left = std::sqrt(inverse(index, index)), spread = parameters_[i].spread;
    const bool is_told = left > 0 && left < (spread > 0 ? told * spread : 0.5);
    ranges.push_back(is_told ? 1.96 * left : HUGE_VAL);
  }
  return ranges;
}

}  // namespace psim::calibrate
