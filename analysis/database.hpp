// Queries on the database of a run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/run_record.hpp"
#include "model/base/database.hpp"

namespace psim::analysis {

inline constexpr const char* damaged = "it is damaged, or not from this program: run the scenario again";

inline std::string_view text(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? std::string_view{} : reinterpret_cast<const char*>(value);
}

inline bool is_null(sqlite3_stmt* row, int column) { return sqlite3_column_type(row, column) == SQLITE_NULL; }

// The number of a node, a link or a shard.
inline std::uint32_t id_in(sqlite3_stmt* row, int column) {
  return static_cast<std::uint32_t>(sqlite3_column_int64(row, column));
}

// The rows of a query, one after another. Throws Unverifiable.
class Query {
 public:
  Query(const InputDatabase& database, const std::string& sql) try
      : rows_(std::make_unique<InputRows>(database, sql)) {
  } catch (const InputError& error) {
    throw Unverifiable(error.what(), error.help);
  }
  // Moves to the next row; false after the last.
  bool next() try { return rows_->next(); } catch (const InputError& error) {
    throw Unverifiable(error.what(), error.help);
  }
  sqlite3_stmt* row() const { return rows_->row(); }

 private:
  std::unique_ptr<InputRows> rows_;
};

// Calls `row` with each row of `sql`.
template <class F>
void query(const InputDatabase& database, const std::string& sql, F&& row) {
  Query rows(database, sql);
  while (rows.next()) row(rows.row());
}

}  // namespace psim::analysis
