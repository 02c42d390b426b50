// Queries on a run's database.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/run_record.hpp"

namespace psim::analysis {

inline constexpr const char* damaged = "it is damaged, or not from this program: run the scenario again";

struct Closed {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

inline std::string_view text(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? std::string_view{} : reinterpret_cast<const char*>(value);
}

// The rows of a query, one after the other.
class Query {
 public:
  Query(const std::filesystem::path& path, const std::string& sql) : path_(path) {
    sqlite3* opened = nullptr;
    int result = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    db_.reset(opened);
    sqlite3_stmt* prepared = nullptr;
    if (result == SQLITE_OK) result = sqlite3_prepare_v2(opened, sql.c_str(), -1, &prepared, nullptr);
    row_.reset(prepared);
    if (result != SQLITE_OK) fail();
  }
  // Goes to the next one; false after the last.
  bool next() {
    const int step = sqlite3_step(row_.get());
    if (step != SQLITE_ROW && step != SQLITE_DONE) fail();
    return step == SQLITE_ROW;
  }
  sqlite3_stmt* row() const { return row_.get(); }

 private:
  [[noreturn]] void fail() {
    throw Unverifiable(fmt::format("{}: {}", path_.string(), sqlite3_errmsg(db_.get())), damaged);
  }
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Closed> db_;
  std::unique_ptr<sqlite3_stmt, Closed> row_;
};

// Calls `row` with each row of `sql`.
template <class F>
void query(const std::filesystem::path& path, const std::string& sql, F&& row) {
  Query rows(path, sql);
  while (rows.next()) row(rows.row());
}

}  // namespace psim::analysis
