// A study for people: a table, a chart, and remarks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

enum class TableFormat { text, markdown, latex };

struct TableOptions {
  TableFormat format = TableFormat::text;
  std::vector<std::string> columns = {};  // by name; empty: the most useful columns that fit
  bool wide = false;                      // all columns, in several tables
  std::size_t width = 100;                // in characters, for TableFormat::text
  bool bold_best = false;                 // the fastest arm of each condition, for a terminal
};

// Throws std::invalid_argument for an unknown column; the message lists all columns.
std::string table(const Study& study, const Evaluation& evaluation, const TableOptions& options);

// The meanings of marks, notes, and details that do not fit into a cell.
std::string remarks(const Study& study, const Evaluation& evaluation, const TableOptions& options = {});
// What [a, b] and ± mean in this table.
std::string meaning_of_marks(const Evaluation& evaluation, const TableOptions& options);
// Sentences about effects of the dates of evaluations.
std::vector<std::string> remarks_on_looks(const Evaluation& evaluation);

// The request of --until-ci, and whether the intervals are narrow enough; empty without --until-ci.
std::string width_line(const Study& study, const Evaluation& evaluation);

struct ChartSize {
  int width = 72, height = 16;
  bool colour = false;
};
// The mean loss of each arm over time, with bands over seeds; one chart per condition. Empty if there is
// nothing to draw.
std::string loss_chart(const Study& study, const ChartSize& size);

}  // namespace psim::analysis
