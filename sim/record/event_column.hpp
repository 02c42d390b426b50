// How a type of event declares its columns.
#pragma once

#include <cstdint>
#include <string_view>

namespace psim {

// A column: its name, with a unit if it has one; its meaning; and the member that holds its value.
template <class Member>
struct Field {
  std::string_view name, meaning;
  Member member;
};
template <class Member>
Field(const char*, const char*, Member) -> Field<Member>;

// The place of an event in the cause chain of its actor (event.hpp). The default is step.
enum class InChain : std::uint8_t {
  step,   // the cause of the actor's next event
  word,   // has a cause, and is not a cause
  detail  // adds to another event of the same date
};
template <class T>
constexpr InChain in_chain() {
  if constexpr (requires { T::in_chain; }) return T::in_chain;
  else return InChain::step;
}

inline constexpr auto shard_meaning = "the number of the shard";
inline constexpr auto push_meaning = "the number of the push: a worker's pushes to a shard count from 0";

}  // namespace psim
