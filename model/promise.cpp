#include "model/promise.hpp"

#include <array>
#include <string_view>

namespace psim {
namespace {

constexpr std::array<std::string_view, 3> subjects{"clock_gap", "age", "pushes"};  // in the order of About

}  // namespace

Promise::Promise(const std::string& text, const Numbers& numbers)
    : formula_(text, {"clock_gap", "age", "pushes", "workers", "k", "staleness"}), numbers_(numbers) {
  int used = 0;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (!formula_.uses(subjects[i])) continue;
    about_ = static_cast<About>(i);
    ++used;
  }
  if (used != 1)
    throw FormulaMistake{0, text.size(), "a promise uses exactly one of clock_gap, age and pushes",
                         "for example \"clock_gap <= staleness\""};
}

bool Promise::holds(std::int64_t value) const {
  const auto is = static_cast<double>(value);
  return formula_.holds({is, is, is, static_cast<double>(numbers_.workers), static_cast<double>(numbers_.k),
                         static_cast<double>(numbers_.staleness)});
}

}  // namespace psim
