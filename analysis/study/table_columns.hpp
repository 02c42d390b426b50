// The columns of a study's table, as rows of one data table: their names, and what their cells say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/columns.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

// What cells are made from; view_of fills it in.
struct TableView {
  const Study& study;
  const Evaluation& evaluation;
  bool brief = false;  // means without deviations
  double slowest_s = 0;
};

// When a table has a column that was not asked for by name.
enum class Place : std::uint8_t {
  first,           // always, if any row has it
  if_room,         // in all columns, and in those that fit
  narrow,          // always but among all columns: it stands for several of those
  wide,            // among all columns alone
  without_target,  // as if_room, where runs have no target; among all columns anyway
};
enum class IfZero : std::uint8_t { shown, named, silent };  // in every row

struct TableColumn {
  ColumnName name;
  Place place = Place::if_room;
  const char* key = nullptr;  // of the measure that it shows; or a function of its own
  double scale = 1;
  int decimals = 2;
  IfZero if_zero = IfZero::shown;
  std::string (*cell)(const TableView&, const Aggregate&) = nullptr;
  bool is_text = false;
};
std::span<const TableColumn> table_columns();
// The column that is called so, with blanks or hyphens. Throws std::invalid_argument where there is none,
// with those that there are.
const TableColumn& column_called(const std::string& name);
TableView view_of(const Study& study, const Evaluation& evaluation, bool brief);

// Columns that are not asked for by name: of those that a row has, all, or those that say most.
struct ColumnChoice {
  std::vector<const TableColumn*> columns;
  std::vector<std::string_view> zero;  // left out: 0 in every row
};
ColumnChoice choose_columns(const TableView& view, bool wide);

std::string cell_text(const TableColumn& column, const TableView& view, const Aggregate& row);

// Whether the cell has more to say than "-".
bool is_known(const TableColumn& column, const TableView& view, const Aggregate& row);

// Whether some arm's time differs from the baseline's, or who reached the target does; neither does where
// every run has the same duration.
bool compares_times(const Evaluation& evaluation);

// Whether the aggregate holds the runs of its condition's baseline.
bool is_baseline(const TableView& view, const Aggregate& row);

// What a comparison of times says: no difference, or one whose interval does not hold 1. Of a single seed,
// and of seeds that change nothing, which have no interval, what is shown is all there is.
bool sees_difference(const VersusBaseline& versus);
// Of the test that decides the comparison: of times, or of who reached the target. Absent where it is part of
// no family.
std::optional<double> corrected_p(const VersusBaseline& versus);
// A difference is seen, and its p value is above 0.05 after Holm's correction, though there are seeds enough
// for a small one.
bool fails_holm(const VersusBaseline& versus);

}  // namespace psim::analysis
