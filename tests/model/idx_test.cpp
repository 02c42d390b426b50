// Goal: IDX files are read as they come, in pieces of any size, within the memory that they can fill, and the
// most basic reason of a refusal comes first. Method: small files, compressed in unusual ways.
#include <zlib.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "model/data/files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

const std::string images("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03\x00\x33\xff\x01\x80\xfe", 22);
const std::string labels("\0\0\x08\x01\0\0\0\x02\x00\x09", 10);

class Files {
 public:
  Files() {
    for (const std::string_view part : {"train", "t10k"}) {
      put(std::string(part) + "-images-idx3-ubyte", images);
      put(std::string(part) + "-labels-idx1-ubyte", labels);
    }
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }
  // The training images, compressed as one stream for each `size` bytes.
  void pack(const std::string& bytes, std::size_t size) const {
    fs::remove(folder_.path() / "train-images-idx3-ubyte");
    const fs::path path = folder_.path() / "train-images-idx3-ubyte.gz";
    fs::remove(path);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      const gzFile file = gzopen(path.c_str(), "ab");
      REQUIRE(file != nullptr);
      const std::string part = bytes.substr(at, size);
      gzwrite(file, part.data(), static_cast<unsigned>(part.size()));
      REQUIRE(gzclose(file) == Z_OK);
    }
  }
  void cut_packed() const {
    const fs::path path = folder_.path() / "train-images-idx3-ubyte.gz";
    fs::resize_file(path, fs::file_size(path) - 1);
  }
  DataSplit load() const { return load_idx(folder_.path(), {}); }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("pieces of an IDX file may end anywhere", "[data]") {
  const Files files;
  files.pack(images, GENERATE(1U, 3U, 5U, 16U, 17U, 22U));
  const Dataset train = files.load().train;
  REQUIRE(train.size() == 2);
  REQUIRE(train.features() == 3);
  constexpr std::array pixels{0x00, 0x33, 0xff, 0x01, 0x80, 0xfe};
  for (std::size_t i = 0; i < pixels.size(); ++i)
    CHECK(train.inputs.data()[i] == static_cast<float>(pixels[i]) / 255.0F);
  CHECK(train.labels == std::vector<std::int32_t>{0, 9});
  CHECK(train.classes == 10);
}

TEST_CASE("excess bytes of an IDX file are counted in every piece", "[data]") {
  const Files files;
  files.pack(images + "excess", GENERATE(1U, 5U, 23U, 28U));
  CHECK_THROWS_WITH(files.load(), Contains("corrupt: excess bytes: 6"));
}

TEST_CASE("broken compression is the reason for everything else that is wrong", "[data]") {
  const Files files;
  const auto [bytes, message] = GENERATE(table<std::string, std::string>({
      {labels, "begins with 0x00000801 instead of 0x00000803"},
      {images + "xyz", "excess bytes: 3"},
      {std::string(images).replace(4, 4, 4, '\0'), "a dimension is 0"},
  }));
  files.pack(bytes, bytes.size());
  CHECK_THROWS_WITH(files.load(), Contains(message));
  files.cut_packed();
  CHECK_THROWS_WITH(files.load(), Contains("the gzip data ends too early"));
}

TEST_CASE("an IDX header reserves no memory that its file cannot fill", "[data]") {
  const Files files;
  // 0xffffffff images of 65535 x 65535 pixels, then 200,000,000 images of one pixel.
  const auto [sizes, missing] = GENERATE(table<std::string, std::string>({
      {std::string("\xff\xff\xff\xff\0\0\xff\xff\0\0\xff\xff", 12), "18446181123756261369"},
      {std::string("\x0b\xeb\xc2\x00\0\0\0\x01\0\0\0\x01", 12), "199999994"},
  }));
  files.put("train-images-idx3-ubyte", std::string(images).replace(4, 12, sizes));
  CHECK_THROWS_WITH(files.load(), Contains("truncated: missing bytes: " + missing));
}

TEST_CASE("a broken training file is named before a broken test file", "[data]") {
  const Files files;
  files.put("t10k-images-idx3-ubyte", "");
  CHECK_THROWS_WITH(files.load(), Contains("t10k-images-idx3-ubyte: truncated: missing bytes: 4"));
  files.put("train-images-idx3-ubyte", images.substr(0, 20));
  CHECK_THROWS_WITH(files.load(), Contains("train-images-idx3-ubyte: truncated: missing bytes: 2"));
}
