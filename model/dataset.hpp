// The data set: inputs and, per sample, a class label or a vector of targets.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace psim {

// Samples are rows, as in users' files.
using SampleMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Sparse samples, each with few features, in compressed rows (CSR).
struct SparseMatrix {
  std::int64_t cols = 0;
  std::vector<std::size_t> begin{0};  // begin of each row, and end of the last one
  std::vector<std::uint32_t> index;   // columns, rising within a row
  std::vector<float> value;

  struct Row {
    std::span<const std::uint32_t> index;
    std::span<const float> value;
  };
  std::int64_t rows() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  Row row(std::size_t i) const {
    const std::size_t count = begin[i + 1] - begin[i];
    return {std::span(index).subspan(begin[i], count), std::span(value).subspan(begin[i], count)};
  }
  void add_row(const Row& row) {
    index.insert(index.end(), row.index.begin(), row.index.end());
    value.insert(value.end(), row.value.begin(), row.value.end());
    begin.push_back(index.size());
  }
};

struct Dataset {
  SampleMatrix inputs;               // samples x features; empty for sparse data
  std::vector<std::int32_t> labels;  // samples, each in [0, classes); empty for regression
  SampleMatrix targets;              // samples x outputs; empty for classification
  int classes = 0;                   // 0 for regression
  SparseMatrix sparse_inputs = {};   // instead of `inputs`; no columns for dense data

  bool is_sparse() const { return sparse_inputs.cols > 0; }
  std::int64_t size() const { return is_sparse() ? sparse_inputs.rows() : inputs.rows(); }
  std::int64_t features() const { return is_sparse() ? sparse_inputs.cols : inputs.cols(); }
  // Width of the model's last layer: the classes, or the outputs of a regression.
  std::int64_t outputs() const { return classes > 0 ? classes : targets.cols(); }
};

enum class DataSource { digits, idx, csv, libsvm, blobs, spirals, teacher, clicks, inline_samples };

// Whether its samples come as a SparseMatrix.
constexpr bool is_sparse(DataSource source) {
  return source == DataSource::libsvm || source == DataSource::clicks;
}

enum class Partition { iid, contiguous, by_label, dirichlet };

struct DataSpec {
  DataSource source = DataSource::digits;
  std::string path;             // csv, libsvm: the file; idx: the folder with the four files
  double test_fraction = 0.2;   // share of the samples for evaluation; idx has its own test files
  std::int64_t samples = 1000;  // blobs, spirals, teacher, clicks: how many to generate
  std::int64_t features = 2;    // blobs, teacher: inputs per sample; clicks: of all samples together
  std::int64_t classes = 3;     // blobs, spirals: classes; teacher: outputs
  double noise = 0.1;           // blobs, spirals: spread of a sample; teacher, clicks: noise of a target
  double exponent = 1.1;        // clicks: of Zipf's law
  std::int64_t nonzeros = 20;   // clicks: features of a sample
  std::vector<std::vector<double>> inputs;   // inline
  std::vector<std::vector<double>> targets;  // inline
  Partition partition = Partition::iid;
  double dirichlet_alpha = 0.5;  // dirichlet: small means that a worker sees few classes
};

// A data set that cannot be read: names the file and the reason.
struct DataError : std::runtime_error {
  explicit DataError(const std::string& what, std::string advice = {})
      : std::runtime_error(what), help(std::move(advice)) {}
  std::string help;
};

struct DataSplit {
  Dataset train;
  Dataset test;  // may be empty; evaluations then use the training set
  const Dataset& evaluated() const { return test.size() > 0 ? test : train; }
};

// Loads or generates the data of `spec`; draws depend on `seed` only. Relative paths are looked up in
// `search`, in order. Throws DataError.
DataSplit load_data(const DataSpec& spec, std::uint64_t seed,
                    const std::vector<std::filesystem::path>& search);

}  // namespace psim
