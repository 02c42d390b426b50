// Goal: a run's digest misses nothing. Method: every declared field of every type of event is changed, one at
// a time.
#include "sim/record/event.hpp"

#include <cmath>
#include <set>
#include <string>
#include <type_traits>

#include "sim/record/event_fields.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

template <class T>
void change(T& value) {
  if constexpr (OptionalOf<T>::value) value = value ? T() : T(typename OptionalOf<T>::Value{});
  else if constexpr (std::is_floating_point_v<T>) value = std::nextafter(value, 1e9);
  else if constexpr (std::is_same_v<T, bool>) value = !value;
  else if constexpr (requires { value.index(); }) value = T::at(value.index() + 1);
  else value = static_cast<T>(static_cast<std::int64_t>(value) + 1);
}

Event message() {
  Sent sent;
  sent.kind = MessageKind::push;
  sent.to = 4;
  sent.shard = 0;
  sent.clock = 7;
  sent.bytes = 400;
  return {1.5, 1, sent};
}

}  // namespace

TEST_CASE("an event's hash depends on its date, its node, its type and every field", "[record]") {
  std::set<std::uint64_t> hashes;
  std::size_t events = 0;
  const auto add = [&](const Event& event) {
    hashes.insert(hash_of(event));
    ++events;
  };
  for_each_subject([&]<class T>() {
    const Event plain{1.5, 2, T{}};
    CHECK(hash_of(plain) == hash_of(Event{1.5, 2, T{}}));
    add(plain);
    add({std::nextafter(1.5, 2.0), 2, T{}});
    add({-1.5, 2, T{}});
    add({1.5, 3, T{}});
    for_each_field<T>([&](const auto& field) {
      T changed;
      change(changed.*field.member);
      add({1.5, 2, changed});
    });
  });
  CHECK(hashes.size() == events);
}

TEST_CASE("two fields do not run into each other in the hash, nor does a field that is not there",
          "[record]") {
  std::set<std::uint64_t> hashes;
  for (const std::optional<std::int64_t> pull :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(0), std::optional<std::int64_t>(1)}) {
    for (const std::optional<std::int64_t> push :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(0), std::optional<std::int64_t>(1)})
      hashes.insert(hash_of({1, 2, Repetition{.pull = pull, .push = push}}));
  }
  CHECK(hashes.size() == 9);
}

TEST_CASE("an event is told in one line, with the columns that it has", "[record]") {
  CHECK(to_string(message()) ==
        "t=1.5s sent: node 1, kind push, receiver 4, sent_bytes 400, shard 0, clock 7, carried_values 0, "
        "carried_keys 0, carried_ids 0");
  CHECK(to_string({2, 3, Finish{.clock = 9, .leaves = true}}) == "t=2s finish: node 3, clock 9, leaves 1");
  CHECK(to_string({2, 0, FaultChange{.kind = "disk-loss", .target = 5}}) ==
        "t=2s fault: node 0, fault_table 0, kind disk-loss, begins 1, target 5");
}

TEST_CASE("every table has its own name, and a table's columns have theirs", "[record]") {
  std::set<std::string> tables;
  for_each_subject([&tables]<class T>() {
    tables.insert(T::table);
    std::set<std::string_view> columns{"number", "at_s", "node"};
    std::size_t count = columns.size();
    for_each_field<T>([&](const auto& field) {
      columns.insert(field.name);
      CHECK_FALSE(field.meaning.empty());
      ++count;
    });
    CHECK(columns.size() == count);
  });
  CHECK(tables.size() == std::variant_size_v<Subject>);
  CHECK(std::set(message_names.begin(), message_names.end()).size() == message_names.size());
  CHECK(name_of(MessageKind::ack) == "ack");
}
