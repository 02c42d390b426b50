// Functions over arrays. The compiler may compute several elements at once, which changes no bits.
#pragma once

#include <span>

namespace psim::numerics {

// Replaces each x by the function's value; the same bits as exp, tanh and sigmoid of functions.hpp.
void exp_of_each(std::span<float> x);
void exp_of_each(std::span<double> x);
void tanh_of_each(std::span<float> x);
void tanh_of_each(std::span<double> x);
void sigmoid_of_each(std::span<float> x);
void sigmoid_of_each(std::span<double> x);

// The sum, in the precision of the elements and in a fixed order. Sixteen partial sums start at 0, and
// element i is added to sum i % 16, in the order of i. Then the second half of the sums is added to the
// first, until one is left: sum j += sum j + 8, then + 4, + 2, + 1.
float sum(std::span<const float> x);
double sum(std::span<const double> x);

}  // namespace psim::numerics
