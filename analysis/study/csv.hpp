// The runs and curves of a study as tables of values, for runs.csv, curves.csv and study.db.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

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
