// Finding and reading the files of a data set, plain or compressed. What the bytes mean is idx.cpp's and
// csv.cpp's business.
#pragma once

#include <filesystem>
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

// What a data file may have, decompressed: 4 GiB, or a quarter of the memory that is available, because its
// numbers take as much again and strings grow by doubling.
std::size_t largest_file();

// The whole content, decompressed if it is gzip (by its first bytes, not by its name). Throws DataError, also
// as soon as there are more than `most` bytes: a few kilobytes of gzip can stand for gigabytes.
std::string read_file(const std::filesystem::path& path, std::size_t most = largest_file());

// Decompresses gzip data in memory; `name` is for the DataError.
std::string gunzip(std::string_view compressed, const std::string& name);

}  // namespace psim
