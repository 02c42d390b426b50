// Compressed data files, to their last byte.
#include <zlib.h>

#include <fstream>
#include <string>

#include "model/data/files.hpp"
#include "model/dataset.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

std::string compressed(const std::string& text, const fs::path& scratch) {
  const gzFile file = gzopen(scratch.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return psim::test::content(scratch);
}

std::string read_data(const fs::path& path, std::size_t most) {
  std::string content;
  psim::each_piece(path, most, [&](std::string_view piece) { content += piece; });
  return content;
}

}  // namespace

TEST_CASE("gzip data may be several streams, with zeros behind, and nothing else", "[data]") {
  const psim::test::TemporaryFolder folder;
  const fs::path scratch = folder.path() / "scratch", file = folder.path() / "data.gz";
  const std::string long_line = std::string(3'000'000, 'a') + "\n";
  const std::string one = compressed(long_line, scratch), two = compressed("b\n", scratch);
  const auto write = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; };
  constexpr std::size_t most = 4'000'000;
  for (const std::string& zeros : {std::string(), std::string(500, '\0'), std::string(3'000'000, '\0')}) {
    write(one + two + zeros);
    CHECK(read_data(file, most) == long_line + "b\n");
    CHECK_THROWS_AS(read_data(file, 2'000'000), psim::DataError);
  }
  for (const std::string& behind :
       {std::string("garbage"), std::string("\n"), std::string("1"), std::string(9, '\0') + two}) {
    write(one + behind);
    CHECK_THROWS_WITH(read_data(file, most), Contains("data.gz: something follows the end of the gzip data"));
  }
  write(one + two.substr(0, two.size() - 1));
  CHECK_THROWS_WITH(read_data(file, most), Contains("ends too early"));
  write("no gzip data\n");
  CHECK(read_data(file, most) == "no gzip data\n");
}
