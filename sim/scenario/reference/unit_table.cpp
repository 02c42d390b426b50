// Text about the units of a scenario's quantities, from the table that the reader uses.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

template <class Quantity>
std::string explained(std::string_view name) {
  using U = Unit<Quantity>;
  const auto found = std::ranges::find(U::names, name, &UnitName::name);
  if (found == std::end(U::names)) return {};
  const std::string is =
      found == U::names ? ", as results have it"
                        : fmt::format(": {} {}", shortest(found->times / found->divided), U::names[0].name);
  return fmt::format("{}: a unit of {}{}, for example \"{}\"\n", name, U::what, is, U::example);
}

}  // namespace

std::string explain_unit(std::string_view name) {
  return explained<Seconds>(name) + explained<Bytes>(name) + explained<BytesPerSecond>(name) +
         explained<FlopsPerSecond>(name) + explained<Watts>(name);
}

std::string unit_table() {
  return "| quantity | example | units |\n|---|---|---|\n" + row<Seconds>() + row<Bytes>() +
         row<BytesPerSecond>() + row<FlopsPerSecond>() + row<Watts>() +
         "\n`bps` are bits per second, `Bps` bytes per second, `f` floating-point operations per second. "
         "Fields of\ntype integer or number need a bare number.\n";
}

}  // namespace psim
