// An expression that a user writes, over names with numbers from psim: `clock - min_clock <= staleness`.
// Arithmetic with + - * / ^, comparisons, &&, ||, ?: and functions (the language of muParser,
// https://beltoforion.de/en/muparser). True is 1, false is 0. The functions of one number are abs, sqrt, exp,
// ln and log (both natural), log2, log10, tanh, sign, rint, floor, ceil and not. pow(a, b) is a ^ b; min,
// max, sum and avg take any count of numbers. All are fixed sequences of IEEE operations (model/numerics), so
// a value has the same bits everywhere.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace psim {

// The mistake in a text that should be an expression: `length` bytes from byte `at` on.
struct FormulaMistake {
  std::size_t at = 0, length = 0;
  std::string message, help;
};

class Formula {
 public:
  // `names`: the names that the expression may use. Throws FormulaMistake.
  Formula(std::string text, std::vector<std::string> names);

  // The value of the expression; `values` has the values of the names, in their order. Not for several
  // threads at once.
  double of(std::span<const double> values) const;
  double of(std::initializer_list<double> values) const {
    return of(std::span(values.begin(), values.size()));
  }
  // Whether the value is a number other than 0.
  bool holds(std::span<const double> values) const;
  bool holds(std::initializer_list<double> values) const {
    return holds(std::span(values.begin(), values.size()));
  }

  const std::string& text() const;
  bool uses(std::string_view name) const;
  // "clock = 3, min_clock = 1": the names in the expression, with their values.
  std::string with(std::span<const double> values) const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace psim
