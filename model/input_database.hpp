// Queries on an SQLite file that somebody else may have made. They read tables alone: no view, no virtual
// table and no function of the file's own stands behind a table's name. A query ends within a time that its
// file's size bounds, although the pages of a forged file may name each other.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "model/input.hpp"

namespace psim {

// The file, which is opened for the first query. Copies share what is open; one thread at a time may use
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
  struct Open {
    std::unique_ptr<sqlite3, Closed> db = {};
    std::int64_t steps_of_a_query = 0, left = 0;  // of `steps` each
  };
  std::filesystem::path path_;
  std::shared_ptr<Open> open_ = std::make_shared<Open>();
};

// The rows of a query, one after the other.
class InputRows {
 public:
  // Throws InputError.
  InputRows(const InputDatabase& database, const std::string& sql)
      : name_(database.path().string()), open_(database.open_) {
    if (!open_->db) try {
        open(database.path());
      } catch (...) {
        row_.reset();
        open_->db.reset();
        throw;
      }
    prepare(sql);
  }
  InputRows(const InputRows&) = delete;
  InputRows& operator=(const InputRows&) = delete;

  // Goes to the next one; false after the last. Throws InputError.
  bool next() {
    const int step = sqlite3_step(row_.get());
    if (step != SQLITE_ROW && step != SQLITE_DONE) fail();
    return step == SQLITE_ROW;
  }
  sqlite3_stmt* row() const { return row_.get(); }

 private:
  static constexpr const char* help = "it is damaged, or not from this program: run the scenario again";
  static constexpr int steps = 1'000'000;  // of SQLite's machine, of which a row takes about a hundred

  void open(const std::filesystem::path& path) {
    const std::uintmax_t bytes = InputFile(path).size();
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(address_of(path).c_str(), &opened,
                                       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    open_->db.reset(opened);
    if (result != SQLITE_OK) fail();
    constexpr int largest_value = 64 << 20;  // bytes
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, largest_value);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    open_->steps_of_a_query = 100 + static_cast<std::int64_t>(bytes / 10'000);
    sqlite3_progress_handler(opened, steps, &InputRows::may_go_on, open_.get());
    prepare("SELECT 1 FROM sqlite_master WHERE sql LIKE 'create virtual%'");
    if (next()) throw InputError(name_, "it has a virtual table, which no run has", help);
  }

  // Nothing is written beside the file, and nothing beside it is read.
  static std::string address_of(const std::filesystem::path& path) {
    std::string address = "file:";
    for (const char c : std::filesystem::absolute(path).string()) {
      const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.';
      address += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return address + "?immutable=1";
  }
  // A row has at least five bytes of its file, so an honest query makes far fewer steps than a hundred a
  // byte.
  static int may_go_on(void* open) { return --static_cast<InputDatabase::Open*>(open)->left > 0 ? 0 : 1; }

  void prepare(const std::string& sql) {
    open_->left += open_->steps_of_a_query;
    sqlite3_stmt* prepared = nullptr;
    const int result = sqlite3_prepare_v2(open_->db.get(), sql.c_str(), -1, &prepared, nullptr);
    if (result != SQLITE_OK) fail();  // before anything else changes what SQLite says
    row_.reset(prepared);
  }
  [[noreturn]] void fail() const {
    const bool is_endless = sqlite3_errcode(open_->db.get()) == SQLITE_INTERRUPT;
    throw InputError(name_, is_endless ? "a table has no end" : sqlite3_errmsg(open_->db.get()), help);
  }

  struct Finalized {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::string name_;
  std::shared_ptr<InputDatabase::Open> open_;
  std::unique_ptr<sqlite3_stmt, Finalized> row_;  // goes before the database is closed
};

}  // namespace psim
