// Goal: sparse samples are read and generated as promised, and divide like any other. Method: frequencies
// against Zipf's law, labels against the odds, files written to a temporary folder.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "model/dataset.hpp"
#include "model/sampler.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using Catch::Matchers::Contains;
using psim::test::TemporaryFolder;

namespace {

DataSpec clicks(std::int64_t samples, std::int64_t features, std::int64_t nonzeros) {
  DataSpec spec;
  spec.source = DataSource("clicks");
  spec.samples = samples;
  spec.features = features;
  spec.nonzeros = nonzeros;
  spec.test_fraction = 0;
  return spec;
}

DataSplit libsvm(const TemporaryFolder& folder, double test_fraction = 0) {
  DataSpec spec;
  spec.source = DataSource("libsvm");
  spec.path = "data.libsvm";
  spec.test_fraction = test_fraction;
  return load_data(spec, 1, {folder.path()});
}

bool same(const SparseMatrix& a, const SparseMatrix& b) {
  return a.cols == b.cols && a.begin == b.begin && a.index == b.index && a.value == b.value;
}

}  // namespace

TEST_CASE("clicks have one feature of each field, used by Zipf's law", "[data]") {
  DataSpec spec = clicks(20'000, 103, 4);  // fields of 25, 26, 26 and 26 features
  spec.exponent = GENERATE(0.0, 1.1, 2.0);
  const Dataset data = load_data(spec, 5, {}).train;
  REQUIRE(data.size() == 20'000);
  CHECK(data.features() == 103);
  CHECK(data.classes == 2);
  std::vector<double> counts(103);
  const std::vector<std::uint32_t> begin{0, 25, 51, 77, 103};
  for (std::size_t i = 0; i < 20'000; ++i) {
    const SparseMatrix::Row row = data.sparse_inputs.row(i);
    REQUIRE(row.index.size() == 4);
    for (std::size_t f = 0; f < 4; ++f) {
      REQUIRE((row.index[f] >= begin[f] && row.index[f] < begin[f + 1]));
      REQUIRE(row.value[f] == 1.0F);
      ++counts[row.index[f]];
    }
  }
  // Pearson's statistic of each field, with 24 or 25 degrees of freedom: above 60 once in 10,000.
  for (std::size_t f = 0; f < 4; ++f) {
    double sum = 0, statistic = 0;
    for (std::uint32_t r = 0; r < begin[f + 1] - begin[f]; ++r) sum += std::pow(r + 1.0, -spec.exponent);
    for (std::uint32_t r = 0; r < begin[f + 1] - begin[f]; ++r) {
      const double expected = 20'000 * std::pow(r + 1.0, -spec.exponent) / sum;
      statistic += std::pow(counts[begin[f] + r] - expected, 2) / expected;
    }
    CAPTURE(f, spec.exponent);
    CHECK(statistic < 60);
  }
}

TEST_CASE("clicks depend on the seed only, and more samples leave the first ones as they were", "[data]") {
  DataSpec spec = clicks(100, 500, 5);
  const Dataset some = load_data(spec, 7, {}).train;
  CHECK(same(some.sparse_inputs, load_data(spec, 7, {}).train.sparse_inputs));
  CHECK(!same(some.sparse_inputs, load_data(spec, 8, {}).train.sparse_inputs));
  spec.samples = 200;
  const Dataset more = load_data(spec, 7, {}).train;
  CHECK(std::equal(some.sparse_inputs.index.begin(), some.sparse_inputs.index.end(),
                   more.sparse_inputs.index.begin()));
  CHECK(std::equal(some.labels.begin(), some.labels.end(), more.labels.begin()));
  spec.noise = 5;
  const Dataset noisy = load_data(spec, 7, {}).train;
  CHECK(same(noisy.sparse_inputs, more.sparse_inputs));
  CHECK(noisy.labels != more.labels);
}

TEST_CASE("samples with the same features click as often as their hidden odds say", "[data]") {
  // One field of four features: the share of clicks differs between features and is the same in both halves.
  DataSpec spec = clicks(40'000, 4, 1);
  spec.exponent = 0;
  spec.noise = 0;
  const std::uint64_t seed = GENERATE(1U, 2U, 3U, 4U);
  const Dataset data = load_data(spec, seed, {}).train;
  std::vector<std::array<double, 2>> clicked(4), seen(4);
  for (std::size_t i = 0; i < 40'000; ++i) {
    const std::uint32_t j = data.sparse_inputs.index[i];
    ++seen[j][i % 2];
    clicked[j][i % 2] += data.labels[i];
  }
  bool intercept = false;  // most hidden weights are zero, and then the log-odds are -1
  for (std::size_t j = 0; j < 4; ++j) {
    const double share = (clicked[j][0] + clicked[j][1]) / (seen[j][0] + seen[j][1]);
    CHECK(std::abs(clicked[j][0] / seen[j][0] - clicked[j][1] / seen[j][1]) < 0.04);  // four deviations
    intercept = intercept || std::abs(share - 1 / (1 + std::exp(1.0))) < 0.018;
  }
  CHECK(intercept);
}

TEST_CASE("sparse samples are split for the test and dealt out like any others", "[data]") {
  DataSpec spec = clicks(200, 50, 3);
  const Dataset whole = load_data(spec, 7, {}).train;
  spec.test_fraction = 0.25;
  const DataSplit split = load_data(spec, 7, {});
  REQUIRE(split.train.size() == 150);
  REQUIRE(split.test.size() == 50);
  CHECK(split.test.features() == 50);
  std::size_t train = 0, test = 0;  // both parts keep the order of the whole
  for (std::size_t i = 0; i < 200; ++i) {
    const auto is_next = [&](const Dataset& part, std::size_t at) {
      return at < part.labels.size() && part.labels[at] == whole.labels[i] &&
             std::ranges::equal(part.sparse_inputs.row(at).index, whole.sparse_inputs.row(i).index);
    };
    if (is_next(split.train, train)) ++train;
    else if (is_next(split.test, test)) ++test;
  }
  CHECK(train + test == 200);

  const Partition partition = GENERATE(Partition::contiguous, Partition::by_label, Partition::dirichlet);
  const Sampler sampler(split.train, {.partition = partition, .workers = 4, .batch = 5});
  std::int64_t dealt = 0;
  for (std::uint32_t w = 0; w < 4; ++w) dealt += std::ssize(sampler.shard(w));
  CHECK(dealt == 150);
}

TEST_CASE("LIBSVM files are read, plain and compressed, with comments and both ways to write labels",
          "[data]") {
  const TemporaryFolder folder;
  const auto [content, packed] = GENERATE(table<std::string, bool>({
      {"+1 1:0.5 7:-1\n-1 \n-1\t2:1e-3   3:0  # last\n", false},
      {"# header\n1 1:0.5 7:-1\r\n0\r\n0 2:1e-3 3:0\r\n\r\n", true},
      {"1.0 1:0.5 7:-1\n-1.0\n-1 2:1e-3 3:0", true},
      {"1 0:0.5 6:-1\n0\n0 1:1e-3 2:0\n", false},  // from 0, as scikit-learn writes them
      {"1 1:0.5 7:-1 # 0:1\n0\n0 2:1e-3 3:0\n", false},
  }));
  const gzFile file = gzopen((folder.path() / "data.libsvm").c_str(), packed ? "wb" : "wbT");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  REQUIRE(gzclose(file) == Z_OK);
  const Dataset data = libsvm(folder).train;
  CHECK(data.labels == std::vector<std::int32_t>{1, 0, 0});
  CHECK(data.classes == 2);
  CHECK(data.features() == 7);
  CHECK(data.notes.size() == (content.find(" 0:0.5") != std::string::npos ? 1 : 0));
  CHECK(data.sparse_inputs.begin == std::vector<std::size_t>{0, 2, 2, 4});
  CHECK(data.sparse_inputs.index == std::vector<std::uint32_t>{0, 6, 1, 2});
  CHECK(data.sparse_inputs.value == std::vector<float>{0.5F, -1.0F, 1e-3F, 0.0F});
}

TEST_CASE("both parts of a LIBSVM file have all its features", "[data]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "data.libsvm") << "1 1:1\n0 2:1\n1 9:1\n0 3:1\n";
  const DataSplit split = libsvm(folder, 0.5);
  CHECK(split.train.features() == 9);
  CHECK(split.test.features() == 9);
}

TEST_CASE("a broken LIBSVM file is refused by name and line", "[data]") {
  const auto [content, message] = GENERATE(table<std::string, std::string>({
      {"1 1:1\n2 1:1\n", "data.libsvm:2: the label must be +1 or -1, or 1 or 0, not `2`"},
      {"1:1 2:1\n", "data.libsvm:1: the label must be +1 or -1, or 1 or 0, not `1:1`"},
      {"++1 1:1\n", "not `++1`"},
      {"nan 1:1\n", "not `nan`"},
      {"1 1:1\n0 1:1\n-1 1:1\n", "data.libsvm:3: labels 0 and -1 in one file"},
      {"1 -1:1\n", "data.libsvm:1: not `index:value` with an index from 0 to 1073741824: `-1:1`"},
      {"1 -3:1\n", "`-3:1`"},
      {"1 5000000000:1\n", "`5000000000:1`"},
      {"1 2000000000:1\n", "`2000000000:1`"},
      {"1 qid:3 1:1\n", "`qid:3`"},
      {"1 3\n", "`3`"},
      {"1 1.5:3\n", "`1.5:3`"},
      {"1 2:1 2:3\n", "data.libsvm:1: index 2 comes after 2; indices must rise"},
      {"1 3:1 2:1\n", "data.libsvm:1: index 2 comes after 3; indices must rise"},
      {"1 1:x\n", "data.libsvm:1: not a number: `x`"},
      {"1 1:\n", "not a number: ``"},
      {"1 1:2:3\n", "not a number: `2:3`"},
      {"1 1: 2\n", "not a number: ``"},
      {"1 1:inf\n", "not finite: `inf`"},
      {"1 1:1e39\n", "number out of range: `1e39`"},
      {"1 1:1\n\n0 1:1\n", "data.libsvm:2: empty line"},
      {"# nothing\n", "data.libsvm: holds no samples"},
      {"", "data.libsvm: holds no samples"},
      {"1\n-1\n", "data.libsvm: holds no features"},
  }));
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "data.libsvm") << content;
  CHECK_THROWS_WITH(libsvm(folder), Contains(message));
}
