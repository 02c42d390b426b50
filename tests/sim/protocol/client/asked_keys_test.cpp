// Key caching of pulls: when a worker names the keys that it asks for, and which answers it can read.
#include <initializer_list>
#include <memory>

#include "sim/protocol/client/kv_client.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

SharedKeys keys_of(std::initializer_list<std::uint32_t> keys) {
  return std::make_shared<const std::vector<std::uint32_t>>(keys);
}

}  // namespace

TEST_CASE("asked keys: a list goes in full until a pull with it was answered, and then its signature does",
          "[client][keys]") {
  AskedKeys asked;
  const KeyList first = asked.list(keys_of({3, 5}));
  CHECK(first.is_listed());
  CHECK(first.signature != 0);
  CHECK(asked.list(keys_of({3, 5})).is_listed());  // nobody has answered
  asked.answered();
  const KeyList second = asked.list(keys_of({3, 5}));
  CHECK_FALSE(second.is_listed());
  CHECK(second.signature == first.signature);
}

TEST_CASE("asked keys: lists that differ in one key, or in their number, have signatures of their own",
          "[client][keys]") {
  AskedKeys asked;
  asked.list(keys_of({3, 5}));
  asked.answered();
  CHECK(asked.list(keys_of({3, 6})).is_listed());
  CHECK(asked.list(keys_of({3})).is_listed());
  CHECK(asked.list(keys_of({3, 5, 6})).is_listed());
  CHECK_FALSE(asked.list(keys_of({3, 5})).is_listed());  // the last that was answered
}

TEST_CASE("asked keys: the owner has one list, the last that it has answered", "[client][keys]") {
  AskedKeys asked;
  for (const auto& keys : {keys_of({1}), keys_of({2})}) {
    asked.list(keys);
    asked.answered();
  }
  CHECK_FALSE(asked.list(keys_of({2})).is_listed());
  CHECK(asked.list(keys_of({1})).is_listed());
}

TEST_CASE("asked keys: a pull for all keys has no list, and its answer tells nothing about lists",
          "[client][keys]") {
  AskedKeys asked;
  asked.list(keys_of({1, 2}));
  asked.answered();
  for (const SharedKeys& all : {SharedKeys{}, keys_of({})}) {
    const KeyList list = asked.list(all);
    CHECK(list.is_listed());
    CHECK(list.signature == 0);
    asked.answered();
    CHECK_FALSE(asked.list(keys_of({1, 2})).is_listed());
  }
}

TEST_CASE("asked keys: an answer without its list is read if the list has come before", "[client][keys]") {
  AskedKeys asked;
  const KeyList listed{.signature = 7, .bytes_listed = 0}, named{.signature = 7, .bytes_listed = 40};
  CHECK_FALSE(asked.reads(named));
  CHECK(asked.reads(listed));
  CHECK(asked.reads(named));
  CHECK_FALSE(asked.reads({.signature = 8, .bytes_listed = 40}));
  CHECK(asked.reads(named));  // what is not read is not remembered
}

TEST_CASE("asked keys: what was asked and what was told are two memories", "[client][keys]") {
  AskedKeys asked;
  const KeyList list = asked.list(keys_of({4}));
  asked.answered();
  CHECK_FALSE(asked.reads({.signature = list.signature, .bytes_listed = 40}));
  CHECK(asked.reads({.signature = list.signature, .bytes_listed = 0}));
  CHECK(asked.reads({.signature = 9, .bytes_listed = 0}));
  CHECK_FALSE(asked.list(keys_of({4})).is_listed());  // answers have not changed it
}

TEST_CASE("asked keys: another owner has no list, and has told none", "[client][keys]") {
  AskedKeys asked;
  asked.list(keys_of({4}));
  asked.answered();
  asked.reads({.signature = 7, .bytes_listed = 0});
  asked.forget();
  CHECK_FALSE(asked.reads({.signature = 7, .bytes_listed = 40}));
  CHECK(asked.list(keys_of({4})).is_listed());
}
