// The names of an enumeration's values, taken from its declaration, so that they are written only once.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace psim {

namespace detail {

// GCC: "... [with auto Value = psim::Spent::idle; ...]"; Clang: "... [Value = psim::Spent::idle]". A number
// in parentheses stands for a value that has no name.
template <auto Value>
consteval std::string_view name_of_value() {
  constexpr std::string_view mark = "Value = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(mark) + mark.size());
  text = text.substr(0, text.find_first_of(";]"));
  return text.starts_with('(') ? std::string_view() : text.substr(text.rfind(':') + 1);
}

}  // namespace detail

// The names in the order of the values, which count up from 0; at most 64.
template <class Enum>
consteval auto enum_names() {
  constexpr auto all = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{detail::name_of_value<static_cast<Enum>(i)>()...};
  }
  (std::make_index_sequence<64>());
  constexpr std::size_t count = [&] {
    std::size_t n = 0;
    while (n < all.size() && !all[n].empty()) ++n;
    return n;
  }();
  static_assert(count > 0 && count < all.size());
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) names[i] = all[i];
  return names;
}

}  // namespace psim
