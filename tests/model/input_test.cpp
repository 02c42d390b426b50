// Goal: no file that somebody else may have made hangs psim, or fills its memory or its stack.
#include "model/base/input.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "model/base/unicode.hpp"
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
  // Its size is said to be 0, and it has more.
  CHECK_FALSE(read_input("/proc/self/status").empty());
  CHECK_THROWS_AS(read_input("/proc/self/status", 10), InputError);
  CHECK_THROWS_AS(each_input_line("/proc/self/status", 10, [](std::string_view) { return true; }),
                  InputError);
  std::ofstream(file) << std::string(200'000, 'x');
  CHECK(beginning_of(file, 150'000) == std::string(150'000, 'x'));
}

TEST_CASE("the lines of a file are all of them, also a last one without an end", "[input]") {
  const psim::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "one\ntwo\nthree";
  std::vector<std::string> lines;
  each_input_line(file, 100, [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  });
  CHECK(lines == std::vector<std::string>{"one", "two", "three"});
  lines.clear();
  each_input_line(file, 100, [&](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < 2;
  });
  CHECK(lines == std::vector<std::string>{"one", "two"});
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
  endless.add("one\ntwo\n");
  const std::string zeros(8U << 20U, '\0');
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 9; ++i) endless.add(zeros);
      }(),
      Catch::Contains("text:3: the line has more than 64 MB"));
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
