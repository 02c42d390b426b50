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

// The place of an event in the cause chain of its actor (cause_chain.hpp). A type that declares none is a
// step.
enum class InChain : std::uint8_t {
  step,   // the cause of the actor's next event
  word,   // has a cause, and is none
  detail  // tells more of another event of the same date
};
template <class T>
constexpr InChain in_chain() {
  if constexpr (requires { T::in_chain; }) return T::in_chain;
  else return InChain::step;
}

inline constexpr auto shard_meaning = "of the parameters";
inline constexpr auto push_meaning = "which one: the worker's pushes to this shard count from 0";

}  // namespace psim
