// How a type of event declares its columns.
#pragma once

#include <cstdint>
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

// How an event stands on the course of its actor (course.hpp). Of a type that declares none: step.
enum class OnCourse : std::uint8_t {
  step,   // the actor goes on from it
  word,   // it says something, and is at what it was at
  detail  // tells more of another event of the same moment
};
template <class T>
constexpr OnCourse on_course() {
  if constexpr (requires { T::on_course; }) return T::on_course;
  else return OnCourse::step;
}

inline constexpr auto shard_meaning = "of the parameters";
inline constexpr auto push_meaning = "which one: the worker's pushes to this shard count from 0";

}  // namespace psim
