// A condition that a scenario states for every run of its consistency model, as an expression about one of
// three numbers: `clock_gap <= staleness`. `psim verify` checks each event that has such a number.
#pragma once

#include <cstdint>
#include <string>

#include "model/formula.hpp"

namespace psim {

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
