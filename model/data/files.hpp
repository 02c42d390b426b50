// Finding and reading the files of a data set, plain or compressed. What the bytes mean is idx.cpp's and
// csv.cpp's business.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace psim {

using Folders = std::vector<std::filesystem::path>;

// The places that `path` can stand for: itself if absolute, else its place in each folder of `search`.
std::vector<std::filesystem::path> candidates(const std::filesystem::path& path, const Folders& search);

// `path`, or else `path`.gz, whichever is a file.
std::optional<std::filesystem::path> plain_or_gz(const std::filesystem::path& path);

// The first candidate that is a file, plain or with .gz; throws a DataError that lists them all.
std::filesystem::path find_file(const std::filesystem::path& path, const Folders& search);

// Numbers of a data set, from files or generated: 1 GB in single precision.
inline constexpr std::size_t most_data_values = 250'000'000;
// Throws DataError where there are more. `where`: the file, and its line.
void check_values(const std::string& where, std::size_t values);

// What a data file may have, decompressed: 4 GiB, or a quarter of the memory that is available.
std::size_t largest_file();

// The content piece by piece, decompressed if it is gzip (by its first bytes, not by its name). Throws
// DataError, also as soon as there are more than `most` bytes: a few kilobytes of gzip can stand for
// gigabytes.
using TakePiece = std::function<void(std::string_view piece)>;
void each_piece(const std::filesystem::path& path, std::size_t most, const TakePiece& take);

// The same as one text, and line by line, without their ends.
std::string read_file(const std::filesystem::path& path, std::size_t most = largest_file());
void each_line(const std::filesystem::path& path, const std::function<void(std::string_view line)>& take);

// Decompresses gzip data in memory; `name` is for the DataError.
std::string gunzip(std::string_view compressed, const std::string& name);

}  // namespace psim
