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

namespace {

// Calls `row` with each row of `sql`.
template <class F>
void query(Database& db, const std::string& sql, F&& row) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) db.fail();
  while (sqlite3_step(statement) == SQLITE_ROW) row(statement);
  sqlite3_finalize(statement);
}

RecordedEvent event_in(const std::string& table, sqlite3_stmt* row) {
  RecordedEvent event{.table = table};
  for (int i = 0; i < sqlite3_column_count(row); ++i) {
    const std::string name = sqlite3_column_name(row, i);
    if (sqlite3_column_type(row, i) == SQLITE_NULL) continue;
    const bool is_name =
        name == "kind" || name == "phase" || name == "outcome" || name == "awaited" || name == "reason";
    if (is_name) event.kind = text(row, i);
    if (name == "at_s") event.at = sqlite3_column_double(row, i);
    if (name == "since_s") event.since = sqlite3_column_double(row, i);
    if (name == "node") event.node = sqlite3_column_int(row, i);
    for (const char* other : {"receiver", "sender", "worker", "server", "suspect", "target"}) {
      if (name == other) event.peer = sqlite3_column_int(row, i);
    }
    event.columns[name] = sqlite3_column_int64(row, i);
  }
  return event;
}

}  // namespace

std::vector<RecordedEvent> events_of(const fs::path& run) {
  Database db(run);
  std::vector<std::string> tables;
  query(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%(number%at_s REAL, node %'",
        [&](sqlite3_stmt* row) { tables.push_back(text(row, 0)); });
  std::map<std::int64_t, RecordedEvent> events;
  for (const std::string& table : tables) {
    std::string sql = "SELECT * FROM " + table;
    if (table == "received" || table == "lost")
      sql = "SELECT sent.*, sent.node AS sender, " + std::string(table == "lost" ? "receiver, " : "") +
            table + ".* FROM " + table + " JOIN sent ON message = sent.number";
    query(db, sql, [&](sqlite3_stmt* row) {
      const RecordedEvent event = event_in(table, row);
      events[event["number"]] = event;
    });
  }
  std::vector<RecordedEvent> in_order;
  for (auto& [number, event] : events) in_order.push_back(std::move(event));
  return in_order;
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
