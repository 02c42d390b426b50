// The data set: inputs and, per sample, a class label or a vector of targets.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "model/data_spec.hpp"

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
  SampleMatrix inputs = {};               // samples x features; empty for sparse data
  std::vector<std::int32_t> labels = {};  // samples, each in [0, classes); empty for regression
  SampleMatrix targets = {};              // samples x outputs; empty for classification
  int classes = 0;                        // 0 for regression
  SparseMatrix sparse_inputs = {};        // instead of `inputs`; no columns for dense data
  std::vector<DataNote> notes = {};       // of the whole data set, with its training samples

  bool is_sparse() const { return sparse_inputs.cols > 0; }
  std::int64_t size() const { return is_sparse() ? sparse_inputs.rows() : inputs.rows(); }
  std::int64_t features() const { return is_sparse() ? sparse_inputs.cols : inputs.cols(); }
  // Width of the model's last layer: the classes, or the outputs of a regression.
  std::int64_t outputs() const { return classes > 0 ? classes : targets.cols(); }
};

// Workers learn from `train`. The other two may be empty.
struct DataSplit {
  Dataset train;
  Dataset test;
  Dataset validation = {};

  const Dataset& part(DataPart which) const;
  // The samples on which a run is judged while it runs: for its curve, for its target, and for decisions that
  // need a loss. Samples that decide something are no unbiased measure any more.
  DataPart judged_on() const;
  // The samples on which the last weights are judged, once: samples that decided nothing, if any exist.
  DataPart reported_on() const;
};

// Loads or generates the data of `spec`, and divides them; draws depend on `seed` only. Relative paths are
// searched in the folders of `search`, in order. Throws DataError.
DataSplit load_data(const DataSpec& spec, std::uint64_t seed,
                    const std::vector<std::filesystem::path>& search);

}  // namespace psim
