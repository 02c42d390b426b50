// SQLite files that psim writes. Each file is new and appears under its name only when it is complete, so it
// needs no journal.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace psim {

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
