// Goal: every source gives the samples that its description promises, the same ones each time, and a
// broken file is refused with a message that names it. Method: files written to a temporary folder.
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "model/dataset.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "psim-data-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::create_directory(path_ / "tiny");
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(TempFolder&&) = delete;
  const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content, const char* mode = "wbT") const {
    const gzFile file = gzopen((path_ / name).c_str(), mode);  // T: as it is, not compressed
    REQUIRE(file != nullptr);
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  void write_gz(const std::string& name, const std::string& content) const { write(name, content, "wb"); }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path path_;
};

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::string images(std::uint32_t count, std::uint32_t rows = 2, std::uint32_t columns = 3) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) bytes += static_cast<char>(i * 51 % 256);
  return bytes;
}

std::string labels(const std::vector<int>& values) {
  std::string bytes = big_endian(0x801) + big_endian(static_cast<std::uint32_t>(values.size()));
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

const std::string train_images = "tiny/train-images-idx3-ubyte";
const std::string train_labels = "tiny/train-labels-idx1-ubyte";
const std::string test_images = "tiny/t10k-images-idx3-ubyte";
const std::string test_labels = "tiny/t10k-labels-idx1-ubyte";

void write_tiny(const TempFolder& folder) {
  folder.write(train_images, images(5));
  folder.write_gz(train_labels + ".gz", labels({0, 1, 2, 1, 0}));
  folder.write_gz(test_images + ".gz", images(2));
  folder.write(test_labels, labels({1, 1}));
}

DataSpec spec_of(DataSource source, std::int64_t samples = 101, double test_fraction = 0.0) {
  DataSpec spec;
  spec.source = source;
  spec.samples = samples;
  spec.test_fraction = test_fraction;
  return spec;
}

DataSplit load(const TempFolder& folder, DataSource source, const std::string& path) {
  DataSpec spec = spec_of(source);
  spec.path = path;
  return load_data(spec, 1, {folder.path() / "nowhere", folder.path()});
}

DataError refusal(const TempFolder& folder, DataSource source, const std::string& path) {
  try {
    load(folder, source, path);
  } catch (const DataError& error) {
    return error;
  }
  FAIL("was accepted");
  throw std::logic_error("unreachable");
}

std::string tiny_refusal(const TempFolder& folder) {
  return refusal(folder, DataSource("idx"), "tiny").what();
}

bool same(const Dataset& a, const Dataset& b) {
  return a.inputs == b.inputs && a.labels == b.labels && a.targets == b.targets && a.classes == b.classes;
}

// Not Eigen's minCoeff and maxCoeff, for which g++ 12 warns about its own AVX-512 header.
std::pair<float, float> range(const SampleMatrix& matrix) {
  const auto [least, largest] = std::minmax_element(matrix.data(), matrix.data() + matrix.size());
  return {*least, *largest};
}

}  // namespace

