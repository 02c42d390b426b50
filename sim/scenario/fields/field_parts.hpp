// What the declaration of a field says of it after its sentence, in any order.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

// The range of its values: with both bounds, without `min`, without `max`.
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
inline void filled(FieldInfo& field) { field.filled = true; }

// It has a meaning only when the choice `key` is one of `names`.
inline auto when(std::string_view key, std::vector<std::string_view> names) {
  return [=](FieldInfo& field) { field.when_key = key, field.when = names; };
}
inline void with_servers(FieldInfo& field) { when("architecture.kind", {"parameter-server"})(field); }
inline auto only(Need need) {
  return [need = std::move(need)](FieldInfo& field) { field.need = need; };
}
// What stands for it where it is absent.
inline auto otherwise(std::string_view text) {
  return [text](FieldInfo& field) { field.default_text = text; };
}

}  // namespace psim
