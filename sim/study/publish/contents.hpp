// What is in a study's folder, and which of it psim wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/runs/files.hpp"

namespace psim::study {

// The list of what psim archive adds to a study, with the SHA-256 of every file.
inline constexpr std::string_view archive_sums = "SHA256SUMS";

struct StudyContents {
  std::vector<fs::path> files;    // that psim wrote, relative to the folder, in order; without those of runs
  std::vector<fs::path> made;     // that the programs among them made: figures
  std::vector<fs::path> runs;     // folders of recorded runs, likewise
  std::vector<fs::path> foreign;  // what psim did not write
};

// `name`: of the study's scenario, as its manifest says.
StudyContents study_contents(const fs::path& dir, const std::string& name);

// What all files in a folder take, in bytes.
std::uintmax_t bytes_in(const fs::path& dir);

// Removes what psim and its programs wrote, the manifest last, so that what an interrupt leaves is still a
// study; then the folders, as far as they are empty.
void remove_study(const fs::path& dir, const StudyContents& contents);

}  // namespace psim::study
