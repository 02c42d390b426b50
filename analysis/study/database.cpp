// study.db.
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>

#include "analysis/study/csv.hpp"
#include "analysis/study/files.hpp"
#include "model/base/database.hpp"

namespace psim::analysis {
namespace {

constexpr const char* study_schema =
#include "analysis/study/schema.sql.inc"
    ;

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) : db_(path) {
    db_.execute(study_schema);
    db_.execute("BEGIN");
  }

  // Values: null, text or number.
  void insert(const std::string& table, const std::vector<Json>& values) {
    Statement& insert = statement_into(table, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bind(insert, static_cast<int>(i + 1), values[i]);
    insert.execute();
  }

  void finish() {
    db_.execute("COMMIT");
    inserts_.clear();
    db_.close();
  }

 private:
  Statement& statement_into(const std::string& table, std::size_t columns) {
    if (const auto found = inserts_.find(table); found != inserts_.end()) return found->second;
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (std::size_t i = 1; i < columns; ++i) sql += ",?";
    return inserts_.try_emplace(table, db_, sql + ")").first->second;
  }
  static void bind(Statement& statement, int i, const Json& value) {
    if (value.is_number_float()) statement.bind(i, value.get<double>());
    else if (value.is_number()) statement.bind(i, value.get<std::int64_t>());
    else if (value.is_string()) statement.bind(i, value.get_ref<const std::string&>());
    else statement.bind(i, nullptr);
  }

  OutputDatabase db_;
  std::map<std::string, Statement> inserts_;  // by table
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
