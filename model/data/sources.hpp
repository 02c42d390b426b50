// The sources behind load_data, one function each. The functions that return a Dataset leave the division
// into training and test samples to load.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/data/files.hpp"
#include "model/dataset.hpp"

namespace psim {

Dataset load_digits();
DataSplit load_idx(const std::filesystem::path& folder, const Folders& search);
Dataset load_csv(const DataSpec& spec, const Folders& search);
Dataset parse_csv(std::string_view text, const std::string& name);
Dataset load_libsvm(const std::filesystem::path& path, const Folders& search);

Dataset make_blobs(const DataSpec& spec, std::uint64_t seed);
Dataset make_spirals(const DataSpec& spec, std::uint64_t seed);
Dataset make_teacher(const DataSpec& spec, std::uint64_t seed);
Dataset make_clicks(const DataSpec& spec, std::uint64_t seed);
Dataset make_inline(const DataSpec& spec);

}  // namespace psim
