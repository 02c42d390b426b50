#include "model/base/database.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace psim {

OutputDatabase::OutputDatabase(const std::filesystem::path& path) : path_(path) {
  sqlite3* opened = nullptr;
  // One thread uses it at a time.
  const int result = sqlite3_open_v2(
      path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(opened);  // even a database that could not be opened must be closed
  if (result != SQLITE_OK) fail();
  execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096; PRAGMA locking_mode = "
      "EXCLUSIVE;");
}

void OutputDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void OutputDatabase::close() {
  if (sqlite3_close(db_.get()) != SQLITE_OK) fail();
  db_.release();
}

void OutputDatabase::fail() const {
  const int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_.get()) & 0xff;
  if (code == SQLITE_FULL || code == SQLITE_IOERR) {
    const int error = sqlite3_system_errno(db_.get()), usual = code == SQLITE_FULL ? ENOSPC : EIO;
    throw std::filesystem::filesystem_error(
        "write", path_, std::error_code(error == 0 ? usual : error, std::generic_category()));
  }
  throw std::runtime_error(
      fmt::format("{}: {}", path_.string(), db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_.get())));
}

Statement::Statement(const OutputDatabase& db, const std::string& sql) : db_(db) {
  if (sqlite3_prepare_v2(db.db_.get(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) db.fail();
}

}  // namespace psim
