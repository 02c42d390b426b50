// Goal: other programs read a study's files, and find in them what psim found. Method: studies made by hand;
// the programs themselves run in tests/analysis/study/snippets.
#include "analysis/study/files.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "model/base/database.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

Study two_arms() {
  RunFacts slow = missed(10);
  slow.curve = {{0, 4.0}, {10, 0.1}};
  RunFacts fast = reached(2.5, 10);
  fast.curve = {{0, 4.0}, {2.5, {}}};
  return study({"k"}, {cell("a, \"quoted\"", {"1"}, {fast, fast}), cell("b", {"1"}, {slow, fast})});
}

std::string file(const Study& s, const std::string& name) {
  for (const StudyFile& one : study_files(s, evaluate(s)))
    if (one.name == name) return one.text;
  return "no such file";
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a CSV field is quoted where it must be, and only there", "[study]") {
  CHECK(csv_field("a b") == "a b");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"a\"") == "\"say \"\"a\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(csv_field("") == "");
}

TEST_CASE("a number in a CSV file is the shortest that gives the same number again", "[study]") {
  CHECK(csv_number(0.1) == "0.1");
  CHECK(csv_number(1.0 / 3) == "0.3333333333333333");
  CHECK(csv_number(2.0) == "2");
  CHECK(csv_number(7) == "7");
  CHECK(csv_number(nullptr) == "");
  CHECK(csv_number(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(csv_number(std::numeric_limits<double>::quiet_NaN()) == "");
}

TEST_CASE("runs.csv has a row for each run, with what is not known left empty", "[study]") {
  CHECK(
      file(two_arms(), "runs.csv") ==
      "run,arm,k,seed,time_s,reached,budget_s,updates,s_per_update,samples_per_s,target_bracket_s,staleness,"
      "compute_percent,wait_percent,network_percent,absent_percent,bytes_sent,memory_bytes,final_loss,final_"
      "accuracy,answer_latency_s,"
      "served_staleness,"
      "served_accuracy,copied_bytes,suspicions,false_suspicions,recovery_s,energy_J,cost_usd\r\n"
      "\"a, \"\"quoted\"\"/1#1\",\"a, "
      "\"\"quoted\"\"\",1,1,2.5,1,10,100,0.025,,,0,50,25,25,0,2000000,,0.5,0.75,,,,,,,,,\r\n"
      "\"a, \"\"quoted\"\"/1#2\",\"a, "
      "\"\"quoted\"\"\",1,2,2.5,1,10,100,0.025,,,0,50,25,25,0,2000000,,0.5,0.75,,,,,,,,,\r\n"
      "b/1#1,b,1,1,,0,10,100,0.1,,,0,50,25,25,0,2000000,,0.5,0.75,,,,,,,,,\r\n"
      "b/1#2,b,1,2,2.5,1,10,100,0.025,,,0,50,25,25,0,2000000,,0.5,0.75,,,,,,,,,\r\n");
  const std::string without = file(study({}, {cell("a", {}, lasting({3}))}), "runs.csv");
  CHECK(without.find("\r\na#1,a,1,3,,,100,") != std::string::npos);
}

TEST_CASE("curves.csv has a row for each evaluation", "[study]") {
  const std::string text = file(two_arms(), "curves.csv");
  CHECK(text.starts_with("run,arm,k,seed,sim_time_s,updates,epoch,bytes_sent,loss,accuracy\r\n"));
  CHECK(text.find("\r\nb/1#1,b,1,1,0,1,0.5,10,4,\r\nb/1#1,b,1,1,10,1,0.5,10,0.1,\r\n") != std::string::npos);
  CHECK(text.find("\r\nb/1#2,b,1,2,2.5,1,0.5,10,,\r\n") != std::string::npos);  // the loss is no number
  CHECK(std::ranges::count(text, '\n') == 1 + 8);
}

TEST_CASE("the same results give the same files", "[study]") {
  const std::vector<StudyFile> first = study_files(two_arms(), evaluate(two_arms()));
  const Study again = two_arms();
  const std::vector<StudyFile> second = study_files(again, evaluate(again));
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].name == second[i].name);
    CHECK(first[i].text == second[i].text);
  }
}

TEST_CASE("a study's database has its runs, conditions, measures and curves", "[study]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "psim-study-db-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Study s = two_arms();
  write_database(folder / "study.db", s);
  write_database(folder / "again.db", s);
  CHECK(bytes_of(folder / "study.db") == bytes_of(folder / "again.db"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 2);
  const auto one = [&](const std::string& sql) {
    std::string result;
    psim::query(folder / "study.db", sql, [&](sqlite3_stmt* row) {
      for (int i = 0; i < sqlite3_column_count(row); ++i)
        result += (result.empty() ? "" : "|") +
                  (sqlite3_column_type(row, i) == SQLITE_NULL ? "null" : std::string(psim::text_in(row, i)));
    });
    return result;
  };
  CHECK(one("SELECT arm, seed, time_s, reached, budget_s FROM runs WHERE number = 2") == "b|1|null|0|10.0");
  CHECK(one("SELECT axis, value FROM conditions WHERE number = 3") == "k|1");
  CHECK(one("SELECT avg(value) FROM measures JOIN runs USING (number) WHERE name = 's_per_update' AND arm = "
            "'b'") == "0.0625");
  CHECK(one("SELECT count(*), sum(loss IS NULL) FROM curves") == "8|3");
  CHECK(one("SELECT value FROM study WHERE key = 'baseline'") == "a, \"quoted\"");
  CHECK_THROWS_AS(write_database(folder / "no" / "folder.db", s), std::runtime_error);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a study without losses has no mean curves", "[study]") {
  const Study s = study({}, {cell("a", {}, lasting({1}))});
  CHECK(file(s, "curves.tex") == "no such file");
  CHECK(file(s, "curves_mean.csv") == "no such file");
  CHECK(file(s, "analysis.R").find("baseline <- \"a\"\n") != std::string::npos);
  CHECK(file(two_arms(), "analysis.R").find("baseline <- \"a, \\\"quoted\\\"\"\n") != std::string::npos);
}
