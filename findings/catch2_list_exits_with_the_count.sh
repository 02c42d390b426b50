#!/bin/sh
# Catch2 2.13.10: `--list-tests` and `--list-test-names-only` exit with the number of listed tests (so success looks like
# a failure to `set -e`, `&&` and `make`), and with 0 if no test matches. A comma inside a test's name cuts the filter in
# two, so a name taken from that list selects no test, with exit code 0 again. A backslash before the comma helps.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack catch2=2.13.10-1
program three <<'CPP'
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
TEST_CASE("one") { CHECK(true); }
TEST_CASE("two, with a comma") { CHECK(true); }
TEST_CASE("three") { CHECK(true); }
CPP
codes() {
  for option in --list-tests '--list-tests none*' --list-test-names-only; do
    "$folder/three" $option >"$folder/list" && echo "$option: 0" || echo "$option: $?"
  done
  for name in 'two, with a comma' 'two\, with a comma'; do
    "$folder/three" "$name" >"$folder/out" && code=0 || code=$?
    echo "$name: $code, $(tail -n 2 "$folder/out" | head -n 1)"
  done
}
expect codes <<'OUT'
--list-tests: 3
--list-tests none*: 0
--list-test-names-only: 3
two, with a comma: 0, No tests ran
two\, with a comma: 0, All tests passed (1 assertion in 1 test case)
OUT
