#include "model/numerics/matrices.hpp"

#include <array>
#include <cstddef>

#include "model/numerics/kernels.hpp"

namespace psim::numerics {
namespace {

template <double of(double), class Scalar>
void replace_each(std::span<Scalar> x) {
  Scalar* const data = x.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<Scalar>(of(static_cast<double>(data[i])));
}

template <class Scalar>
Scalar sum_of(std::span<const Scalar> x) {
  constexpr std::size_t width = 16;
  std::array<Scalar, width> part{};
  std::size_t begin = 0;
  for (; begin + width <= x.size(); begin += width) {
    for (std::size_t j = 0; j < width; ++j) part[j] += x[begin + j];
  }
  for (std::size_t j = 0; begin + j < x.size(); ++j) part[j] += x[begin + j];
  for (std::size_t half = width / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) part[j] += part[j + half];
  }
  return part[0];
}

}  // namespace

void exp_of_each(std::span<float> x) { replace_each<kernels::exp>(x); }
void exp_of_each(std::span<double> x) { replace_each<kernels::exp>(x); }
void tanh_of_each(std::span<float> x) { replace_each<kernels::tanh>(x); }
void tanh_of_each(std::span<double> x) { replace_each<kernels::tanh>(x); }
void sigmoid_of_each(std::span<float> x) { replace_each<kernels::sigmoid>(x); }
void sigmoid_of_each(std::span<double> x) { replace_each<kernels::sigmoid>(x); }

float sum(std::span<const float> x) { return sum_of(x); }
double sum(std::span<const double> x) { return sum_of(x); }

}  // namespace psim::numerics
