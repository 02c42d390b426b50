// The units of a scenario's quantities, for people: made from the table that the reader uses.
#include <fmt/format.h>

#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {
namespace {

// "`s`, `ms` = 0.001 s"
template <class Quantity>
std::string row() {
  using U = Unit<Quantity>;
  std::string names;
  for (const UnitName& unit : U::names) {
    if (&unit == U::names) {
      names = fmt::format("`{}`", unit.name);
      continue;
    }
    const double value = unit.times / unit.divided;
    const std::string number = value < 1e3 ? shortest(value) : fmt::format("{:.0f}", value);
    names += fmt::format(", `{}` = {} {}", unit.name, number, U::names[0].name);
  }
  return fmt::format("| {} | `\"{}\"` | {} |\n", U::what.substr(2), U::example, names);
}

}  // namespace

std::string unit_table() {
  return "| quantity | example | units |\n|---|---|---|\n" + row<Seconds>() + row<Bytes>() +
         row<BytesPerSecond>() + row<FlopsPerSecond>() + row<Watts>() +
         "\n`bps` are bits per second, `Bps` bytes per second, `f` floating-point operations per second. A "
         "field whose\n"
         "type is integer or number takes a bare number.\n";
}

}  // namespace psim
