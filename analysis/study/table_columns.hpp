// The columns of the table of a study, as rows of one data table: names, and functions for cells.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/study/study.hpp"
#include "analysis/word_docs.hpp"

namespace psim::analysis {

// The input for cells; view_of fills it in.
struct TableView {
  const Study& study;
  const Evaluation& evaluation;
  bool brief = false;  // means without deviations
  double slowest_s = 0;
};

// When a table has a column that the user did not name.
enum class Place : std::uint8_t {
  first,           // always, if any row has it
  if_room,         // among all columns, and if it fits
  narrow,          // always, except among all columns: it stands for several of them
  wide,            // only among all columns
  without_target,  // like if_room, if runs have no target; always among all columns
  by_work,         // always if updates of the arms are not alike, or else like if_room
};
enum class IfZero : std::uint8_t { shown, named, silent };  // if every row has 0: ...

struct TableColumn {
  ColumnName name;
  Place place = Place::if_room;
  const char* key = nullptr;  // of the measure, whose mean is shown; null: `cell` knows the value
  double scale = 1;
  int decimals = 2;
  IfZero if_zero = IfZero::shown;
  std::string (*cell)(const TableView&, const Aggregate&, const Statistic* of_key) = nullptr;
  bool is_text = false;
};
std::span<const TableColumn> table_columns();
// The column with this name (with spaces or hyphens). Throws std::invalid_argument if there is none; the
// message lists all columns.
const TableColumn& column_called(const std::string& name);
TableView view_of(const Study& study, const Evaluation& evaluation, bool brief);

// The default columns: all columns with values, or the most useful ones.
struct ColumnChoice {
  std::vector<const TableColumn*> columns;
  std::vector<std::string_view> zero;  // omitted: 0 in every row
};
ColumnChoice choose_columns(const TableView& view, bool wide);

std::string cell_text(const TableColumn& column, const TableView& view, const Aggregate& row);

// Whether the cell has a value (not "-").
bool is_known(const TableColumn& column, const TableView& view, const Aggregate& row);

// Whether any arm differs from the baseline in time, or in reaching the target. If every run has the same
// duration, none does.
bool compares_times(const Evaluation& evaluation);

// Whether the aggregate holds the runs of the baseline of its condition.
bool is_baseline(const TableView& view, const Aggregate& row);

// Whether a comparison of times shows a difference: its interval excludes 1. A single seed, or seeds that
// change nothing, have no interval: then any ratio other than 1 counts.
bool sees_difference(const VersusBaseline& versus);
// The corrected p of the test that decides the comparison: of times, or of who reached the target. Absent if
// the test is in no family.
std::optional<double> corrected_p(const VersusBaseline& versus);
// Whether a difference is seen but its p value is above 0.05 after Holm's correction, although there are
// enough seeds for a small p value.
bool fails_holm(const VersusBaseline& versus);
// "was 2.9 times as fast (2.6 to 3.2), with all 5 seeds": a comparison with a ratio, after the arm's name.
std::string ratio_in_words(const VersusBaseline& versus);

}  // namespace psim::analysis
