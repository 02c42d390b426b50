// A study for people: a table, a chart, and what its notes say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

enum class TableFormat { text, markdown, latex };

struct TableOptions {
  TableFormat format = TableFormat::text;
  std::vector<std::string> columns = {};  // by name; empty: those that fit and say most
  bool wide = false;                      // all columns, in tables one below the other
  std::size_t width = 100;                // of characters, of a text
};

// Throws std::invalid_argument for a column that there is not, with those that there are.
std::string table(const Study& study, const Evaluation& evaluation, const TableOptions& options);

// What the table's marks mean, its notes, and what does not fit into a cell.
std::string remarks(const Study& study, const Evaluation& evaluation);
// What the dates of evaluations may have decided: sentences.
std::vector<std::string> remarks_on_looks(const Evaluation& evaluation);

// What --until-ci asked for, and whether the intervals are as narrow as that; empty without it.
std::string width_line(const Study& study, const Evaluation& evaluation);

struct ChartSize {
  int width = 72, height = 16;
  bool colour = false;
};
// The mean loss of each arm over time, with bands over seeds, a chart for each condition. Empty when nothing
// can be drawn.
std::string loss_chart(const Study& study, const ChartSize& size);

}  // namespace psim::analysis
