// Properties of a field, which its declaration lists after its sentence, in any order.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

// The range of the values: including both bounds, excluding `min`, excluding `max`.
inline auto within(double min, double max) {
  return [=](FieldInfo& field) { field.min = min, field.max = max; };
}
inline auto above(double min, double max) {
  return [=](FieldInfo& field) { within(min, max)(field), field.above_min = true; };
}
inline auto below(double min, double max) {
  return [=](FieldInfo& field) { within(min, max)(field), field.below_max = true; };
}

inline void required(FieldInfo& field) { field.required = true; }
inline auto at_least(std::size_t elements) {
  return [elements](FieldInfo& field) { field.fewest = elements; };
}
inline void filled(FieldInfo& field) { at_least(1)(field); }

inline void or_number(FieldInfo& field) { field.or_number = true; }

// The field has a meaning only if the choice `key` is one of `names`.
inline auto when(std::string_view key, std::vector<std::string_view> names) {
  return [=](FieldInfo& field) { field.when_key = key, field.when = names; };
}
inline void with_servers(FieldInfo& field) { when("architecture.kind", {"parameter-server"})(field); }
inline auto only(Need need) {
  return [need = std::move(need)](FieldInfo& field) { field.need = need; };
}
// Describes the default of an absent field.
inline auto otherwise(std::string_view text) {
  return [text](FieldInfo& field) { field.default_text = text; };
}

}  // namespace psim
