// Finds and reads the files of a data set, plain or compressed. idx.cpp and csv.cpp interpret the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dataset.hpp"

namespace psim {

using Folders = std::vector<std::filesystem::path>;

// The places that `path` can stand for: an absolute path itself, otherwise its place in each folder of
// `search`.
std::vector<std::filesystem::path> candidates(const std::filesystem::path& path, const Folders& search);

// `path` if it is a file, otherwise `path`.gz if that is a file.
std::optional<std::filesystem::path> plain_or_gz(const std::filesystem::path& path);

// The first candidate that is a file, plain or with .gz; throws a DataError that lists them all.
std::filesystem::path find_file(const std::filesystem::path& path, const Folders& search);

// The largest count of numbers in a data set, from files or generated: 1 GB in single precision.
inline constexpr std::size_t most_data_values = 250'000'000;
// Throws DataError for more numbers than that. `where`: the file, and its line.
void check_values(const std::string& where, std::size_t values);

// The largest size of a decompressed data file: 4 GiB, or a quarter of the available memory.
std::size_t largest_file();

// The content piece by piece, decompressed if it is gzip (by its first bytes, not by its name). Throws
// DataError, also as soon as the content exceeds `most` bytes: a few kilobytes of gzip can decompress to
// gigabytes.
using TakePiece = std::function<void(std::string_view piece)>;
void each_piece(const std::filesystem::path& path, std::size_t most, const TakePiece& take);

// The lines of the same content.
void each_line(const std::filesystem::path& path, const std::function<void(std::string_view line)>& take);

// Decompresses gzip data in memory; `name` is for the DataError.
std::string gunzip(std::string_view compressed, const std::string& name);

// The sources behind load_data, one function each. The functions that return a Dataset leave the division
// into training and test samples to load.cpp.

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
