// Fills a table of run.db. The first row prepares its statements, because few runs fill all tables.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "model/output_database.hpp"

namespace psim {

class TableWriter {
 public:
  TableWriter(const OutputDatabase& db, std::string table, std::size_t columns)
      : db_(db), table_(std::move(table)), columns_(columns) {}

  template <class... Values>
  void add(const Values&... values) {
    prepared(one_, 1)(values...);
  }

  // Calls `bind(statement, column, row)` for each row. `bind` binds the row's values from `column` + 1 on and
  // increments `column`.
  template <class Rows, class Bind>
  void write(const Rows& rows, Bind bind) {
    std::size_t written = 0;
    const auto write_rows = [&](Statement& statement, std::size_t more) {
      int column = 0;
      for (; more > 0; --more) bind(statement, column, rows[written++]);
      statement.execute();
    };
    while (rows.size() - written >= rows_of_many) write_rows(prepared(many_, rows_of_many), rows_of_many);
    while (written < rows.size()) write_rows(prepared(one_, 1), 1);
  }

 private:
  static constexpr std::size_t rows_of_many = 16;  // in one statement: a third faster

  Statement& prepared(std::optional<Statement>& statement, std::size_t rows) const {
    if (!statement) {
      std::string row = "(?";
      for (std::size_t n = 1; n < columns_; ++n) row += ",?";
      std::string sql = fmt::format("INSERT INTO {} VALUES {})", table_, row);
      for (std::size_t n = 1; n < rows; ++n) sql += "," + row + ")";
      statement.emplace(db_, sql);
    }
    return *statement;
  }

  const OutputDatabase& db_;
  std::string table_;
  std::size_t columns_;
  std::optional<Statement> one_, many_;
};

}  // namespace psim
