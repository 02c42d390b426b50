// The sources of samples: a table. data.source chooses the row.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"

namespace psim {

struct DataShape;
struct DataSpec;
struct DataSplit;

// The request to a source.
struct DataRequest {
  const DataSpec& spec;
  std::uint64_t seed = 0, split_seed = 0;            // of generated data; of the choice of test samples
  const std::vector<std::filesystem::path>& search;  // folders for relative paths, in order
};

struct DataSourceRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  bool is_sparse = false;        // its samples come as a SparseMatrix
  bool reads_files = false;      // at data.path
  std::string_view fields = {};  // of [data], besides its settings, separated by spaces
  // The sizes of its training set, if they are known before loading: the function changes `shape`, which
  // starts with the values of data.samples, data.features and data.classes. The samples that `load` returns
  // must have these sizes.
  void (*shape)(const DataSpec& spec, DataShape& shape) = nullptr;
  double (*numbers)(const DataSpec& spec) = nullptr;  // how many numbers it generates
  DataSplit (*load)(const DataRequest& request) = nullptr;

  // The name of a missing function.
  std::string_view lacks() const { return load == nullptr ? "load" : ""; }
};
template <>
std::deque<DataSourceRow> built_in_rows();
using DataSource = Chosen<DataSourceRow>;

}  // namespace psim
