// How a type of event declares its columns.
#pragma once

#include <string_view>

namespace psim {

// A column: its name, with the unit where it has one; what it says; and the member that holds it.
template <class Member>
struct Field {
  std::string_view name, meaning;
  Member member;
};
template <class Member>
Field(const char*, const char*, Member) -> Field<Member>;

inline constexpr auto shard_meaning = "of the parameters";
inline constexpr auto push_meaning = "which one: the worker's pushes to this shard count from 0";

}  // namespace psim
