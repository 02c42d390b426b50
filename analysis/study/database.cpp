// study.db.
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "analysis/study/csv.hpp"
#include "analysis/study/files.hpp"

namespace psim::analysis {
namespace {

constexpr const char* tables =
#include "analysis/study/schema.sql.inc"
    ;

struct Closed {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) : path_(path) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open(path.c_str(), &opened);
    db_.reset(opened);
    if (result != SQLITE_OK) fail();
    // The file appears under its name only when it is complete, so it needs no journal.
    execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;");
    execute(tables);
    execute("BEGIN");
  }

  // Each value is null, a text or a number.
  void insert(const std::string& table, const std::vector<Json>& values) {
    sqlite3_stmt* insert = statement_into(table, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bind(insert, static_cast<int>(i + 1), values[i]);
    if (sqlite3_step(insert) != SQLITE_DONE) fail();
    sqlite3_reset(insert);
  }

  void finish() {
    execute("COMMIT");
    inserts_.clear();
    sqlite3* db = db_.release();
    if (sqlite3_close(db) != SQLITE_OK) throw std::runtime_error(path_.string() + ": cannot be closed");
  }

 private:
  sqlite3_stmt* statement_into(const std::string& table, std::size_t columns) {
    std::unique_ptr<sqlite3_stmt, Closed>& insert = inserts_[table];
    if (insert != nullptr) return insert.get();
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (std::size_t i = 1; i < columns; ++i) sql += ",?";
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(db_.get(), (sql + ")").c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail();
    insert.reset(prepared);
    return prepared;
  }
  static void bind(sqlite3_stmt* statement, int i, const Json& value) {
    if (value.is_number_float()) sqlite3_bind_double(statement, i, value.get<double>());
    else if (value.is_number()) sqlite3_bind_int64(statement, i, value.get<std::int64_t>());
    else if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      sqlite3_bind_text(statement, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_null(statement, i);
    }
  }
  void execute(const char* sql) {
    if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() const {
    throw std::runtime_error(
        fmt::format("{}: {}", path_.string(), db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_.get())));
  }

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Closed> db_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Closed>> inserts_;  // by table
};

void write_run(Writer& writer, const Study& study, const Cell& cell, const StudyRun& run,
               std::int64_t number) {
  const RunTime time = run_time(run);
  writer.insert("runs", {number, run.run, cell.arm, run.seed, time.time_s, time.reached, time.budget_s});
  for (std::size_t i = 0; i < study.condition_axes.size(); ++i)
    writer.insert("conditions", {number, study.condition_axes[i], cell.condition[i]});
  for (const Measure& measure : measures()) {
    const Json value = value_of(measure, run.summary);
    if (!value.is_null()) writer.insert("measures", {number, measure.key, value});
  }
  for (const Json& point : run.summary["curve"]) {
    std::vector<Json> values{number};
    for (const char* key : curve_keys) values.push_back(point.value(key, Json()));
    writer.insert("curves", values);
  }
}

}  // namespace

void write_database(const std::filesystem::path& path, const Study& study) {
  const std::filesystem::path fresh = fmt::format("{}.{}", path.string(), getpid());
  std::filesystem::remove(fresh);
  try {
    Writer writer(fresh);
    writer.insert("study", {"name", study.name});
    writer.insert("study", {"title", study.title});
    writer.insert("study", {"arm_axis", study.arm_axis});
    writer.insert("study", {"baseline", study.baseline});
    std::int64_t number = 0;
    for (const Cell& cell : study.cells) {
      for (const StudyRun& run : cell.runs) write_run(writer, study, cell, run, number++);
    }
    writer.finish();
    std::filesystem::rename(fresh, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    throw;
  }
}

}  // namespace psim::analysis
