// Goal: whatever stands in a data file, it is read or refused with a message that names it, within bounded
// memory. Method: files that are larger than they look, and thousands of files with random changes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>
#include <zlib.h>

#include "model/data/files.hpp"
#include "model/data_spec.hpp"
#include "model/dataset.hpp"
#include "tests/support/catch.hpp"
#include "tests/texts/mutator.hpp"

using namespace psim;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "psim-data-limits-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path / name, std::ios::binary) << content;
  }
  fs::path path;
};

void write_gz(const fs::path& path, const std::string& block, int times) {
  const gzFile file = gzopen(path.c_str(), "wb1");
  REQUIRE(file != nullptr);
  for (int i = 0; i < times; ++i) gzwrite(file, block.data(), static_cast<unsigned>(block.size()));
  REQUIRE(gzclose(file) == Z_OK);
}

std::string refusal(const DataSpec& spec, const fs::path& folder) {
  try {
    load_data(spec, 1, {folder});
  } catch (const DataError& error) {
    return std::string(error.what()) + " (" + error.help + ")";
  }
  return "";
}

// Nothing that a learner could trip over.
void check_sound(const Dataset& data) {
  const auto size = static_cast<std::size_t>(data.size());
  REQUIRE(size > 0);
  CHECK(data.labels.size() == size);
  CHECK(std::ranges::all_of(data.labels, [&](auto label) { return label >= 0 && label < data.classes; }));
  CHECK(std::all_of(data.inputs.data(), data.inputs.data() + data.inputs.size(),
                    [](float x) { return std::isfinite(x); }));
  const SparseMatrix& sparse = data.sparse_inputs;
  CHECK(std::ranges::all_of(sparse.index, [&](auto column) { return column < sparse.cols; }));
  CHECK(std::ranges::all_of(sparse.value, [](float x) { return std::isfinite(x); }));
}

constexpr int rounds = 1500;

// Loads random changes of `good`, files of the same place.
void mutate(DataSource source, const std::string& name, const std::vector<std::string>& good) {
  const Folder folder;
  DataSpec spec;
  spec.source = source;
  spec.path = source == DataSource("idx") ? folder.path.string() : name;
  spec.test_fraction = 0;
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    Stream stream(7, "data", source.index(), static_cast<std::uint64_t>(i));
    folder.write(name, test::mutated_bytes(good, stream));
    CAPTURE(name, i);
    try {
      check_sound(load_data(spec, 1, {folder.path}).train);
      ++read;
    } catch (const DataError& error) {
      CHECK(std::string(error.what()).find(folder.path.string()) != std::string::npos);
    }
  }
  CHECK(read > 0);
  CHECK(read < rounds);
}

}  // namespace

TEST_CASE("a file that decompresses to more than its limit is refused by name", "[data]") {
  const Folder folder;
  write_gz(folder.path / "bomb.csv.gz", std::string(1U << 20U, '1'), 32);
  CHECK(fs::file_size(folder.path / "bomb.csv.gz") < 1'000'000);
  std::size_t bytes = 0;
  const auto count = [&](std::string_view piece) { bytes += piece.size(); };
  try {
    each_piece(folder.path / "bomb.csv.gz", 4'000'000, count);
    FAIL("read");
  } catch (const DataError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains("bomb.csv.gz: too large: more than 4 MB"));
  }
  CHECK(bytes <= 4'000'000);
  bytes = 0;
  each_piece(folder.path / "bomb.csv.gz", 32U << 20U, count);
  CHECK(bytes == 32U << 20U);
  CHECK(largest_file() >= 16U << 20U);
  CHECK(largest_file() <= std::size_t{4} << 30U);
}

TEST_CASE("a typing error in the first line of a CSV file is no header", "[data]") {
  const Folder folder;
  DataSpec spec;
  spec.source = DataSource("csv");
  spec.path = "a.csv";
  folder.write("a.csv", "1,2.5,O\n1,2,1\n");
  CHECK(
      refusal(spec, folder.path).find("a.csv:2: column 3: the label is `1`, but that of line 1 is a name") !=
      std::string::npos);
  folder.write("a.csv", "1,2,5x,0\n1,2,3,1\n");
  const std::string typo = refusal(spec, folder.path);
  CHECK(typo.find("a.csv:1: column 3: not a number: `5x`") != std::string::npos);
  CHECK(typo.find("if this line is a header, label = \"NAME\"") != std::string::npos);
}

TEST_CASE("CSV, LIBSVM and IDX files with random changes are read or refused", "[data][slow]") {
  mutate(DataSource("csv"), "a.csv", {"1,2,0\n3,4.5,1\n-1e3,0,1\n", "a,b,label\r\n1,2,0\r\n3,4,1\r\n"});
  mutate(DataSource("libsvm"), "a.libsvm", {"+1 1:0.5 3:2\n-1 2:1 # note\n+1 4:1e-3\n", "1 1:1\n0 2:1\n"});
  std::string packed;
  {
    const Folder folder;
    write_gz(folder.path / "a.gz", "1,2,0\n3,4,1\n5,6,1\n", 20);
    std::ifstream file(folder.path / "a.gz", std::ios::binary);
    packed.assign(std::istreambuf_iterator<char>(file), {});
  }
  mutate(DataSource("csv"), "b.csv", {packed, "1,2,0\n3,4.5,1\n"});
}

TEST_CASE("IDX files with random changes are read or refused", "[data][slow]") {
  const Folder folder;
  const std::string images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
      "abcdef",
      22),
      labels("\0\0\x08\x01\0\0\0\x02\0\x01", 10);
  const std::vector<std::pair<std::string, std::string>> files{{"train-images-idx3-ubyte", images},
                                                               {"train-labels-idx1-ubyte", labels},
                                                               {"t10k-images-idx3-ubyte", images},
                                                               {"t10k-labels-idx1-ubyte", labels}};
  DataSpec spec;
  spec.source = DataSource("idx");
  spec.path = folder.path.string();
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    Stream stream(7, "idx", static_cast<std::uint64_t>(i));
    for (const auto& [name, content] : files) folder.write(name, content);
    const auto& [name, content] = files[stream.below(files.size())];
    folder.write(name, test::mutated_bytes({content}, stream));
    try {
      check_sound(load_data(spec, 1, {}).train);
      ++read;
    } catch (const DataError& error) {
      CHECK(std::string(error.what()).find(folder.path.string()) != std::string::npos);
    }
  }
  CHECK(read > 0);
  CHECK(read < rounds);
}

TEST_CASE("the shape of generated data is known before it is generated", "[data]") {
  for (const DataSource source :
       {DataSource("blobs"), DataSource("spirals"), DataSource("teacher"), DataSource("clicks")}) {
    DataSpec spec;
    spec.source = source;
    spec.samples = 47;
    spec.features = 30;
    spec.classes = 4;
    spec.nonzeros = 3;
    spec.test_fraction = 0.25;
    spec.validation_fraction = 0.3;
    const auto known = known_shape(spec);
    REQUIRE(known.has_value());
    const DataShape made = shape_of(load_data(spec, 3, {}).train);
    CAPTURE(source->name);
    CHECK(known->samples == made.samples);
    CHECK(known->features == made.features);
    CHECK(known->outputs == made.outputs);
    CHECK(known->classification == made.classification);
    CHECK(known->nonzeros == made.nonzeros);
  }
  // Rows that a user wrote may be of unequal length: only loading them tells.
  CHECK_FALSE(known_shape({.source = DataSource("inline")}).has_value());
  CHECK_FALSE(known_shape({.source = DataSource("digits")}).has_value());
}
