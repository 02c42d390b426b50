// Prints a hash of the bits of each function of model/numerics, one line a function: bits COUNT. levels.sh
// compiles this program for several processors and compilers, and compares the lines.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/base/random.hpp"
#include "model/numerics/functions.hpp"
#include "model/numerics/matrices.hpp"
#include "model/numerics/product.hpp"

namespace {

using psim::mix;
namespace numerics = psim::numerics;

// Processors give different bits to what is not a number; all of them count as one.
template <class Bits, class Scalar>
std::uint64_t after(std::uint64_t hash, Scalar x) {
  Bits bits = ~Bits{0};
  if (!std::isnan(x)) std::memcpy(&bits, &x, sizeof x);
  return mix(hash ^ bits);
}

// Half of the inputs have any bits; the other half are of the sizes that a run meets.
double input(std::uint64_t i) {
  const std::uint64_t draw = mix(i + 0x9e3779b97f4a7c15U);
  if (i % 2 == 0)
    return (static_cast<double>(draw >> 11U) * 0x1p-53 - 0.5) * static_cast<double>(1U << (i / 2 % 12));
  double x = 0;
  std::memcpy(&x, &draw, sizeof x);
  return x;
}

struct Function {
  const char* name;
  double (*of)(double);
};

void hash_functions(std::uint64_t count) {
  const Function functions[] = {
      {"exp", numerics::exp},
      {"log", numerics::log},
      {"log1p", numerics::log1p},
      {"log2", numerics::log2},
      {"log10", numerics::log10},
      {"tanh", numerics::tanh},
      {"erfc", numerics::erfc},
      {"sin_of_turns", numerics::sin_of_turns},
      {"cos_of_turns", numerics::cos_of_turns},
      {"pow", [](double x) { return numerics::pow(std::abs(x), 0.75) + numerics::pow(1.0 + 0x1p-20, x); }},
      {"exp of float", [](double x) { return static_cast<double>(numerics::exp(static_cast<float>(x))); }}};
  for (const Function& function : functions) {
    std::uint64_t hash = 0;
    for (std::uint64_t i = 0; i < count; ++i) hash = after<std::uint64_t>(hash, function.of(input(i)));
    std::printf("%s %016llx\n", function.name, static_cast<unsigned long long>(hash));
  }
}

template <class Bits, class Scalar>
void hash_arrays(const char* name, std::uint64_t count) {
  std::uint64_t hash = 0;
  std::vector<Scalar> x;
  for (std::uint64_t i = 0; i < count; i += x.size()) {
    x.resize(mix(i) % 300 + 1);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<Scalar>(input(2 * (i + j)));
    hash = after<Bits>(hash, numerics::sum(x));
    const std::span<Scalar> all(x);
    if (i % 3 == 0) numerics::exp_of_each(all);
    else if (i % 3 == 1) numerics::tanh_of_each(all);
    else numerics::sigmoid_of_each(all);
    for (const Scalar value : x) hash = after<Bits>(hash, value);
  }
  std::printf("arrays of %s %016llx\n", name, static_cast<unsigned long long>(hash));
}

template <class Bits, class Scalar>
void hash_products(const char* name, std::uint64_t count) {
  std::uint64_t hash = 0, step = 0;
  for (std::uint64_t done = 0; done < count; ++step) {
    const std::size_t rows = mix(step) % 40 + 1, steps = mix(step + 1) % 300, lanes = mix(step + 2) % 150 + 1;
    std::vector<Scalar> a(rows * steps + rows), b(steps * lanes), c(rows * lanes);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<Scalar>(input(2 * (done + i)));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<Scalar>(input(2 * (done + i) + 1 - i % 2));
    std::vector<const Scalar*> rows_of_b;
    for (std::size_t k = 0; k < steps; ++k) rows_of_b.push_back(b.data() + k * lanes);
    numerics::multiply(numerics::Product<Scalar>{.rows = rows,
                                                 .steps = steps,
                                                 .lanes = lanes,
                                                 .a = a.data(),
                                                 .a_row = static_cast<std::ptrdiff_t>(steps),
                                                 .a_step = 1,
                                                 .b = rows_of_b.data(),
                                                 .c = c.data(),
                                                 .c_row = static_cast<std::ptrdiff_t>(lanes),
                                                 .first = a.data() + rows * steps});
    for (const Scalar value : c) hash = after<Bits>(hash, value);
    done += rows * steps * lanes + 1;
  }
  std::printf("products of %s %016llx\n", name, static_cast<unsigned long long>(hash));
}

void hash_draws(std::uint64_t count) {
  psim::Stream stream(3, "bits");
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < count; i += 4) {
    for (const double x : {stream.normal(), stream.gamma(0.3 + static_cast<double>(i % 7)),
                           stream.exponential(), stream.pareto(1.5)})
      hash = after<std::uint64_t>(hash, x);
  }
  std::printf("draws %016llx\n", static_cast<unsigned long long>(hash));
}

}  // namespace

int main(int, char** arguments) {
  const std::uint64_t count = std::strtoull(arguments[1], nullptr, 10);
  hash_functions(count);
  hash_arrays<std::uint32_t, float>("float", count);
  hash_arrays<std::uint64_t, double>("double", count);
  hash_products<std::uint32_t, float>("float", count);
  hash_products<std::uint64_t, double>("double", count);
  hash_draws(count);
}
