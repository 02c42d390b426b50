// Where samples come from: a table. The row is chosen by data.source.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "model/settings.hpp"
#include "model/table.hpp"

namespace psim {

struct DataShape;
struct DataSpec;
struct DataSplit;

// What a source is asked for.
struct DataRequest {
  const DataSpec& spec;
  std::uint64_t seed = 0, split_seed = 0;            // of what is generated; of which samples are the test's
  const std::vector<std::filesystem::path>& search;  // folders for relative paths, in order
};

struct DataSourceRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  bool is_sparse = false;        // its samples come as a SparseMatrix
  bool reads_files = false;      // at data.path
  std::string_view fields = {};  // of [data], beside its settings: those that it has, separated by spaces
  // The sizes of its training set, if they are known before the data: it changes `shape`, which has those
  // that data.samples, data.features and data.classes give. The samples that `load` returns must have these
  // sizes.
  void (*shape)(const DataSpec& spec, DataShape& shape) = nullptr;
  double (*numbers)(const DataSpec& spec) = nullptr;  // that it generates
  DataSplit (*load)(const DataRequest& request) = nullptr;

  // A function that is missing.
  std::string_view lacks() const { return load == nullptr ? "load" : ""; }
};
template <>
std::deque<DataSourceRow> built_in_rows();
using DataSource = Chosen<DataSourceRow>;

}  // namespace psim
