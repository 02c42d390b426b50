// A study as files that other programs read.
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

// What a study's folder may have beside its scenario: those files, study.db, the manifest and the results.
std::span<const std::string_view> study_file_names();
// What the programs among them make there.
std::span<const std::string_view> made_file_names();

// study.db: the same tables in SQLite. Throws std::runtime_error when the disk refuses.
void write_database(const std::filesystem::path& path, const Study& study);

// "psim.compare/2": every run, and the aggregates.
Json document(const Study& study, const Evaluation& evaluation);

}  // namespace psim::analysis
