#include "tests/support/run_file.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include "analysis/run_files.hpp"

namespace psim::test {
namespace fs = std::filesystem;
namespace {

class Database {
 public:
  explicit Database(const fs::path& run) {
    if (sqlite3_open_v2((run / "run.db").c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) fail();
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* get() { return db_; }
  [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(db_)); }

 private:
  sqlite3* db_ = nullptr;
};

std::string text(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? "" : reinterpret_cast<const char*>(value);
}

}  // namespace

std::vector<RecordedEvent> events_of(const fs::path& run) {
  Database db(run);
  sqlite3_stmt* row = nullptr;
  const char* sql =
      "SELECT at_s, kind, message, node, peer, clock, version, bytes, value, shard FROM event ORDER BY "
      "number";
  if (sqlite3_prepare_v2(db.get(), sql, -1, &row, nullptr) != SQLITE_OK) db.fail();
  std::vector<RecordedEvent> events;
  while (sqlite3_step(row) == SQLITE_ROW) {
    events.push_back({sqlite3_column_double(row, 0), text(row, 1), text(row, 2), sqlite3_column_int(row, 3),
                      sqlite3_column_int(row, 4), sqlite3_column_int64(row, 5), sqlite3_column_int64(row, 6),
                      sqlite3_column_int64(row, 7), sqlite3_column_int64(row, 8),
                      sqlite3_column_int(row, 9)});
  }
  sqlite3_finalize(row);
  return events;
}

TracedRun trace_toml(const std::string& toml, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  std::vector<std::string> words{"--out", run.string(), "--trace", "events"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Json summary = run_toml(toml, words);
  return {std::move(summary), events_of(run)};
}

void change_run(const fs::path& run, const std::string& sql) {
  {
    Database db(run);
    if (sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) db.fail();
  }
  analysis::seal(run);
}

}  // namespace psim::test
