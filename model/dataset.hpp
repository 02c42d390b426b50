// What is learned from: inputs and, per sample, a class label or a vector of targets.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace psim {

// Samples are rows, as in the files that people bring.
using SampleMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Dataset {
  SampleMatrix inputs;               // samples x features
  std::vector<std::int32_t> labels;  // samples, each in [0, classes); empty for regression
  SampleMatrix targets;              // samples x outputs; empty for classification
  int classes = 0;                   // 0 for regression

  std::int64_t size() const { return inputs.rows(); }
  std::int64_t features() const { return inputs.cols(); }
  // Width of the model's last layer: the classes, or the outputs of a regression.
  std::int64_t outputs() const { return classes > 0 ? classes : targets.cols(); }
};

enum class DataSource { digits, idx, csv, blobs, spirals, teacher, inline_samples };
enum class Partition { iid, contiguous, by_label, dirichlet };

struct DataSpec {
  DataSource source = DataSource::digits;
  std::string path;             // csv: the file; idx: the folder of the four files
  double test_fraction = 0.2;   // share of the samples kept for evaluation; idx brings its own test files
  std::int64_t samples = 1000;  // blobs, spirals, teacher: how many to generate
  std::int64_t features = 2;    // blobs, teacher: inputs per sample
  std::int64_t classes = 3;     // blobs, spirals: classes; teacher: outputs
  double noise = 0.1;           // blobs, spirals: spread of a sample; teacher: noise of a target
  std::vector<std::vector<double>> inputs;   // inline
  std::vector<std::vector<double>> targets;  // inline
  Partition partition = Partition::iid;
  double dirichlet_alpha = 0.5;  // dirichlet: small means that a worker sees few classes
};

// A data set that cannot be had: names the file and what is wrong with it.
struct DataError : std::runtime_error {
  explicit DataError(const std::string& what, std::string advice = {})
      : std::runtime_error(what), help(std::move(advice)) {}
  std::string help;
};

struct DataSplit {
  Dataset train;
  Dataset test;  // may be empty: then the training set is evaluated
};

// Loads or generates the data of `spec`; draws depend on `seed` only. Relative paths are looked up in
// `search`, in order. Throws DataError.
DataSplit load_data(const DataSpec& spec, std::uint64_t seed,
                    const std::vector<std::filesystem::path>& search);

}  // namespace psim
