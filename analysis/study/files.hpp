// A study as files for other programs.
#pragma once

#include <cstddef>
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

// study.db: the same tables in SQLite, as a new file. Throws std::runtime_error if writing fails.
void write_database(const std::filesystem::path& path, const Study& study);

// "psim.compare/2": every run, and the aggregates.
Json document(const Study& study, const Evaluation& evaluation);

// The runs and curves of a study as tables of values, for runs.csv, curves.csv and study.db.

// A field by RFC 4180, quoted if necessary. A text that a spreadsheet would take for a formula gets a leading
// apostrophe, unless it is a number.
std::string csv_field(std::string_view text);

// The shortest text that reads back as the same number; "inf"; empty for null.
std::string csv_number(const Json& value);

// The values of a run in its row: time_s, reached, budget_s. Null: unknown, or no target.
struct RunTime {
  Json time_s, reached, budget_s;
};
RunTime run_time(const StudyRun& run);

// The keys of an evaluation in a summary's curve.
constexpr const char* curve_keys[] = {"sim_time_s", "updates", "epoch", "bytes_sent", "loss", "accuracy"};

std::string runs_csv(const Study& study);
std::string curves_csv(const Study& study);

// For a study with [tune]: a row for each setting of each arm and condition, with a column for each field.
std::string trials_csv(const Study& study);

// A row for each of `points` times, and for each curve number i the columns t<i>, mean<i>, low<i>, high<i>:
// only numbers, for pgfplots.
std::string mean_curves_csv(const Study& study, std::size_t points);

}  // namespace psim::analysis
