// Goal: no file that somebody else may have made hangs psim, or fills its memory or its stack.
#include "model/input.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "model/nesting.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
namespace fs = std::filesystem;

TEST_CASE("only files are read, and only up to a bound", "[input]") {
  const psim::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file", pipe = folder.path() / "pipe";
  std::ofstream(file) << "12345";
  CHECK(read_input(file) == "12345");
  CHECK(read_input(file, 5) == "12345");
  CHECK_THROWS_AS(read_input(file, 4), InputError);
  CHECK(beginning_of(file, 3) == "123");
  CHECK(beginning_of(file, 100) == "12345");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const fs::path& other : {pipe, folder.path(), fs::path("/dev/null"), folder.path() / "none"})
    CHECK_THROWS_AS(read_input(other), InputError);
  CHECK_FALSE(read_input("/proc/self/status").empty());  // whose size is said to be 0
}

TEST_CASE("lines come whole, however the text is cut", "[input]") {
  const std::string text = "one\n\ntwo\r\nthree";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    std::vector<std::string> lines;
    LineCutter cutter("text", [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    for (std::size_t at = 0; at < text.size(); at += step)
      cutter.add(std::string_view(text).substr(at, step));
    cutter.finish();
    CHECK(lines == std::vector<std::string>{"one", "", "two\r", "three"});
  }
  LineCutter endless("text", [](std::string_view) { return true; });
  const std::string zeros(8U << 20U, '\0');
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 9; ++i) endless.add(zeros);
      }(),
      InputError);
}

TEST_CASE("JSON is measured before it is parsed", "[input]") {
  CHECK(too_much_json("{\"[[[[\\\"[[\": [1, {\"a\": \"}\"}]}").empty());
  CHECK(too_much_json(std::string(64, '[')).empty());
  CHECK_FALSE(too_much_json(std::string(65, '[')).empty());
  CHECK_FALSE(too_much_json("[" + std::string(40, '{') + std::string(40, '[')).empty());
  const auto object = [](int names) {
    std::string text = "{";
    for (int i = 0; i < names; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":[0,0]";
    return text + "}";
  };
  CHECK(too_much_json(object(4096)).empty());
  CHECK_FALSE(too_much_json(object(4097)).empty());
  CHECK(too_much_json("[" + std::string(20'000, ',') + "]").empty());
}
