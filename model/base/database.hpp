// Queries on an SQLite file of unknown origin. They read real tables only: a view, a virtual table or a
// function of the file cannot take the place of a table. The size of the file limits the time of a query,
// even if the pages of a forged file refer to each other in a circle.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cctype>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/base/input.hpp"

namespace psim {

inline constexpr const char* damaged = "it is damaged, or not from this program: run the scenario again";

// The file, which is opened for the first query. Copies share the connection; one thread at a time may use
// them.
class InputDatabase {
 public:
  InputDatabase(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  friend class InputRows;
  struct Closed {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  using Handle = std::unique_ptr<sqlite3, Closed>;
  struct Connection {
    Handle db = {};
    std::int64_t steps_of_a_query = 0, left = 0;  // of `steps` each
  };
  static constexpr int steps = 1'000'000;  // of SQLite's machine; a row takes about a hundred

  // The open file, with the steps of one more query. Throws InputError.
  sqlite3* for_a_query() const {
    if (!connection_->db) connection_->db = open();
    connection_->left += connection_->steps_of_a_query;
    return connection_->db.get();
  }

  Handle open() const {
    const std::uintmax_t bytes = InputFile(path_).size();
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(address().c_str(), &opened,
                                       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    Handle db(opened);
    if (result != SQLITE_OK) fail(opened);
    constexpr int largest_value = 64 << 20;  // bytes
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, largest_value);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    // A row has at least five bytes in its file, so an honest query makes far fewer steps than a hundred per
    // byte.
    connection_->steps_of_a_query = connection_->left = 100 + static_cast<std::int64_t>(bytes / 10'000);
    sqlite3_progress_handler(opened, steps, &InputDatabase::may_go_on, connection_.get());
    bool has_virtual_table = false;
    const auto on_row = [](void* has, int, char**, char**) {
      *static_cast<bool*>(has) = true;
      return 0;
    };
    if (sqlite3_exec(opened, "SELECT 1 FROM sqlite_master WHERE sql LIKE 'create virtual%'", on_row,
                     &has_virtual_table, nullptr) != SQLITE_OK)
      fail(opened);
    if (has_virtual_table)
      throw InputError(path_.string(), "it has a virtual table, which no run has", damaged);
    return db;
  }
  static int may_go_on(void* connection) { return --static_cast<Connection*>(connection)->left > 0 ? 0 : 1; }

  // SQLite neither reads nor writes any file next to this one.
  std::string address() const {
    std::string address = "file:";
    for (const char c : std::filesystem::absolute(path_).string()) {
      const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.';
      address += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return address + "?immutable=1";
  }

  [[noreturn]] void fail(sqlite3* db) const {
    const bool is_endless = sqlite3_errcode(db) == SQLITE_INTERRUPT;
    throw InputError(path_.string(), is_endless ? "a table has no end" : sqlite3_errmsg(db), damaged);
  }

  std::filesystem::path path_;
  std::shared_ptr<Connection> connection_ = std::make_shared<Connection>();
};

// The rows of a query, one after the other.
class InputRows {
 public:
  // Throws InputError.
  InputRows(InputDatabase database, const std::string& sql)
      : database_(std::move(database)), db_(database_.for_a_query()) {
    sqlite3_stmt* prepared = nullptr;
    const int result = sqlite3_prepare_v2(db_, sql.c_str(), -1, &prepared, nullptr);
    if (result != SQLITE_OK) database_.fail(db_);  // before another call replaces SQLite's message
    row_.reset(prepared);
  }
  InputRows(const InputRows&) = delete;
  InputRows& operator=(const InputRows&) = delete;

  // Moves to the next row; false after the last one. Throws InputError.
  bool next() {
    const int step = sqlite3_step(row_.get());
    if (step != SQLITE_ROW && step != SQLITE_DONE) database_.fail(db_);
    return step == SQLITE_ROW;
  }
  sqlite3_stmt* row() const { return row_.get(); }

 private:
  struct Finalized {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  InputDatabase database_;
  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, Finalized> row_;  // destroyed before the database is closed
};

// Calls `on_row` with each row of `sql`. Throws InputError.
template <class F>
void query(const InputDatabase& database, const std::string& sql, F&& on_row) {
  InputRows rows(database, sql);
  while (rows.next()) on_row(rows.row());
}

inline std::string_view text_in(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? std::string_view{} : reinterpret_cast<const char*>(value);
}

inline bool is_null(sqlite3_stmt* row, int column) { return sqlite3_column_type(row, column) == SQLITE_NULL; }

// The number of a node, a link or a shard.
inline std::uint32_t id_in(sqlite3_stmt* row, int column) {
  return static_cast<std::uint32_t>(sqlite3_column_int64(row, column));
}

// SQLite files that psim writes. Each file is new and appears under its name only when it is complete, so it
// needs no journal.

// A text that lives as long as the program.
struct LastingText {
  std::string_view text;
};

class OutputDatabase {
 public:
  // Creates the file. All functions throw SQLite's message about the last failure:
  // std::filesystem::filesystem_error, with the file, for a full or broken disk; otherwise
  // std::runtime_error.
  explicit OutputDatabase(const std::filesystem::path& path);
  void execute(const std::string& sql);
  // Call it after the last statement is destroyed.
  void close();

 private:
  friend class Statement;
  [[noreturn]] void fail() const;
  struct Closed {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Closed> db_;
};

// A prepared statement; values are bound by position, from 1 on.
class Statement {
 public:
  Statement(const OutputDatabase& db, const std::string& sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <class... Values>
  void operator()(const Values&... values) {
    int position = 0;
    (bind(++position, values), ...);
    execute();
  }
  void execute() {
    if (sqlite3_step(statement_) != SQLITE_DONE) db_.fail();
    sqlite3_reset(statement_);
  }
  void bind(int i, std::floating_point auto value) { sqlite3_bind_double(statement_, i, value); }
  void bind(int i, std::integral auto value) {
    sqlite3_bind_int64(statement_, i, static_cast<sqlite3_int64>(value));
  }
  void bind(int i, std::string_view text) {
    sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int i, const std::string& text) { bind(i, std::string_view(text)); }
  void bind(int i, const char* text) { bind(i, std::string_view(text)); }
  void bind(int i, LastingText lasting) {
    sqlite3_bind_text(statement_, i, lasting.text.data(), static_cast<int>(lasting.text.size()),
                      SQLITE_STATIC);
  }
  void bind(int i, const std::vector<std::uint32_t>& numbers) {
    sqlite3_bind_blob64(statement_, i, numbers.data(), numbers.size() * sizeof numbers[0], SQLITE_TRANSIENT);
  }
  void bind(int i, std::nullptr_t) { sqlite3_bind_null(statement_, i); }
  // A column without a value stays empty from one row to the next: most events have few of their columns.
  template <class T>
  void bind(int i, const std::optional<T>& value) {
    const auto column = static_cast<std::size_t>(i);
    if (column >= has_value_.size()) has_value_.resize(column + 1, true);
    if (value) bind(i, *value);
    else if (has_value_[column]) bind(i, nullptr);
    has_value_[column] = value.has_value();
  }
  // A value of another type: binds the result of its column_value().
  template <class T>
  requires requires(const T& value) { column_value(value); }
  void bind(int i, const T& value) { bind(i, column_value(value)); }

 private:
  const OutputDatabase& db_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<bool> has_value_;  // by column
};

}  // namespace psim