TEST_CASE("the digits come with the program", "[data]") {
  const DataSplit digits = load_data(spec_of(DataSource("digits")), 1, {});
  REQUIRE(digits.train.size() == 1797);
  CHECK(digits.test.size() == 0);
  CHECK(digits.test.classes == 10);
  CHECK(digits.train.features() == 64);
  CHECK(digits.train.outputs() == 10);
  CHECK(digits.train.targets.size() == 0);
  CHECK(range(digits.train.inputs) == std::pair{0.0F, 1.0F});

  const std::array<float, 16> first{0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0};
  for (int i = 0; i < 16; ++i) CHECK(digits.train.inputs(0, i) == first[i] / 16.0F);
  CHECK(digits.train.labels.front() == 0);
  CHECK(digits.train.labels.back() == 8);

  std::vector<int> counts(10);
  for (const int label : digits.train.labels) ++counts[label];
  CHECK(counts == std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("the split keeps the order of the file and loses no sample", "[data]") {
  DataSpec spec;
  const DataSplit whole = load_data(spec_of(DataSource("digits")), 1, {});
  const DataSplit parts = load_data(spec, 1, {});
  CHECK(parts.test.size() == 359);  // round(0.2 * 1797)
  REQUIRE(parts.train.size() == 1797 - 359);

  Eigen::Index train = 0, test = 0;
  for (Eigen::Index i = 0; i < whole.train.size(); ++i) {
    const auto matches = [&](const Dataset& part, Eigen::Index at) {
      return at < part.size() && part.inputs.row(at) == whole.train.inputs.row(i) &&
             part.labels[at] == whole.train.labels[i];
    };
    if (matches(parts.train, train)) ++train;
    else if (matches(parts.test, test)) ++test;
    else FAIL("sample " << i << " is in neither part");
  }
  CHECK(train == parts.train.size());
  CHECK(test == parts.test.size());

  CHECK(same(parts.test, load_data(spec, 1, {}).test));
  CHECK_FALSE(same(parts.test, load_data(spec, 2, {}).test));

  spec.test_fraction = 0.9999;
  CHECK_THROWS_WITH(load_data(spec, 1, {}), Contains("leaves no sample to train on; all samples: 1797"));
  spec.test_fraction = std::nan("");
  CHECK_THROWS_AS(load_data(spec, 1, {}), DataError);
}

TEST_CASE("IDX files are read, plain or compressed", "[data]") {
  const TempFolder folder;
  write_tiny(folder);
  const DataSplit tiny = load(folder, DataSource("idx"), "tiny");
  CHECK(tiny.train.size() == 5);
  CHECK(tiny.test.size() == 2);
  CHECK(tiny.train.features() == 6);
  CHECK(tiny.train.classes == 3);
  CHECK(tiny.test.classes == 3);  // although its labels go to 1 only
  CHECK(tiny.train.labels == std::vector<std::int32_t>{0, 1, 2, 1, 0});
  CHECK(tiny.train.inputs(0, 1) == 51.0F / 255.0F);
  CHECK(tiny.train.inputs(0, 5) == 1.0F);
  CHECK(same(tiny.train, load(folder, DataSource("idx"), (folder.path() / "tiny").string()).train));
}

TEST_CASE("broken IDX files are refused by name", "[data]") {
  const auto [name, content, message] = GENERATE(table<std::string, std::string, std::string>({
      {train_images, images(5).substr(0, 40), train_images + ": truncated: missing bytes: 6"},
      {train_images, images(5).substr(0, 9), "truncated: missing bytes: 7"},
      {test_labels, "", test_labels + ": truncated: missing bytes: 4"},
      {train_images, images(5) + "xyz", train_images + ": corrupt: excess bytes: 3"},
      {train_images, labels({1, 2, 3}), "it begins with 0x00000801 instead of 0x00000803"},
      {train_images, images(6), " is 6, but the number of labels in "},
      {train_images, images(0, 1U << 31U, 1U << 31U), "corrupt: a dimension is 0"},
      {train_images, big_endian(0x803) + std::string(12, '\xff'), "corrupt: a dimension is 4294967295"},
      {test_images, images(2, 3, 3), test_images + ": its images have 9 pixels"},
      {test_labels, labels({1, 3}), test_labels + ": label 3 does not occur in"},
  }));
  const TempFolder folder;
  write_tiny(folder);
  folder.write(name, content);
  CHECK_THAT(tiny_refusal(folder), Contains(message));
}

TEST_CASE("broken gzip data is refused by name", "[data]") {
  const TempFolder folder;
  write_tiny(folder);
  fs::remove(folder.path() / train_images);
  const std::string name = train_images + ".gz";
  folder.write_gz(name, images(5));
  const std::string good = folder.read(name);

  for (const std::size_t size : {std::size_t{5}, good.size() / 2, good.size() - 9, good.size() - 1}) {
    folder.write(name, good.substr(0, size));
    INFO("the first " << size << " of " << good.size() << " bytes");
    CHECK_THAT(tiny_refusal(folder), Contains(name + ": truncated: the gzip data ends too early"));
  }
  for (const std::size_t at : {std::size_t{10}, good.size() - 6}) {  // in the data, in the checksum
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x66);
    folder.write(name, bad);
    INFO("byte " << at << " of " << good.size());
    CHECK_THAT(tiny_refusal(folder), Contains(name + ": corrupt gzip data"));
  }
}

TEST_CASE("a missing file is named with every place that was searched", "[data]") {
  const TempFolder folder;
  write_tiny(folder);
  fs::remove(folder.path() / test_labels);
  const DataError error = refusal(folder, DataSource("idx"), "tiny");
  CHECK_THAT(error.what(), Contains((folder.path() / (test_labels + "[.gz]")).string()));
  CHECK_THAT(error.what(), Contains((folder.path() / "nowhere" / train_images).string() + "[.gz] (no such"));
  CHECK_THAT(error.help, Contains("apt-get install dataset-fashion-mnist") && Contains("PSIM_DATA=DIR"));

  const std::string csv = refusal(folder, DataSource("csv"), "data.csv").what();
  CHECK_THAT(csv, Contains((folder.path() / "data.csv").string()));
  CHECK_THAT(csv, Contains((folder.path() / "nowhere" / "data.csv").string()));
}

TEST_CASE("CSV files are read with and without header, compression and carriage returns", "[data]") {
  const TempFolder folder;
  folder.write("plain.csv", "1,-2.5,0\n3e-1, 4 ,2\n");
  folder.write("header.csv", "\xef\xbb\xbfwidth,height,kind\r\n1,-2.5,0\r\n3e-1,4,2\r\n\r\n\n");
  folder.write_gz("packed.csv.gz", "1,-2.5,0\n0.3,4,2");
  const Dataset plain = load(folder, DataSource("csv"), "plain.csv").train;
  REQUIRE(plain.size() == 2);
  CHECK(plain.features() == 2);
  CHECK(plain.classes == 3);
  CHECK(plain.labels == std::vector<std::int32_t>{0, 2});
  CHECK(plain.inputs(0, 1) == -2.5F);
  CHECK(plain.inputs(1, 0) == 0.3F);
  CHECK(same(plain, load(folder, DataSource("csv"), "header.csv").train));
  CHECK(same(plain, load(folder, DataSource("csv"), "packed.csv").train));
  CHECK(same(plain, load(folder, DataSource("csv"), "packed.csv.gz").train));
}

TEST_CASE("generated data is balanced and depends on the seed only", "[data]") {
  const DataSource source = GENERATE(DataSource("blobs"), DataSource("spirals"), DataSource("teacher"));
  DataSpec spec = spec_of(source, 101, 0.2);
  const DataSplit first = load_data(spec, 7, {});
  CHECK(first.train.size() == 81);
  CHECK(first.test.size() == 20);
  CHECK(first.train.features() == 2);
  CHECK(first.train.outputs() == 3);
  CHECK(same(first.train, load_data(spec, 7, {}).train));
  CHECK_FALSE(first.train.inputs == load_data(spec, 8, {}).train.inputs);

  spec.test_fraction = 0.0;
  const Dataset some = load_data(spec, 7, {}).train;
  for (int label = 0; label < some.classes; ++label) {
    const auto count = std::count(some.labels.begin(), some.labels.end(), label);
    CHECK((count == 33 || count == 34));
  }
  spec.samples = 200;
  CHECK(load_data(spec, 7, {}).train.inputs.topRows(101) == some.inputs);
}

TEST_CASE("blobs lie around their centres as far as the noise says", "[data]") {
  DataSpec spec = spec_of(DataSource("blobs"), 3000);
  spec.features = 4;
  spec.noise = 0.0;
  const Dataset centres = load_data(spec, 1, {}).train;
  CHECK(centres.inputs.row(0) == centres.inputs.row(3));
  CHECK(centres.inputs.row(0) != centres.inputs.row(1));
  CHECK(range(centres.inputs).first >= -1.0F);
  CHECK(range(centres.inputs).second <= 1.0F);
  spec.noise = 0.25;
  const SampleMatrix offsets = load_data(spec, 1, {}).train.inputs - centres.inputs;
  CHECK(offsets.mean() == Approx(0.0).margin(0.01));
  CHECK(std::sqrt(offsets.cwiseAbs2().mean()) == Approx(0.25).epsilon(0.03));
}

TEST_CASE("spiral arms without noise turn from the origin to the unit circle", "[data]") {
  DataSpec spec = spec_of(DataSource("spirals"));
  spec.noise = 0.0;
  const Dataset arms = load_data(spec, 1, {}).train;
  for (Eigen::Index i = 0; i < arms.size(); ++i) {
    const double radius = arms.inputs.row(i).norm();
    const double angle = std::atan2(arms.inputs(i, 1), arms.inputs(i, 0));
    const double turns = angle / (2.0 * std::acos(-1.0)) - 0.75 * radius - arms.labels[i] / 3.0;
    CHECK(turns == Approx(std::round(turns)).margin(1e-5));
    CHECK(radius <= 1.0 + 1e-6);
  }
}

TEST_CASE("the teacher's noise is added to its answers", "[data]") {
  DataSpec spec = spec_of(DataSource("teacher"), 3000);
  spec.noise = 0.0;
  const Dataset exact = load_data(spec, 1, {}).train;
  CHECK(exact.classes == 0);
  CHECK(exact.labels.empty());
  CHECK(exact.targets.rows() == 3000);
  CHECK(exact.targets.allFinite());
  CHECK(exact.targets.cwiseAbs2().mean() > 0.01F);
  spec.noise = 0.5;
  const Dataset noisy = load_data(spec, 1, {}).train;
  CHECK(noisy.inputs == exact.inputs);
  CHECK(std::sqrt((noisy.targets - exact.targets).cwiseAbs2().mean()) == Approx(0.5).epsilon(0.03));
}

TEST_CASE("impossible sizes of generated data are refused", "[data]") {
  CHECK_THROWS_AS(load_data(spec_of(DataSource("blobs"), 0), 1, {}), DataError);
  DataSpec spec = spec_of(DataSource("blobs"), 1'000'000'000);
  spec.features = 1'000'000'000;
  CHECK_THROWS_AS(load_data(spec, 1, {}), DataError);
}

TEST_CASE("inline samples are taken as they are", "[data]") {
  DataSpec spec = spec_of(DataSource("inline"));
  spec.inputs = {{0, 1}, {2, 3}, {4, 5}};
  spec.targets = {{1}, {2}, {3}};
  const DataSplit data = load_data(spec, 1, {});
  CHECK(data.train.size() == 3);
  CHECK(data.test.size() == 0);
  CHECK(data.train.classes == 0);
  CHECK(data.train.outputs() == 1);
  CHECK(data.train.inputs(2, 0) == 4.0F);
  CHECK(data.train.targets(1, 0) == 2.0F);

  spec.targets = {{1}, {2}};
  CHECK_THROWS_WITH(load_data(spec, 1, {}), Contains("rows of `inputs` is 3, but that of `targets` is 2"));
  spec.targets = {{1}, {2}, {3, 4}};
  CHECK_THROWS_WITH(load_data(spec, 1, {}), Contains("row 3 of `targets` has length 2, expected 1"));
  spec.targets = {{1}, {std::nan("")}, {3}};
  CHECK_THROWS_WITH(load_data(spec, 1, {}), Contains("row 2 of `targets` holds nan"));
  spec.inputs = spec.targets = {};
  CHECK_THROWS_WITH(load_data(spec, 1, {}), Contains("holds no numbers"));
}

TEST_CASE("the real Fashion-MNIST is read in full", "[data][fashion-mnist]") {
  if (!fs::is_directory("/usr/share/datasets/fashion-mnist")) {
    WARN("skipped: Fashion-MNIST is not installed (apt-get install dataset-fashion-mnist)");
    return;
  }
  DataSpec spec = spec_of(DataSource("idx"));
  spec.path = "fashion-mnist";
  const DataSplit data = load_data(spec, 1, {"nowhere"});
  CHECK(data.train.size() == 60000);
  CHECK(data.test.size() == 10000);
  CHECK(data.train.features() == 784);
  CHECK(data.train.classes == 10);
  for (int label = 0; label < 10; ++label) {
    CHECK(std::count(data.train.labels.begin(), data.train.labels.end(), label) == 6000);
    CHECK(std::count(data.test.labels.begin(), data.test.labels.end(), label) == 1000);
  }
  CHECK(range(data.train.inputs) == std::pair{0.0F, 1.0F});
  // The mean and the deviation that are commonly used to normalise these images; their last digits depend
  // on how the images are divided into training and test.
  const double mean = data.train.inputs.cast<double>().mean();
  const double mean_square = data.train.inputs.cast<double>().cwiseAbs2().mean();
  CHECK(mean == Approx(0.286).margin(0.0005));
  CHECK(std::sqrt(mean_square - mean * mean) == Approx(0.353).margin(0.0005));
}
