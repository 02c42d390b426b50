// An expression that a user writes, over names with numbers from psim: `clock - min_clock <= staleness`.
// Arithmetic with + - * / ^, comparisons, &&, ||, ?: and functions (the language of muParser,
// https://beltoforion.de/en/muparser). True is 1, false is 0. The functions of one number are abs, sqrt, exp,
// ln and log (both natural), log2, log10, tanh, sign, rint, floor, ceil and not. pow(a, b) is a ^ b; min,
// max, sum and avg take any count of numbers. All are fixed sequences of IEEE operations (model/numerics), so
// a value has the same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
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

// A condition that a scenario states for every run of its consistency model, as an expression about one of
// three numbers: `clock_gap <= staleness`. `psim verify` checks each event that has such a number.
class Promise {
 public:
  enum class About : std::uint8_t {
    clock_gap,  // how many clocks a worker is ahead of the slowest one when it starts a step
    age,        // how many updates old a push is when it is applied
    pushes,     // in an update
  };
  // Numbers that do not change within a run.
  struct Numbers {
    std::int64_t workers = 1, k = 1, staleness = 0;
  };

  // Throws FormulaMistake.
  Promise(const std::string& text, const Numbers& numbers);

  About about() const { return about_; }
  bool holds(std::int64_t value) const;
  const std::string& text() const { return formula_.text(); }

 private:
  Formula formula_;
  Numbers numbers_;
  About about_ = About::clock_gap;
};

}  // namespace psim
