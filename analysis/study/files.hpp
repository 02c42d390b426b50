// A study as files for other programs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

struct StudyFile {
  std::string name, text;
};

// study.json, runs.csv, curves.csv, and short programs that read them. The same results give the same
// bytes.
std::vector<StudyFile> study_files(const Study& study, const Evaluation& evaluation);

// The files that the folder of a study may have in addition to its scenario: the files above, study.db, the
// manifest and the results.
std::span<const std::string_view> study_file_names();
// The files that its programs create.
std::span<const std::string_view> made_file_names();

// study.db: the same tables in SQLite. Throws std::runtime_error if writing fails.
void write_database(const std::filesystem::path& path, const Study& study);

// "psim.compare/2": every run, and the aggregates.
Json document(const Study& study, const Evaluation& evaluation);

}  // namespace psim::analysis
