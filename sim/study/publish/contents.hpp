// The files in a study's folder, and which of them psim wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/runs/files.hpp"

namespace psim::study {

// The list of files that psim archive adds to a study, with the SHA-256 of every file.
inline constexpr std::string_view archive_sums = "SHA256SUMS";

struct StudyContents {
  std::vector<fs::path> files;    // written by psim, relative to the folder, in order; without files of runs
  std::vector<fs::path> made;     // written by the programs among them: figures
  std::vector<fs::path> runs;     // folders of recorded runs, relative to the folder
  std::vector<fs::path> foreign;  // not written by psim
};

// `name`: the name of the study's scenario in its manifest.
StudyContents study_contents(const fs::path& dir, const std::string& name);

// The size of all files in a folder, in bytes.
std::uintmax_t bytes_in(const fs::path& dir);

// Removes the files of psim and its programs, the manifest last: after an interrupt the rest is still a
// study. Then removes the empty folders.
void remove_study(const fs::path& dir, const StudyContents& contents);

}  // namespace psim::study
